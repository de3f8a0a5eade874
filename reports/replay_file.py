"""Replay files: a finding's sequence with all that is needed to run it again.

The form is part of the external contract: a file written by one version is read by later ones, so
members that are not known are ignored and all but the first three may be missing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, cast, get_args, get_type_hints

from mcptasks.conformance.events import Finding, TargetInfo
from mcptasks.reports.errors import ReplayError
from mcptasks.reports.json_text import json_text
from mcptasks.reports.safe_text import visible
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Operation, OperationError, sequence_from_json

__all__ = ["REPLAY_SCHEMA", "Replay", "read_replay", "replay_text"]

REPLAY_SCHEMA: Final = "mcptasks-replay/1"


@dataclass(frozen=True, slots=True)
class Replay:
    """A sequence to run again, and what it showed when it was found."""

    target: TargetInfo
    operations: tuple[Operation, ...]
    requirement: str = ""
    fingerprint: str = ""
    seed: int = 0
    store_options: dict[str, JSON] = field(default_factory=dict)
    expected: str = ""
    actual: str = ""


def replay_text(finding: Finding, target: TargetInfo, seed: int) -> str:
    """The text of the replay file of ``finding``."""
    return (
        json_text(
            {
                "schema": REPLAY_SCHEMA,
                "target": asdict(target),
                "operations": finding.operations,
                "requirement": finding.requirement,
                "fingerprint": finding.fingerprint,
                "seed": seed,
                "store_options": finding.store_options,
                "expected": finding.expected,
                "actual": finding.actual,
            },
            indent=1,
        )
        + "\n"
    )


def read_replay(path: Path) -> Replay:
    """The replay file at ``path``.

    Raises:
        ReplayError: the file cannot be read, is no replay file, or a member of it is wrong.
    """
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ReplayError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"{path} is no replay file: {visible(error, 200)}") from error
    if not isinstance(value, dict):
        raise ReplayError(f"{path} is no replay file: it must hold a JSON object")
    schema = value.get("schema")
    if schema != REPLAY_SCHEMA:
        found = "is missing" if schema is None else f"is {visible(json_text(schema), 60)}"
        raise ReplayError(f'{path} is no replay file: its "schema" {found}, it must be "{REPLAY_SCHEMA}"')
    try:
        return Replay(
            target=_target(_member(value, "target", dict)),
            operations=sequence_from_json(_member(value, "operations", list)),
            requirement=_member(value, "requirement", str, ""),
            fingerprint=_member(value, "fingerprint", str, ""),
            seed=_member(value, "seed", int, 0),
            store_options=_member(value, "store_options", dict, {}),
            expected=_member(value, "expected", str, ""),
            actual=_member(value, "actual", str, ""),
        )
    except (OperationError, _MemberError) as error:
        raise ReplayError(f"{path}: {visible(error, 300)}") from error


class _MemberError(ValueError):
    """A member is missing or of the wrong type."""


_KINDS: Final[dict[type[Any], str]] = {dict: "an object", list: "an array", str: "a string", int: "an integer"}
_TARGET_KINDS: Final = get_args(get_type_hints(TargetInfo)["kind"])


def _member(value: dict[str, JSON], name: str, kind: type[Any], default: JSON = None) -> Any:
    found = value.get(name, default)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise _MemberError(f"member '{name}' must be {_KINDS[kind]}")
    return found


def _target(value: dict[str, JSON]) -> TargetInfo:
    try:
        kind = _member(value, "kind", str)
        if kind not in _TARGET_KINDS:
            raise _MemberError(f"member 'kind' must be one of {', '.join(_TARGET_KINDS)}")
        return TargetInfo(
            kind=cast("Any", kind),
            name=_member(value, "name", str),
            revision=_member(value, "revision", str),
            options=_member(value, "options", dict, {}),
        )
    except _MemberError as error:
        raise _MemberError(f"target: {error}") from error
