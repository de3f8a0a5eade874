"""One sequence on a fresh store: what a proof, a replay file and a test rest on."""

from __future__ import annotations

from collections.abc import Sequence

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.revisions import interpreter_on
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.strategies.operations import Operation, sequence_to_json

__all__ = ["replay_once"]


async def replay_once(
    source: StoreSource,
    operations: Sequence[Operation],
    options: StoreOptions,
    *,
    known: set[str] | None = None,
    settle: float = 2.0,
    beat: Beat | None = None,
    watchdog: Watchdog | None = None,
) -> Breach | None:
    """Run a sequence on a fresh store; the breach that ended it, or ``None``."""
    if beat is not None:
        beat.spell({"operations": sequence_to_json(operations), "options": options.to_json()})
    store = await source.open(options)
    try:
        words = beat.words if beat else None
        interpreter = interpreter_on(source, store, known=known or set(), settle=settle, beat=words)
        if watchdog is None:
            return await interpreter.run(operations)
        with watchdog.over(interpreter):
            return await interpreter.run(operations)
    finally:
        await store.close()
