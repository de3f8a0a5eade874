"""One run of one probe: its tasks, and its checks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcptasks.conformance.engine.wire_profiles import Control, Step, step_of
from mcptasks.conformance.engine.wire_server import ServerSource
from mcptasks.conformance.probes.exchange import CLIENT, ProbeExchange, ProbeSkipped
from mcptasks.conformance.probes.findings import ProbeOver
from mcptasks.conformance.wire import names
from mcptasks.conformance.wire.envelopes import code_smells, notification_smells
from mcptasks.conformance.wire.plain_http import TRIAL_S
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.stdio_scope import is_judged, is_told
from mcptasks.strategies.json_values import JSON, text_of
from mcptasks.strategies.operations import Create, Operation

__all__ = ["CLIENT", "ProbeOver", "ProbeSession", "ProbeSkipped", "ProbeTask"]

_ENDING: Final[dict[str, JSON]] = {"content": [{"type": "text", "text": "ended by the conformance suite"}]}
_RESERVED: Final = "tasks.method.reserved-prefixes"
_NEAR_EXPIRY: Final = 0.8
"""Share of its ttl after which a task may be gone by the server's clock."""
_OF_TTL: Final = "tasks.ttl."
_IN_VAIN: Final = 3
"""Waits in vain after which a probe no longer waits long for the same."""
_SETTLED_S: Final = 1.2 * TRIAL_S


class ProbeTask:
    """A task that a probe has opened."""

    def __init__(self, name: str, created: dict[str, Any], born: float) -> None:
        self.name = name
        self.born = born
        """When it was asked for, or a little later: a reading of the monotonic clock."""
        self.id: str = created["taskId"]
        self.created = created
        """The ``CreateTaskResult``."""
        self.ended = False
        """Whether the probe itself has ended it."""

    @property
    def may_be_gone(self) -> bool:
        """Whether its ttl has passed, or nearly: then the server owes nothing more (ambiguity AMB-03)."""
        ttl = self.created.get("ttlMs")
        return type(ttl) is int and (time.monotonic() - self.born) * 1000 >= _NEAR_EXPIRY * ttl


