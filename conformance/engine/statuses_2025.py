"""The ledger of status events: which are due, and what an event breaches that tells something wrong.

Events are due for every change of status; all that a store does about them is SHOULD, so every breach is a warning.
A further event that tells a status which the task has had is lawful: it may be late, or a repetition.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.beat import tick
from mcptasks.conformance.engine.listeners import Arrival, Listener
from mcptasks.conformance.engine.tasks_2025 import TrackedTask25
from mcptasks.conformance.model.states import Call
from mcptasks.conformance.targets.records import Garbage, describe_error, plain_text, status_text
from mcptasks.conformance.targets.records_2025 import StatusEvent, read_status_event, read_task
from mcptasks.strategies.json_values import text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.interpreter_2025 import Interpreter25

__all__ = ["StatusLedger"]

_TURNS: Final = 3
_LOOKS: Final = 5


class _Due:
    def __init__(self, listener: Listener, task: TrackedTask25, status: str, before: str, message: str | None) -> None:
        self.listener = listener
        self.task = task
        self.status = status
        self.before = before
        self.message = message
        self.index = 0
        self.came = False
        self.instead = ""
        """What was told in the same call in its stead."""


class StatusLedger:
    """Status events of one sequence."""

    def __init__(self, interpreter: Interpreter25) -> None:
        self._run = interpreter
        self.listeners: dict[str, Listener] = {}
        self.arrivals: list[Arrival] = []
        self._dues: list[_Due] = []
        self._removed: dict[int, dict[str, set[str]]] = {}
        """Per removed listener: the statuses that each task had had by then, whose events may still be under way."""
        self._odd: list[tuple[TrackedTask25, str]] = []
        """Events with a status that their task had not had, as far as was known."""

    def listener(self, name: str, kind: str) -> Listener:
        """A new listener; subscribing is up to the caller."""
        run = self._run
        return Listener(
            name,
            kind,
            self.arrivals,
            lambda: run.index,
            lambda task_id: run.store.get_task(task_id, run.sessions.get(task_id)),
        )

    def subscribed(self, listener: Listener, unsubscribe: Callable[[], Any]) -> None:
        """Note that the store took the listener."""
        listener.unsubscribe = unsubscribe
        old = self.listeners.get(listener.name)
        if old is not None:
            self.listeners[f"{listener.name}#{len(self.listeners)}"] = old
        self.listeners[listener.name] = listener

    def unsubscribed(self, listener: Listener) -> None:
        """Note that the listener was removed."""
        listener.active = False
        self._removed[id(listener)] = {task.id: set(task.had) for task in self._run.by_id.values()}

    def expect(self, task: TrackedTask25, call: Call, message: str | None) -> None:
        """A call is about to be made: note the events that it makes due."""
        if not self.listeners or task.unjudged or call.name.startswith("foreign") or task.node.expired:
            return
        step = self._run.automaton.step(task.node, call)
        if not step.transition:
            return
        status = step.edges["ok"].target.status
        active = [item for item in self.listeners.values() if item.active]
        for listener in active:
            due = _Due(listener, task, status, task.node.status, message)
            due.index = self._run.index
            self._dues.append(due)
            self._run.exercised["store25.event.on-change"] += 1
            if len(active) > 1 or len(active) < len(self.listeners):
                self._run.exercised["store25.event.independent"] += 1

    # --- what came -------------------------------------------------------------------------

    def after_call(self) -> None:
        """Judge the events that came while an operation ran."""
        while self.arrivals:
            arrival = self.arrivals.pop(0)
            try:
                event = read_status_event(arrival.event)
                status = status_text(event.status)
            except Garbage as error:
                self._bad("on-change", "garbage", str(error), "an event with task_id and status")
                continue
            self._judge(arrival, event, status)

    def _judge(self, arrival: Arrival, event: StatusEvent, status: str) -> None:
        run = self._run
        task_id = plain_text(event.task_id) or ""
        task = run.by_id.get(task_id)
        if task is None:
            if task_id not in run.seen_ids:
                actual = f"an event has task_id {text_of(event.task_id, 60)}, which is no task's"
                self._bad("on-change", "identity", actual, "the id of the task whose status changed")
            return
        if task.unjudged:
            return
        for due in self._dues:
            if due.listener is arrival.listener and due.task is task and not due.came and due.status == status:
                due.came = True
                self._fits(arrival, event, due)
                return
        if not arrival.listener.active and status not in self._removed[id(arrival.listener)].get(task_id, ()):
            actual = "an event reaches a listener after it was unsubscribed"
            self._bad("independent", "extra", actual, "no event")
            return
        if status in task.had:
            for due in self._dues:
                if due.listener is arrival.listener and due.task is task and due.index == arrival.index:
                    due.instead = status
            return
        # Judged at the end: if the task does have that status, a read shows it, and the event is not to blame.
        self._odd.append((task, status))

    def _fits(self, arrival: Arrival, event: StatusEvent, due: _Due) -> None:
        told = f"the event for {due.status}"
        if plain_text(event.session_id) != due.task.session:
            actual = f"{told} has session_id {text_of(event.session_id, 60)}"
            self._bad("on-change", "session", actual, f"session_id {text_of(due.task.session, 60)}")
        # With late events it may be that of another change to the same status.
        given = not event.status_message or event.status_message in due.task.key_numbers
        if due.message is not None and not given:
            actual = f"{told} has status_message {text_of(event.status_message, 60)}"
            self._bad("on-change", "message", actual, f"status_message {text_of(due.message, 60)}")
        if arrival.listener.kind != "getting" or arrival.index != due.index or self._run.index != due.index:
            return
        if arrival.read_error is not None:
            actual = f"get_task from within a listener raises {describe_error(arrival.read_error)}"
            self._bad("on-change", "return", actual, "a listener may call the store")
        if arrival.read is None:
            return
        try:
            shown = status_text(read_task(arrival.read).status)
        except Garbage:
            return  # what a record is like is judged where it is read
        if shown == due.before:
            actual = f"when the event for {due.status} comes, get_task still shows {shown}"
            self._bad("on-change", "after-state", actual, "the event comes after the state was changed")

    # --- the end ---------------------------------------------------------------------------

    async def settle(self) -> None:
        """Wait for the events that are due, judge late ones, report missing ones.

        Raises:
            Stop: an event is missing.
        """
        if not self.listeners:
            return
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self.after_call()
        for task, status in self._odd:
            actual = f"an event tells status {text_of(status, 40)}, which the task never had"
            self._bad("on-change", "status", actual, f"status {task.node.status}")
        for due in await self._awaited(self._missing):
            self._report(due)

    async def drain(self, listener: Listener) -> None:
        """Give the events that are due to a listener their time before it is removed: what is under way to it then may
        be dropped."""
        await self._awaited(lambda: [due for due in self._missing() if due.listener is listener])

    async def _awaited(self, still: Callable[[], list[_Due]]) -> list[_Due]:
        """Wait for events until the deadline; those that have not come."""
        missing = still()
        if not missing:
            return []
        names = (
            "on-change/event/change/missing",
            "on-change/event/change/old-status",
            "independent/event/change/missing",
        )
        known = any(f"store25.event.{name}" in self._run.known for name in names)
        deadline = time.monotonic() + (0.005 if known else self._run.settle)
        pause = 0.0005
        looks = 0
        # A few looks at least: on a busy machine the deadline may pass before the target had a turn.
        while missing and (looks < _LOOKS or time.monotonic() < deadline):
            looks += 1
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
            tick(self._run.beat)  # waiting here is not the target's call
            self.after_call()
            missing = still()
        return missing

    def _missing(self) -> list[_Due]:
        return [due for due in self._dues if not due.came and not due.task.unjudged]

    def _report(self, due: _Due) -> None:
        change = f"the change from {due.before} to {due.status}"
        expected = f"an event with status {due.status}"
        others = any(
            item.came and item.task is due.task and item.index == due.index for item in self._dues if item is not due
        )
        prefix = "store25.event.on-change/event/change/"
        known = [name for name in ("missing", "old-status") if f"{prefix}{name}" in self._run.known]
        if known and not others:
            # Events of changes are known to fail, with one listener already: how many there are is not to blame.
            self._bad("on-change", known[0], f"no event for {change}", expected, waited=True)
        elif due.instead:
            self._bad("on-change", "old-status", f"{change} is told as status {due.instead}", expected, waited=True)
        elif others or any(not item.active for item in self.listeners.values()):
            self._bad("independent", "missing", f"of several listeners not all hear of {change}", expected, waited=True)
        else:
            within = f"no event within {self._run.settle:g} s for {change}"
            self._bad("on-change", "missing", within, expected, waited=True)

    def _bad(self, name: str, aspect: str, actual: str, expected: str, *, waited: bool = False) -> None:
        self._run.breach(
            f"store25.event.{name}", "on_status", "event", "change", aspect, actual, expected, actual,
            soft=True, waited=waited,
        )  # fmt: skip
