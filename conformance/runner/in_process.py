"""A run in this process: for targets that only this process has, such as a closure or a bound method.

The same campaign and the same events as in a child, without its protection: a target that ends the
process, or blocks in a plain function, does so to the caller.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from mcptasks.conformance.adapters import Adapter
from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.campaign_2025 import campaign_for
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.events import Event, Outcome, RunFinished, RunStarted, TargetInfo
from mcptasks.conformance.outcomes import Condition, exit_code
from mcptasks.conformance.profiles import storage_apart
from mcptasks.conformance.runner.account import Account, RunOptions
from mcptasks.conformance.runner.run import tool_version
from mcptasks.conformance.targets.loading import Offer, probe
from mcptasks.conformance.targets.store import StoreSource

__all__ = ["apart_from_running_loop", "own_loop", "run_here"]

_T = TypeVar("_T")


class _Enough(BaseException):
    """Ends a campaign from inside one of its messages; no ``Exception``, so that no handler takes it for a finding."""


def run_here(
    source: StoreSource,
    adapter: Adapter | None,
    info: TargetInfo,
    options: RunOptions,
    handler: Callable[[Event], None],
) -> int:
    """Check one store in this process; the exit code that a run in a child would have.

    Args:
        source: opens stores.
        adapter: through which they are seen, if any.
        info: how reports name the target.
        options: of the run; its memory limit has no effect here.
        handler: takes the events, the first when the target has been opened once.

    Raises:
        UsageError: it is no store; no event was handed over.
        KeyboardInterrupt: the user interrupted; the events tell so.
    """
    return apart_from_running_loop(lambda: _run(source, adapter, info, options, handler))


def _run(
    source: StoreSource,
    adapter: Adapter | None,
    info: TargetInfo,
    options: RunOptions,
    handler: Callable[[Event], None],
) -> int:
    started = time.monotonic()
    interrupted = False
    with own_loop() as loop, _interrupt_noted() as asked:
        offer: Offer | None = None
        condition: Condition | None = None
        try:
            loop.run_until_complete(source.settle_revision())
            info = replace(info, revision=source.revision)
            offer = loop.run_until_complete(probe(source, adapter))
        except TargetUnusableError as error:
            condition = Condition("unusable", str(error))
        handler(
            RunStarted(
                version=tool_version(),
                catalogue=load_catalogue().version,
                seed=options.settings.seed,
                budget=str(options.settings.budget),
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )
        account = Account(info, options, handler)
        account.begin()
        account.condition = condition
        if offer is not None:
            account.take({"kind": "probe", **asdict(offer), "revision": source.revision})
            _campaign(source, offer, options, account, loop, asked)
        interrupted = asked.is_set()
        if interrupted:
            account.condition = Condition("interrupted", "interrupted")
        outcome: Outcome = account.finish()
    code = int(exit_code([outcome]))
    handler(RunFinished(outcome, code, time.monotonic() - started))
    if interrupted:
        raise KeyboardInterrupt
    return code


def _campaign(
    source: StoreSource,
    offer: Offer,
    options: RunOptions,
    account: Account,
    loop: asyncio.AbstractEventLoop,
    asked: threading.Event,
) -> None:
    def take(message: dict[str, Any]) -> None:
        account.take(message)
        if asked.is_set() or (options.settings.fail_fast and account.has_failed):
            raise _Enough

    settings = replace(options.settings, fail_fast=False)  # not every finding is selected
    with tempfile.TemporaryDirectory(prefix="mcptasks-run-") as folder, storage_apart():
        beat = Beat(Path(folder) / "beat", create=True)
        try:
            campaign_for(source, settings, take, beat, offer.features).run(loop)
        except _Enough:
            pass
        finally:
            beat.close()


@contextmanager
def own_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop for all calls to a store, closed at the end with what the store left running in it."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # a target's stray tasks are its own affair
    try:
        yield loop
    finally:
        stray = asyncio.all_tasks(loop)
        for task in stray:
            task.cancel()
        if stray:
            loop.run_until_complete(asyncio.wait(stray, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@contextmanager
def _interrupt_noted() -> Iterator[threading.Event]:
    """The first Ctrl-C is noted, since a call to the target would take the exception for its own; the second acts."""
    asked = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield asked
        return

    def note(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def apart_from_running_loop(function: Callable[[], _T]) -> _T:
    """``function()``; in a thread of its own if an event loop runs in this one, where no other could run."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function()
    with ThreadPoolExecutor(1, thread_name_prefix="mcptasks") as pool:
        return pool.submit(function).result()