class ProbeSession(ProbeExchange):
    """One run of one probe on one server; see :class:`.exchange.ProbeExchange` for the arguments."""

    def __init__(
        self,
        source: ServerSource,
        probe: str,
        *,
        exercised: Counter[str],
        choices: Counter[tuple[str, str]] | None = None,
        known: set[str] | None = None,
    ) -> None:
        super().__init__(source, probe, exercised=exercised, choices=choices, known=known)
        self.tasks: list[ProbeTask] = []
        self._over = False
        """Whether the probe itself has come to its end."""
        self._seen_ids = source.opened.seen_ids

    # --- tasks -----------------------------------------------------------------------------

    async def settle(self, task: ProbeTask) -> None:
        """Have later requests of :meth:`ask` that follow each other go by one connection, if the server keeps it open.

        Before a connection has stayed open for a while none is used again: without this it would depend on how fast
        the requests follow each other.
        """
        if self.over_stdio:
            return
        for pause in (_SETTLED_S, _SETTLED_S / 2, 0.0):
            await self.ask("tasks/get", {"taskId": task.id})
            await self.client.pacer.sleep(pause)

    async def open_task(self, *wanted: Operation) -> ProbeTask:
        """Open a task; it is ended when the probe is over.

        Args:
            wanted: what is to happen to it, for servers whose tasks move by themselves: by default it is long at work.

        Raises:
            ProbeSkipped: the server makes none.
        """
        name = f"t{len(self.tasks) + 1}"
        params = self.profile.opening(name, [Create(name), *wanted])
        reply = await self.request("tools/call", params, creates=name)
        result = reply.result
        if result is None or not isinstance(result.get("taskId"), str) or not result["taskId"]:
            told = f"error {reply.code}" if reply.error else "a result without a task"
            raise ProbeSkipped(f"the tool {params['name']} makes no task: it gives {told}")
        return self.adopt(result)

    def adopt(self, created: dict[str, Any]) -> ProbeTask:
        """Take charge of a task that a request of the probe's own has made; ``created`` names its ``taskId``."""
        task = ProbeTask(f"t{len(self.tasks) + 1}", created, self._asked_at)
        self._seen_ids.add(task.id)
        self._commands.created(task.name, task.id)
        self.tasks.append(task)
        self._held_back = len(self.tasks)
        return task

    async def step(self, task: ProbeTask, step: Mapping[str, JSON]) -> Step:
        """Step a task with ``task_step`` (contract, section 4).

        Raises:
            ProbeSkipped: the server's tasks cannot be stepped.
        """
        if not isinstance(self.profile, Control):
            raise ProbeSkipped("the server's tasks cannot be stepped")
        return step_of(await self.request("tools/call", self.profile.stepping(task.id, dict(step))))

    async def get(self, task: ProbeTask) -> dict[str, Any]:
        """The task as ``tasks/get`` shows it to a client that declares everything.

        Raises:
            ProbeSkipped: it shows none.
        """
        reply = await self.request("tasks/get", {"taskId": task.id})
        if reply.result is None:
            raise ProbeSkipped(f"tasks/get of a task of its own is refused with error {reply.code}")
        return reply.result

    async def end(self, task: ProbeTask) -> dict[str, Any]:
        """Bring a task into a terminal state; what ``tasks/get`` then shows.

        Raises:
            ProbeSkipped: it does not end.
        """
        if isinstance(self.profile, Control):
            await self.step(task, {"action": "complete", "result": dict(_ENDING)})
        else:
            await self.request("tasks/cancel", {"taskId": task.id})
        for pause in self.pauses("end", (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)):
            await self.client.pacer.sleep(pause)
            shown = await self.get(task)
            if shown.get("status") in names.TERMINAL_STATUSES:
                task.ended = True
                return shown
        self.source.opened.missed["end"] += 1
        raise ProbeSkipped("a task did not end in time")

    def pauses(self, awaited: str, usual: Sequence[float]) -> Sequence[float]:
        """How long to wait before each look for something; not for long where it has failed to come often enough."""
        return usual if self.source.opened.missed[awaited] < _IN_VAIN else usual[:2]

    async def close(self) -> None:
        """End what the probe has opened, and close its connections."""
        while self.tasks:
            task = self.tasks.pop()
            if not task.ended:
                await self._end_silently(task)
        self.client.reserve = 0
        await self._sender.close()
        if self._peer is not None:
            await self._peer.close()

    async def _end_silently(self, task: ProbeTask) -> None:
        params: dict[str, JSON] = {"taskId": task.id}
        method = "tasks/cancel"
        if isinstance(self.profile, Control):
            method = "tools/call"
            params = self.profile.stepping(task.id, {"action": "complete", "result": dict(_ENDING)})
        if self.client.hangs(method, params):
            method, params = "tasks/cancel", {"taskId": task.id}
        if self.client.hangs(method, params):
            return
        try:
            await self.client.request(method, params, beyond=True)
        except WireProblem:
            return

    # --- verdicts --------------------------------------------------------------------------

    def check(
        self,
        requirement: str,
        ok: bool,
        *,
        expected: str,
        actual: str,
        message: str,
        choice: str | None = None,
        aspect: str = "answer",
        soft: bool = False,
        warning: bool = False,
        behind_ttl: bool = False,
    ) -> bool:
        """Judge one observation, unless the server is one over stdio and the requirement is of HTTP.

        Args as of :meth:`ProbeFindings.check`, and:
            behind_ttl: it is about a task whose ttl has passed.

        Returns:
            ``ok``.

        Raises:
            ProbeOver: it is breached.
            ProbeSkipped: it looks breached, and a task of the probe has outlived its ttl.
        """
        if self.over_stdio and not is_judged(requirement):
            return ok
        if (
            not ok
            and not self._over
            and not behind_ttl
            and not requirement.startswith(_OF_TTL)
            and any(task.may_be_gone for task in self.tasks)
        ):
            raise ProbeSkipped("the ttl of a task passed before the probe was through")
        return super().check(
            requirement,
            ok,
            expected=expected,
            actual=actual,
            message=message,
            choice=choice,
            aspect=aspect,
            soft=soft,
            warning=warning,
        )

    def judge_the_rest(self) -> None:
        """Judge what was seen by the way, whatever it was about: last, so that a probe's own finding comes first."""
        self._over = True
        self._judge_codes()
        self._judge_framing()
        for methods in self._streamed:
            self.exercised[_RESERVED] += 1
            if any(name.startswith(f"{_RESERVED}/") for name in self.known):
                continue  # every stream of a server may tell the same
            for smell in notification_smells(methods):
                self.check(
                    smell.requirement,
                    False,
                    expected=smell.expected,
                    actual=f"a stream {smell.actual}",
                    message=f"a stream {smell.actual}",
                    aspect=smell.aspect,
                    soft=True,
                )

    def _judge_framing(self) -> None:
        """What came on the standard output of a server over stdio."""
        if self.client.stdio is None:
            return
        for smell in (*self._framing, *self.client.stdio.smells()):
            if not is_judged(smell.requirement) or is_told(smell, self.known):
                continue
            self.check(
                smell.requirement,
                False,
                expected=smell.expected,
                actual=f"an answer {smell.actual}",
                message=f"an answer {smell.actual}",
                aspect=smell.aspect,
                soft=True,
            )

    def _judge_codes(self) -> None:
        """The codes of all errors (MCP, "Error Codes")."""
        for error in self._errors:
            for requirement in ("core.meta.reserved-codes", "core.meta.retired-codes", "core.meta.legacy-range"):
                self.exercised[requirement] += 1
            for smell in code_smells(error):
                actual = f"the answer {smell.actual}"
                self.check(
                    smell.requirement,
                    False,
                    expected=smell.expected,
                    actual=actual,
                    message=f"{actual}: {text_of(error.get('message'), 80)}",
                    aspect=f"code{error['code']}",
                    soft=True,
                )
