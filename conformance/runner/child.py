"""A child process as the parent sees it: messages, a heartbeat, a deadline, a memory limit.

Whatever a target does, the parent stays responsive: it reads messages with a timeout, kills the
child's whole process group when a call hangs or memory runs away, and says in one line how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psutil

from mcptasks.conformance.engine.beat import CALLS, STAGE, Beat, Position, Stage
from mcptasks.conformance.errors import SuiteError
from mcptasks.conformance.runner.job import Job

__all__ = ["Child", "Ended"]

_POLL: Final = 0.05
_STALLED: Final = 0.5
"""Seconds between two looks above which this process was not running itself: then the child may not have been, either."""
_EXIT: Final = 15.0
"""Seconds until a child whose messages have ended must have exited."""
_LOST: Final = 86
"""Exit code of a child that cannot tell its messages any more."""
_START: Final = 60.0
"""Seconds until a child must have begun: this machine can be slow."""
_OPENING: Final = 12
"""How many times longer than a call importing and opening a target may take."""
_OUTPUT_KEPT: Final = 8192
_MESSAGE_LIMIT: Final = 64 * 1024 * 1024


class Ended:
    """How a child ended when it did not end well."""

    def __init__(self, how: str, words: str) -> None:
        self.at_end = False
        """Whether all operations of a replayed sequence were over by then."""
        self.how = how
        """``hangs``, ``exits``, ``signal`` or ``memory``."""
        self.words = words
        """In words, for a message: ``it called os._exit(3)``."""


class Child:
    """One child process at work on a job.

    Args:
        job: what it is to do.
        memory_limit: resident bytes above which it is killed.
        grace: seconds without a call, beyond the job's timeout, after which it is killed.
    """

    def __init__(self, job: Job, *, memory_limit: int, grace: float = 2.0) -> None:
        self._job = job
        self._memory_limit = memory_limit
        self._patience = job.settings.timeout * 1.25 + grace
        self._folder = tempfile.TemporaryDirectory(prefix="mcptasks-run-")
        folder = Path(self._folder.name)
        (folder / "job.json").write_text(json.dumps(job.to_json()))
        self.beat = Beat(folder / "beat", create=True)
        messages, writer = os.pipe()
        os.set_blocking(messages, False)
        self._messages = messages
        self._buffer = b""
        self._output: deque[bytes] = deque()
        self._output_size = 0
        self._mark = f"mcptasks-{secrets.token_hex(8)} ".encode()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "mcptasks.conformance.runner.worker",
                    str(folder / "job.json"),
                    str(folder / "beat"),
                    str(writer),
                    self._mark.decode(),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(writer,),
                start_new_session=True,
                env=environment,
            )
        finally:
            os.close(writer)
        assert self._process.stdout is not None
        self._stdout = self._process.stdout.fileno()
        os.set_blocking(self._stdout, False)
        self.ended: Ended | None = None

    # --- messages --------------------------------------------------------------------------

    def messages(self) -> Iterator[dict[str, Any] | None]:
        """Messages as they come, ``None`` when there was none for a moment; ends with the child."""
        quiet, before = 0.0, time.monotonic()
        last_seen: tuple[int, ...] = ()
        next_memory = 0.0
        open_pipe = True
        while open_pipe:
            ready, _, _ = select.select([self._messages, self._stdout], [], [], _POLL)
            self._drain_output()
            now = time.monotonic()
            quiet, before = quiet + min(now - before, _STALLED), now
            if self._messages in ready:
                data = self._read()
                if data is None:
                    open_pipe = False
                else:
                    for message in self._split(data):
                        quiet = 0.0
                        if message.get("kind") == "gone":
                            self.ended = Ended("exits", str(message.get("message")))
                            self.kill()
                            return
                        yield message
                        if message.get("kind") in ("done", "failed"):
                            self.kill()
                            return
            seen = self.beat.seen()
            if seen != last_seen:
                last_seen, quiet = seen, 0.0
            patience, told = self._deadline()
            if now >= next_memory or quiet > patience:  # what eats memory may look like what hangs
                next_memory = now + 0.1
                if self._too_big():
                    self.kill()
                    return
            if quiet > patience:
                self.ended = Ended("hangs", f"it was still under way after {told:g} s")
                self.kill()
                return
            yield None
        self._finish()

    def _deadline(self) -> tuple[float, float]:
        """Seconds of silence after which it is killed, and the seconds to tell of: both by what is under way."""
        timeout = self._job.settings.timeout
        stage = self.beat.words[STAGE]
        if stage in (Stage.IMPORTING, Stage.OPENING):
            return max(self._patience, timeout * _OPENING), max(timeout, timeout * _OPENING)
        if stage == Stage.OWN or (stage == Stage.RUNNING and not self.beat.words[CALLS]):
            return max(self._patience, _START), _START
        if stage == Stage.CLOSING:
            return self._patience + timeout, timeout
        return self._patience, timeout

    def _read(self) -> bytes | None:
        try:
            data = os.read(self._messages, 1 << 16)
        except BlockingIOError:
            return b""
        return data or None

    def _split(self, data: bytes) -> list[dict[str, Any]]:
        self._buffer += data
        if len(self._buffer) > _MESSAGE_LIMIT:
            raise SuiteError("a message from the child process is too long")
        *lines, self._buffer = self._buffer.split(b"\n")
        out = []
        for line in lines:
            # A target may write to any descriptor: what is no message is dropped.
            _, marked, text = line.rpartition(self._mark)
            if not marked:
                continue
            with contextlib.suppress(ValueError):
                message = json.loads(text)
                if isinstance(message, dict) and isinstance(message.get("kind"), str):
                    out.append(message)
        return out

    def _drain_output(self) -> None:
        for _ in range(64):
            try:
                data = os.read(self._stdout, 1 << 16)
            except (BlockingIOError, ValueError):
                return
            if not data:
                return
            self._output.append(data)
            self._output_size += len(data)
            while self._output_size - len(self._output[0]) > _OUTPUT_KEPT:
                self._output_size -= len(self._output.popleft())

    @property
    def output(self) -> str:
        """The end of what the target printed, escaped so that it is safe to show."""
        text = b"".join(self._output)[-_OUTPUT_KEPT:].decode("utf-8", "backslashreplace")
        return "".join(
            c if c == "\n" or (c.isascii() and c.isprintable()) else c.encode("unicode_escape").decode() for c in text
        )

    def _too_big(self) -> bool:
        """Whether it has more memory than it may; then that is its end."""
        if self._resident() <= self._memory_limit:
            return False
        self.ended = Ended("memory", f"the process grew above {self._memory_limit // 2**20} MiB of memory")
        return True

    def _resident(self) -> int:
        try:
            process = psutil.Process(self._process.pid)
            total: int = process.memory_info().rss
        except psutil.Error:
            return 0
        return total

    # --- the end ---------------------------------------------------------------------------

    @property
    def position(self) -> Position:
        """What it was doing, by its own counters."""
        return Position(self.beat)

    def _finish(self) -> None:
        end = time.monotonic() + _EXIT
        while self._process.poll() is None:
            self._drain_output()
            if self._too_big():
                break
            if time.monotonic() > end:
                self.ended = Ended("hangs", f"its messages ended, and it did not exit within {_EXIT:g} s")
                break
            time.sleep(_POLL)
        self.kill()
        code = self._process.returncode
        if self.ended is None and code == _LOST:
            self.ended = Ended("exits", "it closed the file descriptors of its process")
        elif self.ended is None and code != 0:
            self.ended = _ended_by(code)
        elif self.ended is None and code == 0:
            self.ended = Ended("exits", "it ended the process with exit code 0")

    def kill(self) -> None:
        """End the child and everything that it started, in whatever session that is by now."""
        started: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            started = psutil.Process(self._process.pid).children(recursive=True)
        for process in started:
            with contextlib.suppress(psutil.Error):
                process.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        self._drain_output()

    def close(self) -> None:
        """Kill what is left and release everything."""
        self.kill()
        with contextlib.suppress(OSError):
            os.close(self._messages)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.beat.close()
        self._folder.cleanup()


def _ended_by(code: int) -> Ended:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return Ended("signal", f"the process was killed by {name}")
    return Ended("exits", f"it ended the process with exit code {code}")
