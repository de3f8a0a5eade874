"""Starting a server before it is checked, and ending it afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import sys
import time
from collections import deque
from typing import Final

from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.wire.client import WireClient
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.strategies.json_values import text_of

__all__ = ["StartedServer", "start"]

_UP: Final = 30.0
"""Seconds until a started server must answer."""
_URL: Final = re.compile(r"https?://[^\s\"'<>]+")
_LINE: Final = 64 * 1024


class StartedServer:
    """A server process of ours.

    Attributes:
        url: where it listens: as the user named it, or as the process printed it.
    """

    def __init__(self, process: asyncio.subprocess.Process, command: str) -> None:
        self._process = process
        self._command = command
        self._told: deque[str] = deque(maxlen=20)
        self._reader: asyncio.Task[None] | None = None
        self.url = ""

    async def first_url(self) -> str:
        """The first URL that the process prints.

        Raises:
            TargetUnusableError: it ends, or prints none in time.
        """
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_UP):
                while line := await self._process.stdout.readline():
                    text = line.decode("utf-8", "backslashreplace")
                    self._told.append(text)
                    found = _URL.search(text)
                    if found:
                        return found[0].rstrip(".,;)")
        except TimeoutError:
            raise TargetUnusableError(f"--start: {self._short} printed no URL within {_UP:g} s") from None
        except ValueError:
            raise TargetUnusableError(f"--start: {self._short} prints a line without end") from None
        raise TargetUnusableError(f"--start: {self._short} {await self._end()}")

    def drain(self) -> None:
        """Read on, so that a talkative server never waits for us."""
        self._reader = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(_LINE):
            self._told.append(chunk[-500:].decode("utf-8", "backslashreplace"))

    async def wait_until_up(self, spec: ServerSpec) -> None:
        """Wait until something answers at the URL.

        Raises:
            TargetUnusableError: the process ends, or nothing answers in time.
        """
        end = time.monotonic() + _UP
        while True:
            async with WireClient(spec, self.url) as client:
                try:
                    await client.request("server/discover", {}, beyond=True)
                except WireProblem as problem:
                    if problem.kind not in ("unreachable", "closed"):
                        return  # something answers; what it is worth is found out later
                else:
                    return
            if self._process.returncode is not None:
                raise TargetUnusableError(f"--start: {self._short} {await self._end()}")
            if time.monotonic() > end:
                raise TargetUnusableError(
                    f"--start: {self._short}: nothing answers at {client.endpoint} after {_UP:g} s"
                )
            await asyncio.sleep(0.1)

    @property
    def _short(self) -> str:
        return f"'{self._command[:60]}'"

    async def _end(self) -> str:
        code = await self._process.wait()
        told = text_of("".join(self._told)[-200:].strip(), 220)[1:-1]
        return f"ended with exit code {code}" + (f": {told}" if told else "")

    async def stop(self) -> None:
        """End it, gently first."""
        if self._reader is not None:
            self._reader.cancel()
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), 3.0)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self._process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
                await self._process.wait()


async def start(spec: ServerSpec) -> StartedServer | None:
    """Start the server that ``spec`` says how to start, and wait until it answers; ``None`` if it does not say.

    Raises:
        UsageError: the command cannot be run.
        TargetUnusableError: the server does not come up.
    """
    if spec.serve is not None:
        command = [sys.executable, "-m", "mcptasks.conformance.wire.serving", spec.serve, spec.revision]
        shown = f"harness over {spec.serve}"
    elif spec.start is not None:
        shown = spec.start
        try:
            command = shlex.split(spec.start)
        except ValueError as error:
            raise UsageError(f"--start: {error}") from error
        if not command:
            raise UsageError("--start: there is no command")
    else:
        return None
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            limit=_LINE,
        )
    except OSError as error:
        raise UsageError(f"--start: cannot run {command[0]}: {error.strerror or error}") from error
    server = StartedServer(process, shown)
    try:
        server.url = spec.url or await server.first_url()
        server.drain()
        await server.wait_until_up(spec)
    except BaseException:
        await server.stop()
        raise
    return server
