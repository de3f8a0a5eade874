"""The child process: opens the target, runs the campaign or a replay, and says what it learns.

Usage: ``python -m mcptasks.conformance.runner.worker JOB BEAT FD MARK``.  Messages go to file descriptor
``FD``, one JSON line each after ``MARK``; what the target prints goes elsewhere.  The process ends when its standard input
closes, which is how it notices that its parent is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from mcptasks.conformance.adapters import Adapter
from mcptasks.conformance.engine.beat import Beat, Stage
from mcptasks.conformance.engine.campaign import Campaign
from mcptasks.conformance.engine.campaign_2025 import campaign_for
from mcptasks.conformance.engine.replay import replay_once
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.errors import ConformanceError
from mcptasks.conformance.runner.job import Job, StoreSpec
from mcptasks.conformance.runner.sturdy_loop import SturdyLoop
from mcptasks.conformance.targets.loading import load_source, probe
from mcptasks.conformance.targets.records import describe_error
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import sequence_from_json

__all__ = ["main"]


_LINGER: Final = 10.0
_LOST: Final = 86
"""Exit code of a child whose parent, or whose way to tell it something, is gone."""


class _Pipe:
    """Where messages go: lines that begin with a mark, since a target may write to any descriptor."""

    def __init__(self, descriptor: int, mark: str) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self._mark = mark.encode()
        self._pid = os.getpid()
        self._end = _end_of_the_group()
        self._file = self._identity()
        self.redact: Callable[[JSON], JSON] = lambda value: value
        """Keeps secrets out of every message."""

    def __call__(self, message: dict[str, JSON]) -> None:
        if os.getpid() != self._pid:
            os._exit(0)  # the target has forked, and this is the copy of the suite
        if self._identity() != self._file:
            os._exit(_LOST)  # the target has closed it, and opened something else perhaps
        data = self._mark + json.dumps(self.redact(message), ensure_ascii=True).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except BrokenPipeError:
            self._end()  # the parent is gone; nobody else ends what the target has started
        except OSError:
            os._exit(_LOST)

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.fstat(self._descriptor)
        except OSError:
            return None
        return found.st_dev, found.st_ino


def _end_of_the_group() -> Callable[[], None]:
    """What ends this process and everything that it has started; to be made before the target is imported."""
    kill, leave = os.killpg, os._exit  # the target may take away what is looked up by name
    group = os.getpgrp() if os.getpgrp() == os.getpid() else None

    def end() -> None:
        if group is not None:
            kill(group, signal.SIGKILL)
        leave(_LOST)

    return end


def _end_with_parent() -> None:
    """End this process and what it started when the parent's end of standard input closes."""
    alive = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)  # a target that reads standard input finds nothing there, and does not wait
    os.close(empty)
    end = _end_of_the_group()

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(alive, 1024):
                pass
        end()

    threading.Thread(target=wait, daemon=True, name="mcptasks-parent").start()


async def _source(spec: StoreSpec, job: Job, pipe: _Pipe) -> tuple[StoreSource, Adapter | None]:
    if spec.kind == "store":
        return load_source(spec.store, spec.arguments, spec.adapter, spec.revision)
    # Imported here: nothing else needs it.
    from mcptasks.conformance.bridge.faults import Hooks
    from mcptasks.conformance.bridge.source import Bridge, open_bridge

    def fault(words: str) -> None:
        pipe({"kind": "failed", "exit_code": 3, "message": words})
        os._exit(0)

    def gone(words: str) -> None:
        pipe({"kind": "gone", "message": words})
        os._exit(0)

    told: set[str] = set()

    def note(words: str) -> None:
        if not told:
            pipe({"kind": "note", "level": "warning", "message": words})
        told.add(words)

    bridge = Bridge(spec.store, Hooks(fault, gone, note), job.settings.timeout)
    return await open_bridge(bridge, spec.revision, again=job.mode == "replay" or bool(job.settings.spent_calls))


async def _work(job: Job, pipe: _Pipe, beat: Beat) -> Campaign | None:
    assert isinstance(job.spec, StoreSpec)
    beat.stage(Stage.IMPORTING)
    source, adapter = await _source(job.spec, job, pipe)
    source.guarded = job.spec.guard == "store"
    source.stage = beat.stage
    source.patience = job.settings.timeout
    source.closes = "close" not in job.settings.avoid
    await source.settle_revision()
    if job.mode == "replay":
        settings = job.settings
        watchdog = Watchdog(beat.words, settings.timeout)
        watchdog.start()
        operations = sequence_from_json(job.operations)
        options = StoreOptions.from_json(job.store_options)
        breach = await replay_once(
            source, operations, options, settle=settings.settle, known=set(settings.known), beat=beat, watchdog=watchdog
        )
        await watchdog.stop()
        found = None if breach is None else {**asdict(breach), "fingerprint": breach.fingerprint}
        pipe({"kind": "replayed", "breach": found})
        return None
    offer = await probe(source, adapter)
    pipe(
        {
            "kind": "probe",
            "features": asdict(offer.features),
            "reasons": dict(offer.reasons),
            "not_applicable": dict(offer.not_applicable),
            "revision": source.revision,
        }
    )
    if job.mode == "probe":
        return None
    return campaign_for(source, job.settings, pipe, beat, offer.features)


def _serve_job(job: Job, pipe: _Pipe, beat: Beat, loop: asyncio.AbstractEventLoop) -> None:
    # What is imported lives as long as the process; looking through it again and again costs a tenth of a run.
    gc.disable()
    # Imported here: a run against a store needs no HTTP client.
    from mcptasks.conformance.runner.server_job import ServerWork

    gc.freeze()
    gc.enable()
    work = ServerWork(job, pipe, beat)
    try:
        campaign = loop.run_until_complete(work.open())
        if campaign is not None:
            campaign.run(loop)
    finally:
        loop.run_until_complete(work.close())


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()


def main(arguments: list[str]) -> int:
    """Do one job; the exit code is 0 when it was done, whatever was found."""
    job_file, beat_file, descriptor, mark = arguments
    pipe = _Pipe(int(descriptor), mark)
    _end_with_parent()
    # The parent takes interrupts; here one would only be mistaken for what the target raises.
    signal.signal(signal.SIGINT, lambda *_: None)
    loop = SturdyLoop()
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(lambda *_: None)  # a target's stray tasks are its own affair
    try:
        job = Job.from_json(json.loads(Path(job_file).read_text()))
        beat = Beat(Path(beat_file))
        if isinstance(job.spec, StoreSpec):
            campaign: Any = loop.run_until_complete(_work(job, pipe, beat))
            if campaign is not None:
                campaign.run(loop)
        else:
            pipe.redact = job.spec.redactor
            _serve_job(job, pipe, beat, loop)
        _flush()
        pipe({"kind": "done"})
    except ConformanceError as error:
        _flush()
        pipe({"kind": "failed", "exit_code": error.exit_code, "message": str(error)})
    except BaseException as error:
        if isinstance(error, OSError) and error.errno == errno.EBADF:
            os._exit(_LOST)
        pipe(
            {
                "kind": "failed",
                "exit_code": 5,
                "message": describe_error(error),
                "traceback": traceback.format_exc(),
            }
        )
    # Not through the interpreter's shutdown: threads or exit handlers of the target could hang it.  The
    # parent, which now has the last message, ends this process and whatever the target started.
    threading.Event().wait(_LINGER)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
