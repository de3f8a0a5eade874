"""Where the command begins and ends: whatever goes wrong is one line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from mcptasks.conformance.errors import ConformanceError

__all__ = ["main"]

_FAULT: Final = 5
_INTERRUPTED: Final = 130
_USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: without the program's name; by default those of the process.

    Returns:
        The exit code (contract, section 5).
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            # An old code page must not end a run: what it lacks is written as an escape.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return _run(sys.argv[1:] if arguments is None else list(arguments))
    except ConformanceError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        import traceback

        from mcptasks.conformance.runner.fault_log import write_fault_log

        log = write_fault_log(traceback.format_exc())
        _complain(f"a fault of the suite itself: {type(error).__name__}: {error}; details are in {log}")
        return _FAULT


def _run(arguments: list[str]) -> int:
    import typer

    from mcptasks.conformance.cli.app import app

    command = typer.main.get_command(app)
    if not arguments:
        # Not exit code 0: a script that lost its arguments has checked nothing.
        arguments = ["--help"]
        with suppress(SystemExit):
            command.main(arguments, prog_name="mcptasks", standalone_mode=False)
        return _USAGE
    try:
        code = command.main(arguments, prog_name="mcptasks", standalone_mode=False)
    except Exception as error:
        # Typer has its own copy of click's exceptions in some releases, so they are known by what they have.
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            _complain(error.format_message().replace("Value error, ", ""))
            return _USAGE
        if type(error).__name__ == "Abort":
            raise KeyboardInterrupt from error
        raise
    if type(code) is int and code == _INTERRUPTED:
        raise KeyboardInterrupt  # some releases of Typer turn it into an exit without a word; a run says so itself
    return code if isinstance(code, int) else 0


def _complain(text: str) -> None:
    # Imported here: it is needed only when something went wrong.
    from mcptasks.reports.safe_text import visible

    line = visible(" ".join(text.split()))
    with suppress(OSError):
        print(f"mcptasks: {line[:1].lower() + line[1:] if line[1:2].islower() else line}", file=sys.stderr)
