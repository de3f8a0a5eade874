"""Probes of tasks/list: cursors that the server never gave, and many tasks."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.names import INVALID_PARAMS
from mcptasks.strategies.json_values import JSON

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
_LIST: Final = frozenset({"list"})
_BAD: Final = "tasks25.list.bad-cursor"
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


@GROUP.probe("list.pages", "tasks25.list.pagination", "tasks25.list.next-cursor", needs=_LIST, deadline_s=40.0)
async def _pages(probe: ProbeSession25) -> None:
    """How a list of a dozen tasks comes: in pages or whole."""
    for _ in range(12):
        await probe.open_task()
    pages = 0
    params: dict[str, JSON] = {}
    while pages < 100:
        reply = await probe.request("tasks/list", params)
        if reply.result is None:
            raise ProbeSkipped(f"tasks/list is refused with error {reply.code}")
        pages += 1
        cursor = reply.result.get("nextCursor")
        if not isinstance(cursor, str):
            break
        params = {"cursor": cursor}
    probe.choice("tasks25.list.pagination", "one page" if pages == 1 else "several pages")
