"""The mapping file: which of a server's own tools completes, fails, asks for input or runs long (contract, section 4).

Example::

    [tools.completes]
    name = "make_report"
    arguments = {pages = 1}

    [tools.asks]
    name = "book_flight"
    arguments = {to = "OSL"}
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.wire.spec import ProfileName

__all__ = ["ROLES", "MappingFile", "profile_named", "read_mapping"]


class _Tool(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    repeatable: bool = False


class _Roles(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    completes: _Tool | None = None
    tool_error: _Tool | None = None
    fails: _Tool | None = None
    asks: _Tool | None = None
    asks_more: _Tool | None = None
    runs_long: _Tool | None = None
    plain: _Tool | None = None


ROLES: Final = tuple(_Roles.model_fields)
"""What a tool can do for a run."""


class MappingFile(BaseModel):
    """What the file says."""

    model_config = ConfigDict(extra="forbid", strict=True)
    tools: _Roles

    def roles(self) -> dict[str, dict[str, Any]]:
        """The tools by role, plain data."""
        return self.tools.model_dump(exclude_none=True)


def read_mapping(path: Path) -> dict[str, dict[str, Any]]:
    """The tools of a mapping file by role: ``{"completes": {"name": …, "arguments": {…}, "repeatable": False}}``.

    Raises:
        UsageError: it cannot be read, is no TOML, or says something that no mapping says.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"--profile {path}: cannot be read: {reason}") from error
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--profile {path}: no TOML: {error}") from error
    try:
        roles = MappingFile.model_validate(value).roles()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        known = (
            f"; the roles are {', '.join(ROLES)}" if first["loc"][:1] == ("tools",) and len(first["loc"]) == 2 else ""
        )
        raise UsageError(f"--profile {path}: {place}: {first['msg']}{known}") from error
    if not set(roles) - {"plain"}:
        raise UsageError(f"--profile {path}: it names no tool that makes a task; 'mcptasks init' writes a first one")
    return roles


def profile_named(named: str | None) -> tuple[ProfileName | None, dict[str, dict[str, Any]]]:
    """The profile of ``--profile``, and what a mapping file says where that is what was named.

    Raises:
        UsageError: the file cannot be used.
    """
    if named is None or not named.endswith(".toml"):
        return cast("ProfileName | None", named), {}  # whether there is such a profile is checked where it is used
    return "mapped", read_mapping(Path(named))
