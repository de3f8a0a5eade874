"""What a child process inherits: where modules are found, and where Hypothesis keeps its caches."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcptasks.conformance.profiles import STORAGE_VARIABLE, storage_wanted

__all__ = ["child_environment"]


@contextmanager
def child_environment(path: Sequence[str] = ()) -> Iterator[None]:
    """While it lasts, children started from here find modules as this process does.

    The child's Hypothesis writes its caches to a folder that goes away with the context, unless the
    user has one.

    Args:
        path: entries of ``sys.path`` that a child must have; those of the interpreter it has anyway.
    """
    changes: dict[str, str] = {}
    extra = [entry for entry in path if entry and not _of_interpreter(entry)]
    if extra:
        given = os.environ.get("PYTHONPATH", "")
        known = given.split(os.pathsep) if given else []
        changes["PYTHONPATH"] = os.pathsep.join([*known, *(entry for entry in extra if entry not in known)])
    with tempfile.TemporaryDirectory(prefix="mcptasks-hypothesis-", ignore_cleanup_errors=True) as folder:
        if storage_wanted():
            changes[STORAGE_VARIABLE] = folder
        before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _of_interpreter(entry: str) -> bool:
    """Whether an entry comes with the interpreter or its environment."""
    place = Path(entry)
    return not place.is_absolute() or any(
        place.is_relative_to(prefix) for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix}
    )
