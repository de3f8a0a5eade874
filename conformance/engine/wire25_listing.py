"""Judging ``tasks/list``: walked to its end, and compared with what ``tasks/get`` shows.

MCP 2025-11-25, basic/utilities/tasks ("Task Listing") and server/utilities/pagination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.wire25_tasks import Task25
from mcptasks.conformance.model.states import ABSENT, CANCELLED, GONE, TERMINAL
from mcptasks.conformance.wire.forms import instant
from mcptasks.strategies.json_values import JSON, text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.wire25_interpreter import Wire25Interpreter

__all__ = ["List25", "Walk"]

_PAGES: Final = 400
"""Pages after which a walk counts as one without end."""
_FEW: Final = 30
"""Pages after which a walk is left that has shown everything that is looked for."""


_LAG_S: Final = 1.0
"""Seconds by which a list may lag behind what tasks/get shows."""


class Walk:
    """What a walk through a list has shown."""

    def __init__(self) -> None:
        self.entries: list[Mapping[str, JSON]] = []
        self.sizes: list[int] = []
        """Entries of each page."""
        self.problem = ""
        """Why it did not come to its end, as a clause about the server."""
        self.left = False
        """Whether it was left before its end."""

    @property
    def counts(self) -> Counter[str]:
        """How often each id is listed."""
        return Counter(item["taskId"] for item in self.entries if isinstance(item.get("taskId"), str))


class List25:
    """The interpreter's judgement of lists."""

    def __init__(self, interpreter: Wire25Interpreter) -> None:
        self._run = interpreter

    async def judge(self) -> None:
        """Walk the list and judge it.

        Raises:
            Stop: it is wrong.
        """
        run = self._run
        mine = [task for task in run.tasks.values() if task.was_made and not task.unjudged]
        walk = await self._walk({task.id for task in mine})
        if walk is None:
            return
        if walk.problem:
            self._bad("tasks25.list.next-cursor", "walk", walk.problem, "a walk that comes to an end")
        run.exercised["tasks25.list.next-cursor"] += 1
        if len(walk.sizes) > 1:
            run.automaton.choices[("tasks25.list.pagination", "in pages")] += 1
        counts = walk.counts
        twice = [name for name, count in counts.items() if count > 1]
        run.exercised["tasks25.list.no-duplicates"] += 1
        if twice:
            told = f"lists the task {text_of(twice[0], 60)} {counts[twice[0]]} times"
            self._bad("tasks25.list.no-duplicates", "twice", told, "each task once", soft=True)
        if walk.left:
            return
        if self._suspect(mine, walk):
            # A list may lag behind for a moment.
            await run.client.pacer.sleep(min(run.deadline(None), _LAG_S))
            again = await self._walk({task.id for task in mine})
            if again is None or again.problem or again.left:
                return
            walk = again
        listed = {item["taskId"]: item for item in walk.entries if isinstance(item.get("taskId"), str)}
        await self._missing(mine, listed, walk)
        self._statuses(mine, listed)

    @staticmethod
    def _suspect(mine: list[Task25], walk: Walk) -> bool:
        """Whether the list shows anything that is wrong unless it changes."""
        shown = {item["taskId"]: item.get("status") for item in walk.entries if isinstance(item.get("taskId"), str)}
        for task in mine:
            status = task.node.status
            if task.id not in shown and status not in (ABSENT, GONE, CANCELLED):
                return True
            if task.id in shown and status in (*TERMINAL, ABSENT, GONE) and shown[task.id] != status:
                return True
        return False

    async def _walk(self, wanted: set[str]) -> Walk | None:
        run = self._run
        walk = Walk()
        params: dict[str, JSON] = {}
        cursors: set[str] = set()
        while True:
            reply = await run.send("list_tasks", "tasks/list", params)
            if reply is None:
                return None
            if reply.error is not None:
                told = f"refuses tasks/list with error {reply.code}: {text_of(reply.error['message'], 80)}"
                requirement = "tasks25.list.next-cursor" if params else "tasks25.cap.list-flag"
                self._bad(requirement, "refused" if params else "first", told, "a page of tasks")
                return None
            assert reply.result is not None
            known = len(walk.counts)
            self._page(walk, reply.result)
            if "nextCursor" not in reply.result:
                return walk
            cursor = reply.result["nextCursor"]
            if not isinstance(cursor, str):
                walk.problem = f"gives {text_of(cursor, 40)} as nextCursor, which is no text"
                return walk
            if cursor in cursors and len(walk.counts) == known:
                # A server may keep the place itself; one that shows nothing new does not.
                walk.problem = (
                    f"gives the cursor {text_of(cursor, 40)} a second time, and nothing new: the walk has no end"
                )
                return walk
            cursors.add(cursor)
            if len(walk.sizes) >= _PAGES:
                walk.problem = f"has more than {_PAGES} pages"
                return walk
            if len(walk.sizes) >= _FEW and wanted <= set(walk.counts):
                walk.left = True
                return walk
            params = {"cursor": cursor}

    def _page(self, walk: Walk, result: Mapping[str, Any]) -> None:
        run = self._run
        run.automaton.shapes["list"] += 1
        run.smelled(run.forms.unrelated("tasks/list", result), "list_tasks", "tasks/list")
        tasks = result.get("tasks")
        if not isinstance(tasks, list):
            self._bad(
                "tasks25.list.superset-of-get", "tasks", f"has {text_of(tasks, 40)} as tasks", "an array of tasks"
            )
            return
        walk.sizes.append(len(tasks))
        for entry in tasks:
            run.automaton.shapes["listed"] += 1
            run.smelled(run.forms.listed(entry), "list_tasks", "tasks/list")
            if isinstance(entry, dict):
                walk.entries.append(entry)

    async def _missing(self, mine: list[Task25], listed: Mapping[str, Any], walk: Walk) -> None:
        run = self._run
        missing: list[Task25] = []
        for task in mine:
            if task.id in listed:
                run.exercised["tasks25.list.superset-of-get"] += 1
                if task.node.status in (ABSENT, GONE):
                    told = f"lists the task {text_of(task.id, 60)}, which tasks/get does not find"
                    run.soft("tasks25.list.superset-of-get", "list_tasks", "gone", "extra", told, "no such task")
                continue
            if task.node.status in (ABSENT, GONE) or task.near_expiry:
                continue
            reply = await run.send("get", "tasks/get", {"taskId": task.id})
            if reply is not None and reply.result is not None:
                missing.append(task)
        if not missing:
            return
        told = f"does not list {len(missing)} of {len(mine)} tasks that tasks/get shows"
        if await self._breaks_off(listed, walk):
            told += f", and its {'only' if len(walk.sizes) == 1 else 'last'} page has no nextCursor"
            self._bad("tasks25.list.next-cursor", "broken-off", told, "nextCursor where more tasks are available")
        self._bad("tasks25.list.superset-of-get", "missing", told, "every task that tasks/get shows")

    async def _breaks_off(self, listed: Mapping[str, Any], walk: Walk) -> bool:
        """Whether what is missing looks like further pages.

        That is so if of all tasks of the session several are missing, all of them made after those listed, or all
        before, and not for the status that they have.
        """
        made = self._run.store.made
        missing = [name for name in made if name not in listed]
        if len(missing) < 2 or not walk.entries:
            return False
        flags = [name in listed for name in made]
        if sum(first != second for first, second in zip(flags, flags[1:], strict=False)) > 1:
            return False
        statuses: set[object] = set()
        for name in (missing[0], missing[len(missing) // 2], missing[-1]):
            reply = await self._run.send("get", "tasks/get", {"taskId": name})
            if reply is not None and reply.result is not None:
                statuses.add(reply.result.get("status"))
        return bool(statuses & {item.get("status") for item in walk.entries})

    def _statuses(self, mine: list[Task25], listed: Mapping[str, Any]) -> None:
        for task in mine:
            entry, status = listed.get(task.id), task.node.status
            created = None if entry is None else instant(entry.get("createdAt"))
            if created is not None and task.created is not None and created != task.created:
                told = f"shows createdAt {created.isoformat()}, and tasks/get {task.created.isoformat()}"
                self._bad("tasks25.shape.createdat", "createdAt", told, "when the task was created", soft=True)
            if entry is None or status not in TERMINAL or task.cause is not None:
                continue
            self._run.exercised["tasks25.life.terminal"] += 1
            if entry.get("status") != status:
                told = f"lists a task as {text_of(entry.get('status'), 40)} that tasks/get has shown as {status}"
                self._bad("tasks25.life.terminal", "listed", told, f"status {status}")

    def _bad(self, requirement: str, aspect: str, actual: str, expected: str, *, soft: bool = False) -> None:
        self._run.breach(
            requirement,
            "list_tasks",
            "list",
            "every",
            aspect,
            f"tasks/list {actual}",
            expected,
            actual,
            soft=soft,
        )
