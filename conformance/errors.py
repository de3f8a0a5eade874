"""Errors that end a run before a verdict, each with one clear line and an exit code of its own."""

from __future__ import annotations

__all__ = ["ConformanceError", "InconclusiveError", "SuiteError", "TargetUnusableError", "UsageError"]


class ConformanceError(Exception):
    """Base of the errors below; ``str()`` is one line that says what is wrong and what to do."""

    exit_code = 5


class UsageError(ConformanceError):
    """The command line, a file or the target's definition is wrong (exit code 2)."""

    exit_code = 2


class TargetUnusableError(ConformanceError):
    """The target is named well but cannot be used: its factory raises, it never answers (exit code 3)."""

    exit_code = 3


class InconclusiveError(ConformanceError):
    """The target works and there is nothing in it to check: a server without tasks (exit code 4)."""

    exit_code = 4


class SuiteError(ConformanceError):
    """A fault of the suite itself (exit code 5)."""

    exit_code = 5
