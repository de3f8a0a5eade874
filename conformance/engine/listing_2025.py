"""Judging lists: the walk over all pages, sessions, and cursors that a store never gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.calling import RAISED
from mcptasks.conformance.engine.tasks_2025 import TrackedTask25
from mcptasks.conformance.model.attribution_2025 import blame
from mcptasks.conformance.model.states import ABSENT, GONE, TaskState
from mcptasks.conformance.targets.records import Garbage, describe_error, plain_text, status_text
from mcptasks.conformance.targets.records_2025 import Page, TaskRecord, read_page, read_task
from mcptasks.strategies.json_values import text_of
from mcptasks.strategies.operations import Operation
from mcptasks.strategies.operations_2025 import BadCursor, ForeignCursor, ListTasks

if TYPE_CHECKING:
    from mcptasks.conformance.engine.interpreter_2025 import Interpreter25

__all__ = ["ListJudge"]

_MORE_PAGES: Final = 20
"""Pages beyond one for each task that a walk may take: a store may give empty ones."""


class _Walk:
    """What one walk has seen."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.pages = 0
        self.meanwhile = False
        """Whether something happened between its pages: then what it does to the rest is only a warning."""
        self.touched: set[str] = set()
        """Names of tasks that operations in between were about."""


class ListJudge:
    """The interpreter's part that lists."""

    def __init__(self, interpreter: Interpreter25) -> None:
        self._run = interpreter

    async def walk(self, operation: ListTasks) -> None:
        """Go through all pages, with the operations in between, and judge what was listed.

        Raises:
            Stop: it shows a breach.
        """
        run = self._run
        session = run.session(operation.session)
        walk = _Walk()
        between = list(operation.during)
        before = self._present(session)
        cursor: Any = None
        while True:
            page = await self._page(cursor, session, walk)
            if page is None:
                return
            walk.pages += 1
            for raw in page.tasks:
                self._listed(raw, session, walk)
            cursor = page.next_cursor
            if cursor is None or cursor == "":
                break
            self._next(walk)
            if between:
                walk.meanwhile = True
                await self._between(between.pop(0), walk)
        self._count(walk)
        for task in before:
            if task.name not in walk.touched and task.id not in walk.ids and run.tasks.get(task.name) is task:
                await run.judge_early_end(task)
                self._missing(task, walk)
        for item in between:
            await self._between(item, walk)
        run.ledger.after_call()

    async def _between(self, operation: Operation, walk: _Walk) -> None:
        name = getattr(operation, "task", None) or getattr(operation, "as_", None)
        if name is None:  # the clock: whoever may have expired by now is none of the stable ones
            await self._run.perform(operation)
            return
        walk.touched.add(str(name))
        await self._run.perform(operation)

    def _present(self, session: str | None) -> list[TrackedTask25]:
        return [task for task in self._run.by_id.values() if task.session == session and not task.unjudged]

    def _count(self, walk: _Walk) -> None:
        counted = self._run.exercised
        counted["store25.list.shape"] += 1
        counted["store25.list.session"] += 1
        if walk.ids:
            counted["store25.list.includes-gettable"] += 1
            counted["store25.list.walk"] += 1
        if len(walk.ids) > 1:
            order = [task_id for task_id in self._run.sessions if task_id in walk.ids]
            listed = list(walk.ids)
            label = "oldest first" if listed == order else "newest first" if listed == order[::-1] else "another order"
            self._run.automaton.choices[("store25.list.order", label)] += 1
        self._run.automaton.coverage[("list_tasks", "one page" if walk.pages == 1 else "several pages")] += 1

    async def _page(self, cursor: Any, session: str | None, walk: _Walk | None = None) -> Page | None:
        """The page at a cursor of the store's own; ``None`` where that was lost, which is known."""
        run = self._run
        raw = await run._call(run.store.list_tasks, cursor, session)
        if raw is RAISED and cursor is not None and walk is not None and self._may_be_lost(session, walk):
            actual = f"raises {describe_error(run.error)}" if run.error else "raises"
            message = f"list_tasks at the store's own cursor {actual}"
            self._walked(walk, "cursor", message, "a page of tasks", late=True)
            return None
        if raw is RAISED:
            actual = f"raises {describe_error(run.error)}" if run.error else "raises"
            which = "the first page" if cursor is None else "a page at the store's own cursor"
            self._bad("store25.list.shape", "return", f"list_tasks of {which} {actual}", "a page of tasks", actual)
        try:
            return read_page(raw)
        except Garbage as error:
            self._bad("store25.list.shape", "identity", f"list_tasks: {error}", "tasks and next_cursor", str(error))
            raise AssertionError from error  # a breach that is not soft ends the sequence

    def _may_be_lost(self, session: str | None, walk: _Walk) -> bool:
        """Whether what a cursor names may be gone: cursors SHOULD be stable, no more."""
        times = self._run.times
        gone = (task.node.may_be_gone or times.may_have_expired(task) for task in self._present(session))
        return walk.meanwhile or any(gone)

    def _next(self, walk: _Walk) -> None:
        # The same cursor may come twice: it is opaque, and a page may be empty.
        if walk.pages > len(self._run.sessions) + _MORE_PAGES:
            actual = f"after {walk.pages} pages there is still a next one"
            self._bad(
                "store25.list.walk", "endless", f"walking the list does not end: {actual}", "the walk ends", actual
            )

    def _listed(self, raw: Any, session: str | None, walk: _Walk) -> None:
        run = self._run
        try:
            record = read_task(raw)
            status = status_text(record.status)
        except Garbage as error:
            self._bad(
                "store25.list.shape", "task", f"list_tasks: {error}", "tasks as get_task returns them", str(error)
            )
            return
        task_id = plain_text(record.task_id) or ""
        told = text_of(task_id, 60)
        if task_id not in run.sessions:
            actual = f"list_tasks shows a task {told} that was never created"
            self._bad("store25.absent.stays-absent", "appears", actual, "only tasks that were created", actual)
            return
        if run.sessions[task_id] != session and run.sessions[task_id] is not None:
            unbound = session is None
            actual = f"list_tasks {'without a session' if unbound else 'of another session'} shows a task of a session"
            run.breach(
                "store25.list.session", "list_tasks", "list", "list", "appears-unbound" if unbound else "appears",
                actual, "only tasks of the session", actual, soft=True, warning=unbound,
            )  # fmt: skip
            return
        walk.ids[task_id] = walk.ids.get(task_id, 0) + 1
        task = run.by_id.get(task_id)
        if task is None or task.unjudged or task.session != session:
            return
        if task.name in walk.touched:
            return  # it changed while the list was walked
        if walk.ids[task_id] == 2:
            actual = f"the walk shows {task.name} a second time on page {walk.pages}"
            self._walked(walk, "twice", actual, "each task once")
        self._state(task, record, status)

    def _state(self, task: TrackedTask25, record: TaskRecord, status: str) -> None:
        states = [state.status for state, _ in task.node.states]
        if all(item in (ABSENT, GONE) for item in states):
            actual = f"list_tasks shows {task.name}, which get_task has shown to be gone"
            self._bad("store25.ttl.consistent", "appears", actual, "absent everywhere", actual)
        elif status not in states:
            actual = f"list_tasks shows {task.name} as {text_of(status, 40)}"
            expected = f"status {' or '.join(dict.fromkeys(item for item in states if item != GONE))}"
            cause = task.cause
            if cause is None or cause.row == "create":
                self._bad("store25.list.shape", "status", actual, expected, actual)
                return
            # Nothing has read the task since it was called: that call is to blame rather than the list.
            requirement = blame(cause.row, cause.state, "status", task.node.status)
            self._run.breach(requirement, cause.name, cause.row, cause.state, "status", actual, expected, actual)

    def _missing(self, task: TrackedTask25, walk: _Walk) -> None:
        """A task that was there before the walk, that nothing touched, and that no page showed."""
        run = self._run
        if task.node.status in (ABSENT, GONE):
            return
        if task.node.may_be_gone or run.times.may_have_expired(task):
            task.node = run.automaton.start(TaskState(GONE))
            task.hidden = True
            task.cause = task.result_cause = None
            return
        several = walk.pages > 1
        requirement = "store25.list.includes-gettable"
        actual = f"{task.name} is on none of {walk.pages} pages" if several else f"{task.name} is not listed"
        if several:
            self._walked(walk, "missing-task", f"list_tasks: {actual}", f"{task.name} is listed once")
        else:
            self._bad(requirement, "missing-task", f"list_tasks: {actual}", f"{task.name} is listed once", actual)

    def _walked(self, walk: _Walk, aspect: str, actual: str, expected: str, *, late: bool = False) -> None:
        """A breach of the walk; nothing is said of walks during which tasks come and go, so there it is a warning."""
        late = late or walk.meanwhile
        told = f"{actual}, while other tasks changed between the pages" if late else actual
        aspect = f"{aspect}-meanwhile" if late else aspect
        self._run.breach(
            "store25.list.walk", "list_tasks", "list", "list", aspect, told, expected, actual, soft=late, warning=late
        )

    # --- cursors ---------------------------------------------------------------------------

    async def bad_cursor(self, operation: BadCursor) -> None:
        """Ask for the page at a cursor that the store never gave.

        Raises:
            Stop: it answers with tasks all the same.
        """
        run = self._run
        session = run.session(operation.session)
        raw = await run._call(run.store.list_tasks, operation.cursor, session)
        if not any(task.node.status not in (ABSENT, GONE) for task in self._present(session)):
            return  # an empty page says nothing here
        run.exercised["store25.list.bad-cursor"] += 1
        if raw is RAISED:
            return
        try:
            page = read_page(raw)
        except Garbage as error:
            self._bad("store25.list.shape", "identity", f"list_tasks: {error}", "tasks and next_cursor", str(error))
            return
        if page.tasks:
            actual = f"a page with {len(page.tasks)} task{'' if len(page.tasks) == 1 else 's'}"
            self._bad(
                "store25.list.bad-cursor", "return", f"list_tasks at a cursor that it never gave answers {actual}",
                "it raises", actual, soft=True,
            )  # fmt: skip

    async def foreign_cursor(self, operation: ForeignCursor) -> None:
        """Use a cursor of one session with another.

        Raises:
            Stop: it shows tasks of the first.
        """
        run = self._run
        owner, session = run.session(operation.owner), run.session(operation.session)
        first = await self._page(None, owner)
        if first is None or first.next_cursor is None or first.next_cursor == "" or owner == session or owner is None:
            return
        raw = await run._call(run.store.list_tasks, first.next_cursor, session)
        run.exercised["store25.list.session"] += 1
        if raw is RAISED:
            return
        try:
            page = read_page(raw)
        except Garbage:
            return
        walk = _Walk()
        for task in page.tasks:
            self._listed(task, session, walk)

    def _bad(
        self, requirement: str, aspect: str, message: str, expected: str, actual: str, *, soft: bool = False
    ) -> None:
        name = "list_tasks"
        self._run.breach(requirement, name, "list", "list", aspect, message, expected, actual, soft=soft)
