"""Calling the target, and what a call that raises, hangs or exits comes to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from inspect import isawaitable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from mcptasks.conformance.engine.beat import Words, counters
from mcptasks.conformance.engine.breach import Breach, Reporter
from mcptasks.conformance.engine.tasks import TrackedTask
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.model.states import ABSENT, GONE
from mcptasks.conformance.targets.cancelling import uncancel
from mcptasks.conformance.targets.records import describe_error
from mcptasks.conformance.targets.store import OpenStore
from mcptasks.strategies.operations import Abort, Operation, name_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.ledger import Ledger
    from mcptasks.conformance.engine.times import TimeJudge

__all__ = ["ABORTED", "RAISED", "Caller", "word"]


class _Sentinel:
    __slots__ = ()


RAISED: Final = _Sentinel()
ABORTED: Final = _Sentinel()


class Caller(Reporter):
    """The part of the interpreter that calls the store and reports breaches; see :class:`.interpreter.Interpreter`."""

    call_ends: ClassVar[str] = "store.misc.call-ends"
    """The requirement that every call ends."""
    after_abort: ClassVar[str] = "store.misc.call-cancellation"

    times: TimeJudge
    ledger: Ledger
    tasks: dict[str, TrackedTask]
    by_id: dict[str, TrackedTask]
    changes: int
    clock_moves: int
    operation: Operation | None

    def __init__(
        self,
        store: OpenStore,
        automaton: Automaton,
        *,
        known: set[str] | None = None,
        settle: float = 2.0,
        beat: Words | None = None,
    ) -> None:
        self.store = store
        self.automaton = automaton
        self.known = set() if known is None else known
        self.settle = settle
        self.beat: Words = counters() if beat is None else beat
        self.exercised = automaton.exercised
        self.repeated: Counter[str] = Counter()
        self.hung = False
        """Set by the watchdog just before it cancels a call that does not end."""
        self.seen_ids: set[str] = set()
        self.error: BaseException | None = None
        self.index = 0
        self.aborted = False
        self.reads = self.reads_in_time = self.updates = self.snapshots = 0
        self._plain: set[type[Any]] = set()

    # --- calls -----------------------------------------------------------------------------

    async def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        self.beat[0] += 1
        try:
            value = method(*arguments)
            if value is None or value is True or value is False:
                return value
            if type(value) is CoroutineType:
                value = await value
            elif type(value) not in self._plain:
                value = await self._unfolded(value)
        except BaseException as error:
            value = self._raised(error, method)
        if self.hung:
            self._hangs(method)
        return value

    async def _unsubscribe_all(self) -> None:
        for listener in self.ledger.listeners.values():
            if listener.active and listener.unsubscribe is not None:
                listener.active = False
                await self._call(listener.unsubscribe)
        self.ledger.arrivals.clear()

    async def _unfolded(self, value: Any) -> Any:
        """What a method returned, awaited if it is an awaitable; types that are none are remembered."""
        if isawaitable(value):
            return await value
        self._plain.add(type(value))
        return value

    def _raised(self, error: BaseException, method: Callable[..., Any]) -> _Sentinel:
        if self.hung:
            self._hangs(method)
        if isinstance(error, asyncio.CancelledError):
            uncancel()  # nobody but the watchdog cancels this task, so it was the target
        elif isinstance(error, (SystemExit, KeyboardInterrupt)):
            self._exits(error, method)
        self.error = error
        return RAISED

    def _hangs(self, method: Callable[..., Any]) -> None:
        self.hung = False
        uncancel()
        name = self._name_of(method)
        requirement = self.after_abort if self.aborted else self.call_ends
        cause = "after an aborted call " if self.aborted else ""
        self.breach(
            requirement,
            name,
            name,
            "any",
            "life",
            f"{cause}{name} does not end",
            f"{name} returns or raises",
            "it was still under way at the deadline",
        )

    def _exits(self, error: BaseException, method: Callable[..., Any]) -> None:
        """These two are no answer: in any task of an event loop they end the process."""
        name = self._name_of(method)
        actual = f"raises {describe_error(error)}"
        self.breach(
            self.call_ends,
            name,
            name,
            "any",
            "exits",
            f"{name} {actual}, which ends the process that it runs in",
            f"{name} returns, or raises an Exception",
            actual,
            soft=True,
        )

    def _name_of(self, method: Callable[..., Any]) -> str:
        if method is self.store.get_task or method is self.store.create_task:
            return "get" if method is self.store.get_task else "create"
        operation = self.operation
        if operation is None:
            return "unsubscribe"
        return name_of(operation.operation if isinstance(operation, Abort) else operation)

    def _cancelled(self) -> Breach:
        """The target has cancelled the task that called it, which shows only when that task next waits."""
        self.hung = False
        uncancel()
        name = name_of(self.operation) if self.operation is not None else "unsubscribe"
        actual = f"by the end of {name} the calling task has been cancelled"
        return Breach(
            self.call_ends,
            name,
            name,
            "any",
            "cancels",
            actual,
            f"{name} leaves its caller alone",
            actual,
            self.index,
        )


def word(state: str) -> str:
    """A state in a sentence."""
    return {ABSENT: "not there", GONE: "gone"}.get(state, state)
