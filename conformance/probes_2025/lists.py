"""Probes of tasks/list: cursors that the server never gave, and many tasks."""

from __future__ import annotations

from collections import Counter
from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.names import INVALID_PARAMS
from mcptasks.strategies.json_values import JSON

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
_LIST: Final = frozenset({"list"})
_BAD: Final = "tasks25.list.bad-cursor"
_MANY: Final = 32
"""Tasks: more than some servers list."""
_CURSORS: Final = ("nonsense", "mcptasks-no-such-cursor-0000", "-1")


@GROUP.probe("list.bad-cursor", _BAD, needs=_LIST)
async def _cursor(probe: ProbeSession25) -> None:
    """A cursor that was never given is refused, and does not begin the list again."""
    await probe.open_task()
    plain = await probe.request("tasks/list", {})
    if plain.error is not None:
        raise ProbeSkipped(f"tasks/list is refused with error {plain.code} as it is")
    for number, cursor in enumerate(_CURSORS):
        reply = await probe.request("tasks/list", {"cursor": cursor})
        ok = reply.code == INVALID_PARAMS
        probe.check(
            _BAD,
            ok,
            expected="error -32602",
            actual=probe.told(reply),
            message=f"tasks/list takes the cursor '{cursor}', which was never given"
            if reply.error is None
            else f"tasks/list refuses the cursor '{cursor}' with another error than -32602",
            aspect="taken" if reply.error is None else "code",
            # A cursor may happen to be one that the server understands: only the first is surely none.
            warning=number > 0,
        )


@GROUP.probe(
    "list.pages",
    "tasks25.list.pagination",
    "tasks25.list.next-cursor",
    "tasks25.list.superset-of-get",
    "tasks25.list.no-duplicates",
    needs=_LIST,
    deadline_s=40.0,
)
async def _pages(probe: ProbeSession25) -> None:
    """How a list of many tasks comes, in pages or whole; tasks made meanwhile neither hide nor repeat any of them."""
    wanted = [(await probe.open_task()).id for _ in range(_MANY)]
    seen: Counter[str] = Counter()
    pages = 0
    params: dict[str, JSON] = {}
    while pages < 100:
        reply = await probe.request("tasks/list", params)
        tasks = (reply.result or {}).get("tasks")
        if not isinstance(tasks, list):
            raise ProbeSkipped(f"tasks/list gives no page of tasks, but {probe.told(reply)}")
        seen.update(item["taskId"] for item in tasks if isinstance(item, dict) and isinstance(item.get("taskId"), str))
        pages += 1
        cursor = (reply.result or {}).get("nextCursor")
        if not isinstance(cursor, str):
            break
        params = {"cursor": cursor}
        if pages <= 3:
            await probe.open_task()
    probe.choice("tasks25.list.pagination", "one page" if pages == 1 else "several pages")
    if pages == 100:
        return
    missing = [name for name in wanted if not seen[name]]
    if missing and (await probe.request("tasks/get", {"taskId": missing[0]})).result is None:
        return
    probe.check(
        "tasks25.list.superset-of-get",
        not missing,
        expected="every task that was there all the time",
        actual=f"{len(missing)} of {len(wanted)} missing",
        message=f"a walk through the list misses {len(missing)} of {len(wanted)} tasks that were there all the time",
        aspect="many",
    )
    twice = [name for name in wanted if seen[name] > 1]
    probe.check(
        "tasks25.list.no-duplicates",
        not twice,
        expected="each task once",
        actual=f"{len(twice)} of {len(wanted)} twice",
        message="a walk through the list, tasks being made meanwhile, shows tasks twice",
        aspect="inserts",
    )
