"""Errors of the report files: each message is one line that a user can act on."""

from __future__ import annotations

from mcptasks.conformance.errors import UsageError

__all__ = ["EventsError", "ReplayError", "ReportError"]


class ReportError(UsageError):
    """A report cannot be written, or a report directory cannot be used."""


class EventsError(UsageError):
    """A file is no events file, or a line of it is damaged."""


class ReplayError(UsageError):
    """A file is no replay file, or a member of it is wrong."""
