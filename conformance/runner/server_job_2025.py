"""What a child process does with a server of 2025-11-25: a session, an introduction, then a campaign or a replay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from mcptasks.conformance.catalogue.unjudged import NOT_OF_2025
from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.wire25_campaign import Wire25Campaign, replay_on_server_25
from mcptasks.conformance.engine.wire25_server import Introduction25, ServerSource25, introduce25
from mcptasks.conformance.engine.wire_plan import WIRE_FEATURES
from mcptasks.conformance.runner.job import Job
from mcptasks.conformance.wire.allowance import Allowance
from mcptasks.conformance.wire.client import Limits
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.conformance.wire_2025.names import VERSION
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Operation, sequence_from_json

__all__ = ["ServerWork25"]

_REASONS: Final = {
    "clock": "a server's clock cannot be driven from outside",
    "restart": "this version restarts no server of 2025-11-25",
    "second-caller": "no second caller was given (--other-header)",
    "input": "no tool of the mapping file asks anything",
    "fixture": "needs the control tools task_open and task_step",
}
_NO_LIST: Final = "the server does not declare tasks.list"
_NO_CANCEL: Final = "the server does not declare tasks.cancel"
_NO_SESSIONS: Final = "the server gives no session ids"


class ServerWork25:
    """One job on one server; everything in one event loop.

    Args:
        job: whose ``spec`` is a server.
        url: its endpoint.
        emit: takes messages.
        beat: shared counters.
        version: of the suite.
        allowance: what may be sent.
        revive: starts the server again and gives its endpoint; ``None`` where the suite has not started it.
    """

    def __init__(
        self,
        job: Job,
        url: str,
        emit: Callable[[dict[str, JSON]], None],
        beat: Beat,
        version: str,
        allowance: Allowance,
        revive: Callable[[], Awaitable[str]] | None,
    ) -> None:
        assert isinstance(job.spec, ServerSpec)
        self._job = job
        self._spec = job.spec
        self._url = url
        self._emit = emit
        self._beat = beat
        self._revive = revive
        limits = Limits(answer_s=job.settings.timeout)
        self._client = Client25(job.spec, url, limits=limits, allowance=allowance, version=version)
        self._source: ServerSource25 | None = None

    async def open(self) -> Wire25Campaign | None:
        """Find out about the server; the campaign to run, or ``None`` if the job is done.

        Raises:
            ConformanceError: it cannot be used, or there is nothing to check.
        """
        introduction, session = await introduce25(self._client, self._spec)
        source = self._source = ServerSource25(self._client, introduction, self._spec, self._url, self._note)
        source.opened.adopt(session)
        if self._revive is not None:
            source.opened.revive = self._start_again
        if self._job.mode == "replay":
            await self._replay(source, sequence_from_json(self._job.operations))
            return None
        self._probe(introduction)
        if self._job.mode == "probe":
            return None
        return Wire25Campaign(source, self._job.settings, self._emit, self._beat, introduction)

    async def close(self) -> None:
        """End the session and close the connections."""
        if self._source is not None:
            await self._source.opened.leave()
        await self._client.close()

    async def _start_again(self) -> bool:
        assert self._revive is not None
        assert self._source is not None
        url = await self._revive()
        if not url:
            return False
        self._client.move(url)
        self._source.url = url
        return True

    def _note(self, text: str) -> None:
        self._emit({"kind": "note", "level": "info", "message": text})

    def _probe(self, introduction: Introduction25) -> None:
        profile = introduction.profile
        offered = ["wire", "wait", "ttl", "listen", "concurrency", "in-process"]
        roles = getattr(profile, "roles", {"asks": None})
        offered += ["fixture"] if introduction.fixtures else []
        offered += ["input"] if {"asks", "asks_more"} & set(roles) else []
        offered += ["second-caller"] if self._spec.has_other else []
        self._emit(
            {
                "kind": "probe",
                "revision": VERSION,
                "features": asdict(replace(WIRE_FEATURES, revision=VERSION)),
                "reasons": dict(_REASONS),
                "not_applicable": dict(_not_applicable(introduction)),
                "offered": list(offered),
                "options": {"profile": profile.name},
            }
        )
        self._note(f"{introduction.server}, profile {profile.name}, {len(introduction.tools)} tools")
        for text in introduction.notes:
            self._note(text)

    async def _replay(self, source: ServerSource25, operations: Sequence[Operation]) -> None:
        known = set(self._job.settings.known)
        breach = await replay_on_server_25(source, operations, known=known, beat=self._beat)
        found: Any = None if breach is None else {**asdict(breach), "fingerprint": breach.fingerprint}
        self._emit({"kind": "replayed", "breach": found})


def _not_applicable(introduction: Introduction25) -> Mapping[str, str]:
    """Globs of requirements that a server of this kind need not meet, with the reason."""
    out: dict[str, str] = dict(NOT_OF_2025)
    if not introduction.lists:
        out |= {"tasks25.list.*": _NO_LIST, "tasks25.sec.list-scope": _NO_LIST}
    if not introduction.cancels:
        out |= {"tasks25.cancel.*": _NO_CANCEL, "tasks25.life.cancelled-sticky": _NO_CANCEL}
    if not introduction.has_sessions:
        out |= {"http25.session-*": _NO_SESSIONS}
    return out
