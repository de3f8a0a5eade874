"""A whole run: one or several targets side by side, events to the handlers, one outcome."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from types import FrameType
from typing import Final

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.events import Event, Note, Outcome, RunFinished, RunStarted
from mcptasks.conformance.outcomes import exit_code, overall_outcome
from mcptasks.conformance.runner.job import Spec, StoreSpec
from mcptasks.conformance.runner.supervisor import RunOptions, Supervisor
from mcptasks.conformance.wire.spec import ServerSpec

__all__ = ["EMBEDDED", "EMBEDDED_2025", "Target", "run_targets", "tool_version"]

_SIDE_BY_SIDE: Final = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A target of a run, with what differs from the run's options for it."""

    spec: Spec
    name: str | None = None
    calls: int | None = None
    """Another budget of calls than the default, where the default is used."""


EMBEDDED: Final = (
    Target(StoreSpec("mcptasks.fixtures.stores.memory:MemoryTaskStore"), "reference: memory (async)"),
    Target(
        StoreSpec("mcptasks.fixtures.stores.threadsafe:ThreadSafeTaskStore"), "reference: memory (plain def)", 80_000
    ),
    Target(StoreSpec("mcptasks.fixtures.stores.sqlite:SqliteTaskStore"), "reference: SQLite", 25_000),
    Target(ServerSpec(serve="mcptasks.fixtures.stores.memory:MemoryTaskStore"), "reference: server", 1600),
)
"""What is checked when the user names no target."""

EMBEDDED_2025: Final = (
    Target(
        StoreSpec("mcptasks.fixtures.stores.memory_2025:MemoryTaskStore2025", revision="2025-11-25"),
        "reference of 2025-11-25: memory (async)",
        60_000,
    ),
    Target(
        StoreSpec("mcptasks.fixtures.stores.threadsafe_2025:ThreadSafeTaskStore2025", revision="2025-11-25"),
        "reference of 2025-11-25: memory (plain def)",
        40_000,
    ),
    Target(
        ServerSpec(serve="mcptasks.fixtures.stores.memory_2025:MemoryTaskStore2025", revision="2025-11-25"),
        "reference of 2025-11-25: server",
        1600,
    ),
)
"""The same where the user names that revision."""


def tool_version() -> str:
    """The installed version of the suite."""
    try:
        return version("mcp-tasks-conformance")
    except PackageNotFoundError:
        return "unknown"


@contextlib.contextmanager
def _interruptible(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM ask the run to stop, so that a valid partial report is written."""

    def asked(number: int, frame: FrameType | None) -> None:
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_targets(
    targets: Sequence[Target],
    options: RunOptions,
    handler: Callable[[Event], None],
    *,
    command: Sequence[str] = (),
    default_budget: bool = False,
) -> int:
    """Check every target, two side by side; the exit code.

    Args:
        targets: what to check.
        options: for all of them.
        handler: takes the events, one at a time.
        command: the command line, for the report's header; secrets already redacted.
        default_budget: the user named no budget, so a target's own may be used.

    Raises:
        UsageError: a target cannot be imported or is no store; the events up to there were handled.
    """
    lock = threading.Lock()
    stop = threading.Event()
    started = time.monotonic()

    def emit(event: Event) -> None:
        with lock:
            handler(event)

    emit(
        RunStarted(
            version=tool_version(),
            catalogue=load_catalogue().version,
            seed=options.settings.seed,
            budget=str(options.settings.budget),
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            command=list(command),
        )
    )
    supervisors = [
        Supervisor(target.spec, _own(target, options, default_budget), emit, stop, target.name) for target in targets
    ]
    outcomes: list[Outcome]
    with _interruptible(stop), ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        futures = [pool.submit(supervisor.run) for supervisor in supervisors]
        while not all(future.done() for future in futures):
            time.sleep(0.02)  # signals reach the main thread only while it runs Python
        outcomes = []
        for future, supervisor in zip(futures, supervisors, strict=True):
            try:
                outcomes.append(future.result())
            except Exception as error:
                emit(Note(supervisor.name, "error", f"the suite itself failed: {type(error).__name__}: {error}"))
                outcomes.append("error")
    usage = [supervisor.usage_error for supervisor in supervisors if supervisor.usage_error]
    code = int(exit_code(outcomes, bool(usage)))
    emit(RunFinished(overall_outcome(outcomes), code, time.monotonic() - started))
    if usage:
        raise UsageError("; ".join(usage))
    return code


def _own(target: Target, options: RunOptions, default_budget: bool) -> RunOptions:
    if target.calls is None or not default_budget:
        return options
    budget = replace(options.settings.budget, calls=target.calls, seconds=None)
    return replace(options, settings=replace(options.settings, budget=budget))
