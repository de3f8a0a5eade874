"""The child process: opens the target, runs the campaign or a replay, and says what it learns.

Usage: ``python -m mcptasks.conformance.runner.worker JOB BEAT FD``.  Messages go to file descriptor
``FD``, one JSON line each; what the target prints goes elsewhere.  The process ends when its standard input
closes, which is how it notices that its parent is gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.campaign import Campaign, replay_once
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.errors import ConformanceError
from mcptasks.conformance.runner.job import Job, StoreSpec
from mcptasks.conformance.targets.loading import load_source, probe
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import sequence_from_json

__all__ = ["main"]


class _Pipe:
    """Where messages go."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self.redact: Callable[[JSON], JSON] = lambda value: value
        """Keeps secrets out of every message."""

    def __call__(self, message: dict[str, JSON]) -> None:
        data = json.dumps(self.redact(message), ensure_ascii=True).encode() + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]


def _end_with_parent() -> None:
    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(86)

    threading.Thread(target=wait, daemon=True, name="mcptasks-parent").start()


async def _work(job: Job, pipe: _Pipe, beat: Beat) -> Campaign | None:
    assert isinstance(job.spec, StoreSpec)
    source, adapter = load_source(job.spec.store, job.spec.arguments, job.spec.adapter)
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
        }
    )
    if job.mode == "probe":
        return None
    return Campaign(source, job.settings, pipe, beat, offer.features)


def _serve_job(job: Job, pipe: _Pipe, beat: Beat, loop: asyncio.AbstractEventLoop) -> None:
    # Imported here: a run against a store needs no HTTP client.
    from mcptasks.conformance.runner.server_job import ServerWork

    work = ServerWork(job, pipe, beat)
    try:
        campaign = loop.run_until_complete(work.open())
        if campaign is not None:
            campaign.run(loop)
    finally:
        loop.run_until_complete(work.close())


def main(arguments: list[str]) -> int:
    """Do one job; the exit code is 0 when it was done, whatever was found."""
    job_file, beat_file, descriptor = arguments
    pipe = _Pipe(int(descriptor))
    _end_with_parent()
    loop = asyncio.new_event_loop()
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
        pipe({"kind": "done"})
    except ConformanceError as error:
        pipe({"kind": "failed", "exit_code": error.exit_code, "message": str(error)})
    except BaseException as error:
        pipe(
            {
                "kind": "failed",
                "exit_code": 5,
                "message": f"{type(error).__name__}: {error}",
                "traceback": traceback.format_exc(),
            }
        )
    # Not through the interpreter's shutdown: threads or exit handlers of the target could hang it.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
