"""A server as a child process that talks over its standard streams."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections import deque
from typing import Any, Final

from mcptasks.conformance.errors import UsageError
from mcptasks.strategies.json_values import text_of

__all__ = ["StdioProcess", "shown_command", "split_command"]

_CHUNK: Final = 64 * 1024
_TOLD: Final = 20
_LAST_WORDS_S: Final = 0.3
"""Seconds in which a process whose output has ended is expected to end too."""
_GENTLY_S: Final = 3.0
"""Seconds that each step of ending it is given."""
_TERM_S: Final = 0.5
"""Seconds that it has at least to end when it is terminated."""


def split_command(command: str, option: str = "--command") -> list[str]:
    """The words of a command line, without a shell; ``option`` is what it was given with.

    Raises:
        UsageError: there are none, or quotes are open.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
    if not words:
        raise UsageError(f"{option}: there is no command")
    return words


def shown_command(command: str) -> str:
    """A command as messages name it."""
    return f"'{command[:60]}'" if len(command) <= 60 else f"'{command[:57]}...'"


class StdioProcess:
    """The child.

    Args:
        process: as started by :meth:`start`.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._told: deque[str] = deque(maxlen=_TOLD)
        self._drain = asyncio.ensure_future(self._read_stderr())

    @classmethod
    async def start(cls, command: str, option: str = "--command") -> StdioProcess:
        """Start it; ``option`` is what the command was given with.

        Raises:
            UsageError: the command cannot be run.
        """
        words = split_command(command, option)
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                limit=_CHUNK,
            )
        except OSError as error:
            shown = text_of(words[0], 60)[1:-1]
            raise UsageError(f"{option}: cannot run {shown}: {error.strerror or error}") from error
        return cls(process)

    @property
    def logged(self) -> bool:
        """Whether it has written to its standard error."""
        return bool(self._told)

    @property
    def returncode(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._process.returncode

    async def read(self) -> bytes:
        """The next bytes of its standard output; empty at its end."""
        with contextlib.suppress(OSError):
            return await self._stdout.read(_CHUNK)
        return b""

    async def write(self, line: bytes) -> None:
        """Write a line to its standard input.

        Raises:
            OSError: it does not read any more.
        """
        self._stdin.write(line + b"\n")
        await self._stdin.drain()

    def write_at_once(self, line: bytes) -> None:
        """Write a line as far as that goes, for when nobody can wait."""
        with contextlib.suppress(OSError, RuntimeError):
            if not self._stdin.is_closing():
                self._stdin.write(line + b"\n")

    async def fate(self) -> str:
        """What became of it, as a clause about the server, once its output has ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LAST_WORDS_S)
            await asyncio.wait_for(asyncio.shield(self._drain), _LAST_WORDS_S)
        code = self._process.returncode
        if code is None:
            what = "has closed its standard output"
        elif code < 0:
            what = f"was ended by signal {-code}"
        else:
            what = f"has ended with exit code {code}"
        lines = [line for line in "".join(self._told)[-2000:].splitlines() if line.strip()]
        last = text_of(" | ".join(line.strip() for line in lines[-3:])[-200:], 220)[1:-1]
        return what + (f": {last}" if last else "")

    async def _read_stderr(self) -> None:
        with contextlib.suppress(OSError):
            while chunk := await self._stderr.read(_CHUNK):
                self._told.append(chunk[-1000:].decode("utf-8", "backslashreplace"))

    async def close_input(self, seconds: float) -> bool:
        """Close its standard input; whether it ends within that time."""
        with contextlib.suppress(OSError, RuntimeError):
            self._stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), seconds)
        return self._process.returncode is not None

    async def stop(self, gently: float = _GENTLY_S) -> None:
        """End it: close its input, wait, terminate, kill (stdio transport, "Shutdown")."""
        if not await self.close_input(gently):
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), max(gently, _TERM_S))
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self._process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
                await self._process.wait()
        await asyncio.wait((self._drain,), timeout=0.1)
        self._drain.cancel()
        # A process that it has started may hold its streams open; asyncio has no public way to close them from here.
        transport: Any = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
