"""Where the traceback of a fault of the suite itself goes: a file, since the reader's line is one."""

from __future__ import annotations

import sys
import tempfile

__all__ = ["write_fault_log"]


def write_fault_log(trace: str) -> str:
    """Write ``trace`` with the command line to a new file; its path."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="mcptasks-fault-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as file:
        file.write(f"command: {sys.argv}\n\n{trace}\n")
    return file.name
