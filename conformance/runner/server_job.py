"""What a child process does when its target is a server: connect, introduce, then campaign or replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.wire25_server import speaks_2025
from mcptasks.conformance.engine.wire_campaign import WireCampaign, replay_on_server
from mcptasks.conformance.engine.wire_listening import learn_listening
from mcptasks.conformance.engine.wire_plan import WIRE_FEATURES
from mcptasks.conformance.engine.wire_server import Introduction, ServerSource, introduce, limits_of
from mcptasks.conformance.errors import InconclusiveError, TargetUnusableError
from mcptasks.conformance.runner.job import Job
from mcptasks.conformance.wire.allowance import Allowance
from mcptasks.conformance.wire.client import WireClient
from mcptasks.conformance.wire.problems import RequestsSpentError
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire.starting import StartedServer, start
from mcptasks.conformance.wire.stdio_channel import StdioChannel
from mcptasks.conformance.wire.stdio_scope import NOT_OVER_STDIO
from mcptasks.conformance.wire.stdio_transport import STDIO_URL
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Operation, sequence_from_json

if TYPE_CHECKING:
    from mcptasks.conformance.runner.server_job_2025 import ServerWork25

__all__ = ["ServerWork"]

_REASONS = {
    "clock": "a server's clock cannot be driven from outside",
    "ttl": "a server's ttl cannot be chosen from outside",
    "restart": "no way to restart the server was given (--restart-command)",
    "peer": "no second replica was given (--peer-url)",
    "second-caller": "no second caller was given (--other-header)",
    "stdio": "a server over HTTP (--command names one over stdio)",
    "dual-era": "the server speaks one revision",
}

_UP_S = 30.0
"""Seconds in which a server over stdio may come up."""


def _version() -> str:
    try:
        return version("mcp-tasks-conformance")
    except PackageNotFoundError:
        return "unknown"


class ServerWork:
    """One job on one server; everything in one event loop.

    Args:
        job: whose ``spec`` is a server.
        emit: takes messages.
        beat: shared counters.
    """

    def __init__(self, job: Job, emit: Callable[[dict[str, JSON]], None], beat: Beat) -> None:
        assert isinstance(job.spec, ServerSpec)
        self._job = job
        self._spec = job.spec
        self._emit = emit
        self._beat = beat
        self._allowance = Allowance(job.spec.max_requests, beat.words, beat.tick)
        self._started: StartedServer | None = None
        self._client: WireClient | None = None
        self._stdio: StdioChannel | None = None
        self._earlier: ServerWork25 | None = None

    async def open(self) -> WireCampaign | None:
        """Find out about the server; the campaign to run, or ``None`` if the job is done.

        Raises:
            ConformanceError: it cannot be used, or there is nothing to check.
        """
        try:
            return await self._open()
        except RequestsSpentError as error:
            told = f"--max-requests {self._spec.max_requests} is too small to find out what the server offers"
            raise InconclusiveError(told) from error

    async def _open(self) -> WireCampaign | None:
        self._started = await start(self._spec)
        url = self._started.url if self._started is not None else self._spec.url
        if self._spec.command is not None:
            self._stdio = StdioChannel(self._spec.command)
            await self._stdio.start()
            url = STDIO_URL
        if self._spec.revision == "2025-11-25":
            return await self._open_2025(url)
        timeout = self._job.settings.timeout
        client = self._client = WireClient(
            self._spec,
            url,
            limits=limits_of(timeout),
            allowance=self._allowance,
            version=_version(),
            stdio=self._stdio,
        )
        try:
            introduction = await self._introduce(client, timeout)
        except TargetUnusableError:
            if self._spec.revision != "auto" or self._stdio is not None or not await self._speaks_2025(url):
                raise
            return await self._open_2025(url)
        source = ServerSource(client, introduction.profile, self._spec, url, self._note)
        source.opened.dual = self._stdio is None and await self._speaks_2025(url)
        if self._job.mode == "replay":
            await self._replay(source, sequence_from_json(self._job.operations))
            return None
        self._probe(introduction, source, await learn_listening(source))
        if self._job.mode == "probe":
            return None
        return WireCampaign(source, self._job.settings, self._emit, self._beat, introduction)

    async def _speaks_2025(self, url: str) -> bool:
        return await speaks_2025(self._spec, url, self._allowance)

    async def _open_2025(self, url: str) -> WireCampaign | None:
        # Imported here: a run against a server of 2026-07-28 needs nothing of it.
        from mcptasks.conformance.runner.server_job_2025 import ServerWork25

        revive = self._start_again if self._spec.start is not None else None
        self._earlier = ServerWork25(self._job, url, self._emit, self._beat, _version(), self._allowance, revive)
        return await self._earlier.open()

    async def _start_again(self) -> str:
        """Start the server once more; its endpoint, or nothing if it does not come up."""
        if self._started is not None:
            await self._started.stop()
        self._started = None
        try:
            self._started = await start(self._spec)
        except TargetUnusableError:
            return ""
        return "" if self._started is None else self._started.url

    async def _introduce(self, client: WireClient, timeout: float) -> Introduction:
        # A server over stdio is asked while it still comes up.
        if self._stdio is not None:
            client.limits = limits_of(max(timeout, _UP_S))
        try:
            return await introduce(client, self._spec)
        finally:
            client.limits = limits_of(timeout)

    async def close(self) -> None:
        """Close the connections and end what was started."""
        if self._earlier is not None:
            await self._earlier.close()
        if self._client is not None:
            await self._client.close()
        if self._stdio is not None:
            await self._stdio.close()
        if self._started is not None:
            await self._started.stop()

    def _note(self, text: str) -> None:
        self._emit({"kind": "note", "level": "info", "message": text})

    def _probe(self, introduction: Introduction, source: ServerSource, no_listening: str | None) -> None:
        profile = introduction.profile
        offered = ["wire", "input", "in-process"] + (["fixture"] if introduction.fixtures else [])
        offered += ["listen"] if no_listening is None else []
        reasons = dict(_REASONS) if no_listening is None else {**_REASONS, "listen": no_listening}
        offered += ["second-caller"] if self._spec.has_other else []
        offered += ["dual-era"] if source.opened.dual else []
        offered += ["stdio"] if self._spec.command is not None else []
        offered += ["peer"] if self._spec.peer_url else []
        offered += ["restart"] if self._spec.restart_command is not None else []
        options: dict[str, JSON] = {"profile": profile.name}
        self._emit(
            {
                "kind": "probe",
                "features": asdict(WIRE_FEATURES),
                "reasons": reasons,
                "not_applicable": dict(NOT_OVER_STDIO) if self._spec.command is not None else {},
                "offered": offered,
                "options": options,
            }
        )
        self._note(f"{introduction.server}, profile {profile.name}, {len(introduction.tools)} tools")
        for text in introduction.notes:
            self._note(text)

    async def _replay(self, source: ServerSource, operations: Sequence[Operation]) -> None:
        known = set(self._job.settings.known)
        breach = await replay_on_server(source, operations, known=known, beat=self._beat)
        found: Any = None if breach is None else {**asdict(breach), "fingerprint": breach.fingerprint}
        self._emit({"kind": "replayed", "breach": found})
