"""Waiting for results: waiters run beside the sequence and are judged when their task has ended."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.beat import tick
from mcptasks.conformance.engine.bridged import is_body
from mcptasks.conformance.engine.tasks_2025 import TrackedTask25
from mcptasks.conformance.model.states import ABSENT, GONE, LIVE, TERMINAL
from mcptasks.conformance.model.store_2025 import ANY_PAYLOAD
from mcptasks.conformance.targets.records import Garbage, describe_error, status_text
from mcptasks.conformance.targets.records_2025 import as_pair
from mcptasks.strategies.json_values import text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.interpreter_2025 import Interpreter25

__all__ = ["Waiters"]

_TURNS: Final = 3
_LOOKS: Final = 5
_BRIEF: Final = 0.02
"""Seconds that a waiter is given which need not come back at all."""
_UNWILLING: Final = 0.5
"""Seconds for waiters to take note that they are cancelled."""


class _Waiter:
    def __init__(self, task: TrackedTask25, future: asyncio.Task[Any], began: str, foreign: bool) -> None:
        self.task = task
        self.future = future
        self.began = began
        """The task's status when the waiting began."""
        self.foreign = foreign
        self.judged = False


class Waiters:
    """The waiters of one sequence."""

    def __init__(self, interpreter: Interpreter25) -> None:
        self._run = interpreter
        self._waiters: list[_Waiter] = []

    async def begin(self, task: TrackedTask25, session: str | None) -> None:
        """Begin to wait; a method that is no coroutine function would block the only caller, and is not called."""
        run = self._run
        method = run.store.wait_for_task_result
        if method is None or not inspect.iscoroutinefunction(method):
            return
        run.beat[0] += 1
        foreign = run.is_foreign(task, session)
        future = asyncio.ensure_future(method(task.id, session))
        waiter = _Waiter(task, future, task.node.status, foreign)
        waiter.judged = foreign and session is None  # whether a caller without a session is restricted is open
        self._waiters.append(waiter)
        run.automaton.coverage[("wait_result", task.node.status)] += 1
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._early(waiter)

    def _early(self, waiter: _Waiter) -> None:
        """A waiter on a live task that is back at once."""
        if waiter.future.done() and not waiter.foreign and waiter.began in LIVE and not waiter.task.node.may_be_gone:
            waiter.judged = True
            if waiter.task.unjudged:
                return
            actual = self._outcome(waiter)
            self._bad("store25.wait.completes", waiter, "early", actual, "it waits until the task has ended")

    async def settle(self) -> None:
        """Judge every waiter, those that are due after waiting for them.

        Raises:
            Stop: one has not come back, or with something else than the result.
        """
        if not self._waiters:
            return
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        for waiter in self._waiters:
            if not waiter.judged and not waiter.task.unjudged:
                waiter.judged = True
                await self._judge(waiter)

    async def _judge(self, waiter: _Waiter) -> None:
        self._run.age(waiter.task)
        node = waiter.task.node
        counted = self._run.exercised
        if waiter.foreign:
            counted["store25.wait.session"] += 1
            await self._within(waiter, _BRIEF)
            if self._raised(waiter) is None and waiter.future.done() and waiter.future.result() is not None:
                self._bad("store25.wait.session", waiter, "appears", self._outcome(waiter), "an error")
            return
        if waiter.began == GONE and waiter.task.hidden:
            return  # missed in a list only: what a waiter is told is nobody's fault
        if waiter.began in (ABSENT, GONE):
            counted["store25.wait.absent"] += 1
            if not await self._within(waiter, self._patience("store25.wait.absent", waiter)):
                self._bad("store25.wait.absent", waiter, "missing", "still waits", "an error", waited=True)
            elif self._raised(waiter) is None:
                self._bad("store25.wait.absent", waiter, "return", self._outcome(waiter), "an error")
            return
        if node.may_be_gone and node.status not in TERMINAL:
            return
        if any(state.status in LIVE for state, _ in node.states):
            self._early(waiter)
            return
        await self._ended(waiter)

    async def _ended(self, waiter: _Waiter) -> None:
        """The task has ended: the waiter must be back, unless that is left open."""
        run = self._run
        optional = None
        due = self._patience("store25.wait.completes", waiter)
        if waiter.began in TERMINAL:
            optional = "store25.wait.already-terminal"
        elif self._others(waiter) and await self._another_is_back(waiter, due):
            optional = "store25.wait.two-waiters"  # which of several is told is open, that one is told is not
        back = await self._within(waiter, _BRIEF if optional else due)
        if optional is not None:
            run.automaton.choices[(optional, "returns" if back else "goes on waiting")] += 1
        else:
            run.exercised["store25.wait.completes"] += 1
            if back and self._others(waiter):
                run.automaton.choices[("store25.wait.two-waiters", "returns")] += 1
        if not back:
            if optional is None:
                self._bad(
                    "store25.wait.completes", waiter, "missing", "still waits", self._expected(waiter), waited=True
                )
            return
        self._outcome_fits(waiter)

    def _others(self, waiter: _Waiter) -> list[_Waiter]:
        """The waiters that wait for the same task."""
        same = [item for item in self._waiters if item.task is waiter.task and item is not waiter]
        return [item for item in same if not item.foreign and item.began not in TERMINAL]

    async def _another_is_back(self, waiter: _Waiter, seconds: float) -> bool:
        """Whether another waiter for the same task has got its outcome, while this one has not."""
        others = self._others(waiter)
        if waiter.future.done():
            return False
        futures = [item.future for item in (waiter, *others)]
        await self._until(lambda: any(future.done() for future in futures), seconds)
        return any(item.future.done() and self._raised(item) is None for item in others)

    def _outcome_fits(self, waiter: _Waiter) -> None:
        if self._raised(waiter) is not None:
            # A task that ended without a result, be it stored later, had none to give.
            stored = all(payload >= 0 for _, payload in waiter.task.ends)
            if stored and not waiter.task.node.may_be_gone:
                self._bad("store25.wait.completes", waiter, "return", self._outcome(waiter), self._expected(waiter))
            return
        try:
            status, result = as_pair(waiter.future.result())
            status = status_text(status)
        except Garbage as error:
            self._bad("store25.wait.completes", waiter, "identity", str(error), self._expected(waiter))
            return
        for ended, payload in waiter.task.ends:
            body = waiter.task.bodies[payload] if payload >= 0 else None
            same = payload == ANY_PAYLOAD or (
                result is None if body is None else is_body(self._run.store, body, result)
            )
            if ended == status and same:
                return
        self._bad("store25.wait.completes", waiter, "result", self._outcome(waiter), self._expected(waiter))

    # --- words -----------------------------------------------------------------------------

    def _expected(self, waiter: _Waiter) -> str:
        parts = []
        for state, _ in waiter.task.node.states[:3]:
            body = text_of(waiter.task.bodies[state.payload].value, 80) if state.payload >= 0 else "None"
            parts.append(f"({state.status}, {body})")
        return " or ".join(dict.fromkeys(parts))

    @staticmethod
    def _raised(waiter: _Waiter) -> BaseException | None:
        if not waiter.future.done():
            return None
        return asyncio.CancelledError() if waiter.future.cancelled() else waiter.future.exception()

    def _outcome(self, waiter: _Waiter) -> str:
        error = self._raised(waiter)
        if error is not None:
            return f"raises {describe_error(error)}"
        return f"returns {text_of(waiter.future.result(), 80)}" if waiter.future.done() else "still waits"

    def _patience(self, requirement: str, waiter: _Waiter) -> float:
        known = f"{requirement}/wait/{waiter.began}/missing" in self._run.known
        return _BRIEF if known else self._run.settle

    async def _within(self, waiter: _Waiter, seconds: float) -> bool:
        return await self._until(waiter.future.done, seconds)

    async def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        pause = 0.0005
        looks = 0
        # A few looks at least: on a busy machine the deadline may pass before the target had a turn.
        while not condition() and (looks < _LOOKS or time.monotonic() < deadline):
            looks += 1
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.02)
            tick(self._run.beat)  # waiting here is not the target's call
        return condition()

    def _bad(
        self, requirement: str, waiter: _Waiter, aspect: str, actual: str, expected: str, *, waited: bool = False
    ) -> None:
        whose = " with another session" if waiter.foreign else ""
        message = f"wait_for_task_result{whose} on a task that was {waiter.began} {actual}"
        self._run.breach(
            requirement, "wait_result", "wait", waiter.began, aspect, message, expected, actual,
            soft=True, waited=waited,
        )  # fmt: skip

    # --- the end ---------------------------------------------------------------------------

    async def cancel(self) -> None:
        """Cancel whoever still waits."""
        left = [waiter.future for waiter in self._waiters if not waiter.future.done()]
        for waiter in self._waiters:
            if waiter.future.done() and not waiter.future.cancelled():
                waiter.future.exception()  # looked at, so that nothing is told about it at the end
        self._waiters.clear()
        for future in left:
            future.cancel()
        if left:
            await asyncio.wait(left, timeout=_UNWILLING)
