"""The ledger of events: which are due, which are lawful, and what any other one breaches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcptasks.conformance.engine.beat import tick
from mcptasks.conformance.engine.bridged import is_body
from mcptasks.conformance.engine.listeners import Arrival, Due, Listener
from mcptasks.conformance.engine.tasks import TrackedTask
from mcptasks.conformance.model.automaton import Node, Step
from mcptasks.conformance.model.states import ABSENT, GONE, INPUT_REQUIRED, LIVE
from mcptasks.conformance.targets.records import (
    MISSING,
    Event,
    Garbage,
    describe_error,
    plain_text,
    read_event,
    read_record,
)
from mcptasks.strategies.json_values import text_of
from mcptasks.strategies.operations import Entries

if TYPE_CHECKING:
    from mcptasks.conformance.engine.interpreter import Interpreter

__all__ = ["Ledger"]

_TURNS = 3
"""Turns of the event loop given to late events at the end of every sequence that has listeners."""
_LOOKS = 5
"""Looks after which an event that is due counts as missing."""


class Ledger:
    """Events of one sequence."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._run = interpreter
        self.listeners: dict[str, Listener] = {}
        self.arrivals: list[Arrival] = []
        self._dues: dict[tuple[int, str, str], list[Due]] = {}
        self._operations: dict[int, tuple[str, str, str]] = {}
        """Per operation that ran with listeners: its name, its task's id, and that task's status before."""
        self._resolving: tuple[str, str, str] | None = None
        self._subscribed_at: dict[int, int] = {}
        self._removed_at: list[int] = []
        """Operations at which a listener was unsubscribed."""

    # --- listeners -------------------------------------------------------------------------

    @property
    def raising(self) -> bool:
        """Whether an active listener raises."""
        return any(item.active and item.kind == "raising" for item in self.listeners.values())

    def listener(self, name: str, kind: str) -> Listener:
        """A new listener; subscribing is up to the caller."""
        run = self._run
        return Listener(name, kind, self.arrivals, lambda: run.index, lambda task_id: run.store.get_task(task_id))

    def subscribed(self, listener: Listener, unsubscribe: Callable[[], Any]) -> None:
        """Note that the store took the listener."""
        listener.unsubscribe = unsubscribe
        old = self.listeners.get(listener.name)
        if old is not None:  # a name used twice: the older listener stays subscribed under another name
            self.listeners[f"{listener.name}#{len(self.listeners)}"] = old
        self.listeners[listener.name] = listener
        self._subscribed_at[id(listener)] = self._run.index

    def unsubscribed(self, listener: Listener) -> None:
        """Note that the listener was removed."""
        listener.active = False
        self._removed_at.append(self._run.index)

    # --- what is due -----------------------------------------------------------------------

    def expect(self, task: TrackedTask, before: Node, step: Step, responses: Entries) -> None:
        """A resolve is about to be called: note what it makes due, or only lawful."""
        run = self._run
        self._resolving = ("resolve", task.id, before.status)
        active = [item for item in self.listeners.values() if item.active]
        states = [state for state, _ in before.states]
        counted = run.exercised
        if len(active) < len(self.listeners) and step.matched:
            counted["store.event.unsubscribe"] += 1
        if not active or task.unjudged:
            return
        if all(state.status not in LIVE and not state.expired for state in states):
            absent = before.status in (ABSENT, GONE)
            counted["store.event.absent-silent" if absent else "store.event.terminal-silent"] += 1
            return
        raising = any(item.kind == "raising" for item in active)
        pending = {key for state in states for key, _ in state.pending}
        for position, (key, response) in enumerate(responses):
            matched = task.key_numbers[key] in step.matched
            for listener in active:
                # Whether the rest still hears of it when one listener raises is left open.
                wanted = matched and not before.expired and (not raising or (len(active) == 1 and position == 0))
                if wanted:
                    counted["store.event.per-resolved"] += 1
                    counted["store.event.payload"] += 1
                    if len(active) > 1:
                        counted["store.event.unsubscribe"] += 1
                due = Due(listener, key, response, run.index, wanted, task.key_numbers[key] not in pending)
                self._dues.setdefault((id(listener), task.id, key), []).append(due)

    def allow(self, task: TrackedTask, responses: Entries) -> None:
        """A resolve is about to be aborted: its events are lawful, none is due."""
        self._resolving = ("resolve", task.id, task.node.status)
        if not any(state.status in LIVE or state.expired for state, _ in task.node.states):
            return
        pending = {key for state, _ in task.node.states for key, _ in state.pending}
        for key, response in responses:
            unmatched = task.key_number(key) not in pending
            for listener in self.listeners.values():
                if listener.active:
                    due = Due(listener, key, response, self._run.index, False, unmatched)
                    self._dues.setdefault((id(listener), task.id, key), []).append(due)

    def withdraw(self) -> None:
        """The resolve under way was lawfully refused: nothing of it is due."""
        for dues in self._dues.values():
            for due in dues:
                if due.index == self._run.index:
                    due.wanted = False

    # --- what came -------------------------------------------------------------------------

    def after_call(self, name: str) -> None:
        """Judge the events that came while an operation ran."""
        run = self._run
        if self._resolving is not None:
            self._operations[run.index] = self._resolving
            self._resolving = None
        else:
            self._operations[run.index] = (name, "", "")
            run.exercised["store.event.set-silent"] += 1
        if self.arrivals:
            self._sort()

    def _sort(self) -> None:
        while self.arrivals:
            arrival = self.arrivals.pop(0)
            try:
                event = read_event(arrival.event)
            except Garbage as error:
                self._bad(
                    "store.event.payload", "garbage", str(error), "an event with task_id, request_id and response"
                )
                continue
            self._judge(arrival, event)

    def _judge(self, arrival: Arrival, event: Event) -> None:
        listener = arrival.listener
        task = self._run.by_id.get(plain_text(event.task_id) or "")
        if task is None:
            if plain_text(event.task_id) not in self._run.seen_ids:
                self._bad(
                    "store.event.payload",
                    "identity",
                    f"an event has task_id {text_of(event.task_id, 60)}, which is no task's",
                    "the id of the task whose request was answered",
                )
            return
        if task.unjudged:
            return
        key = plain_text(event.request_id)
        if key is None:
            self._bad(
                "store.event.payload",
                "key",
                f"an event has request_id {text_of(event.request_id, 60)}, which is no string",
                "the key that was answered",
            )
            return
        event = event._replace(request_id=key)
        dues = self._dues.get((id(listener), task.id, key), [])
        # The one that is waited for comes first, then that of the operation under way.
        for due in sorted(dues, key=lambda item: (not item.wanted, item.index != arrival.index)):
            if not due.count and is_body(self._run.store, due.response, event.response):
                due.count = 1
                self._look(arrival, task, due)
                return
        wanted = next((due for due in dues if due.wanted and not due.count), None)
        if wanted is not None:
            self._wrong_response(key, event, wanted)
        self._unexpected(arrival, task, event, dues)

    def _wrong_response(self, key: Any, event: Event, due: Due) -> None:
        self._bad(
            "store.event.payload",
            "payload",
            f"the event for key {text_of(key, 40)} has response {text_of(event.response, 80)}",
            f"response {text_of(due.response.value, 80)}",
        )

    def _unexpected(self, arrival: Arrival, task: TrackedTask, event: Event, dues: list[Due]) -> None:
        listener, key = arrival.listener, event.request_id
        name, task_id, status = self._operations.get(arrival.index, ("", "", ""))
        told = f"an event for key {text_of(key, 40)}"
        now = [due for due in dues if due.index == arrival.index]
        if not listener.active and not now:
            self._bad(
                "store.event.unsubscribe", "extra", f"{told} reaches a listener after it was unsubscribed", "no event"
            )
        if name == "resolve" and task_id == task.id and status in (ABSENT, GONE):
            self._bad(
                "store.event.absent-silent", "extra", f"{told} of a task that is not there", "no event", soft=True
            )
            return
        if name == "resolve" and task_id == task.id and status not in LIVE:
            self._bad("store.event.terminal-silent", "extra", f"{told} of a task that is {status}", "no event")
        if name and name != "resolve":
            self._bad("store.event.set-silent", name, f"{told} is raised by {name}", "only resolving raises this event")
        open_due = next((due for due in now if not due.count), None)
        if open_due is not None:
            self._wrong_response(key, event, open_due)
        if dues:
            if any(not due.unmatched for due in now or dues):
                self._bad(
                    "store.event.per-resolved",
                    "extra",
                    f"{told} comes twice",
                    "exactly one event for each resolved key",
                )
            self._bad(
                "store.event.unmatched",
                "extra",
                f"{told}, which matched nothing, comes twice",
                "no event or one",
                soft=True,
            )
            return
        if self._subscribed_at[id(listener)] >= arrival.index or self._told_others(task.id, key):
            return  # delivered late, to those who listen by then: lawful
        if not isinstance(key, str) or key not in task.key_numbers:
            self._bad("store.event.payload", "key", f"{told}, which was never given", "the key that was answered")
        self._bad(
            "store.event.payload", "key", f"{told} that was not answered", "an event for the key that was answered"
        )

    def _told_others(self, task_id: str, key: Any) -> bool:
        return any(due_task == task_id and due_key == key for _, due_task, due_key in self._dues)

    def _look(self, arrival: Arrival, task: TrackedTask, due: Due) -> None:
        """What a getting listener saw must be the state after the update."""
        run = self._run
        if arrival.listener.kind != "getting" or arrival.index != due.index or not due.wanted:
            return
        if arrival.read is None and arrival.read_error is None:
            return
        run.exercised["store.event.after-state"] += 1
        if arrival.read_error is not None:
            self._bad(
                "store.event.after-state",
                "return",
                f"get from within a listener raises {describe_error(arrival.read_error)}",
                "a listener may call the store",
            )
        try:
            requests = read_record(arrival.read).input_requests
            pending = requests is not MISSING and requests is not None and due.key in requests
        except BaseException:
            return  # what a record is like is judged where it is read
        if pending and run.index == due.index:
            self._bad(
                "store.event.after-state",
                "pending",
                f"when the event for key {text_of(due.key, 40)} comes, get still shows the key pending",
                "the event comes after the state was updated",
            )

    # --- the end ---------------------------------------------------------------------------

    async def settle(self) -> None:
        """Wait for the events that are due, judge late ones, report missing ones.

        Raises:
            Stop: an event is missing, or one came that must not.
        """
        if not self.listeners:
            return
        if self._dues:
            for due in await self._awaited(self._missing):
                self._report_missing(due)
            self._count_open()
        if self.arrivals:
            self._sort()

    async def drain(self, listener: Listener) -> None:
        """Give the events that are due to a listener their time before it is removed: what is under way to it then may
        be dropped."""
        await self._awaited(lambda: [due for due in self._missing() if due.listener is listener])

    async def _awaited(self, still: Callable[[], list[Due]]) -> list[Due]:
        """Wait for events until the deadline; those that have not come."""
        if not self._dues:
            return []
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        if self.arrivals:
            self._sort()
        missing = still()
        if not missing:
            return []
        known = f"store.event.per-resolved/resolve/{INPUT_REQUIRED}/missing" in self._run.known
        deadline = time.monotonic() + (0.005 if known else self._run.settle)
        pause = 0.0005
        looks = 0
        # A few looks at least: on a busy machine the deadline may pass before the target had a turn.
        while missing and (looks < _LOOKS or time.monotonic() < deadline):
            looks += 1
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
            tick(self._run.beat)  # waiting here is not the target's call
            self._sort()
            missing = still()
        return missing

    def _missing(self) -> list[Due]:
        return [due for dues in self._dues.values() for due in dues if due.wanted and not due.count]

    def _report_missing(self, due: Due) -> None:
        others = [
            other
            for (_, _, key), dues in self._dues.items()
            if key == due.key
            for other in dues
            if other.index == due.index and other.count
        ]
        key = text_of(due.key, 40)
        if others:
            self._bad(
                "store.event.unsubscribe",
                "missing",
                f"of several listeners only some get the event for key {key}",
                "every subscribed listener gets every event",
            )
        if any(index < due.index for index in self._removed_at):
            self._bad(
                "store.event.unsubscribe",
                "missing",
                f"after another listener was unsubscribed, no event for key {key} within {self._run.settle:g} s",
                "unsubscribing one listener leaves the others subscribed",
            )
        self._bad(
            "store.event.per-resolved",
            "missing",
            f"no event for the resolved key {key} within {self._run.settle:g} s",
            "one event for each resolved key",
        )

    def _count_open(self) -> None:
        for dues in self._dues.values():
            for due in dues:
                if due.unmatched and due.listener.kind != "raising":
                    label = "one event" if due.count else "no event"
                    self._run.automaton.choices[("store.event.unmatched", label)] += 1

    def _bad(self, requirement: str, aspect: str, actual: str, expected: str, *, soft: bool = False) -> None:
        status = INPUT_REQUIRED
        if requirement == "store.event.terminal-silent":
            status = "terminal"
        elif requirement == "store.event.absent-silent":
            status = ABSENT
        self._run.breach(requirement, "resolve", "resolve", status, aspect, actual, expected, actual, soft=soft)
