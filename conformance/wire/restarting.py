"""Restarting a server with the command that the user gave for it."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Callable
from typing import Final

from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.strategies.json_values import text_of

__all__ = ["LONGEST_S", "restart"]

LONGEST_S: Final = 120.0
"""Seconds that the command may take until the server is up again."""
_STEP_S: Final = 0.1


async def restart(command: str, sleep: Callable[[float], Awaitable[None]]) -> None:
    """Run a command that kills a server hard, starts it on the same data, and returns when it is up.

    Args:
        command: as the user wrote it, without a shell.
        sleep: waits some seconds, and tells whoever watches that all is well.

    Raises:
        UsageError: it cannot be run.
        TargetUnusableError: it fails, or takes longer than :data:`LONGEST_S`.
    """
    shown = f"--restart-command: '{command[:60]}'"
    try:
        words = shlex.split(command)
        if not words:
            raise UsageError("--restart-command: there is no command")
        # Its output goes nowhere: a server that it leaves behind would keep a pipe open.
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except ValueError as error:
        raise UsageError(f"--restart-command: {error}") from error
    except OSError as error:
        raise UsageError(f"--restart-command: cannot run {text_of(words[0], 60)}: {error.strerror or error}") from error
    waited = 0.0
    while process.returncode is None and waited < LONGEST_S:
        await sleep(_STEP_S)
        waited += _STEP_S
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise TargetUnusableError(f"{shown} was not through after {LONGEST_S:g} s")
    if process.returncode:
        raise TargetUnusableError(f"{shown} ended with exit code {process.returncode}")
