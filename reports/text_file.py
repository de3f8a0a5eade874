"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from mcptasks.reports.errors import ReportError

__all__ = ["write_text"]


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, in place of what was there; missing folders are made.

    An interrupt leaves the old file or the new one, never half of one.

    Raises:
        ReportError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
