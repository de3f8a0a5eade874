"""The baseline: failures that a project knows of and has a reason to live with.

A YAML file ``requirements: {id: {reason, issue?, expires?, fingerprints?, flaky?}}`` (contract,
section 5).  It is read strictly, since a mistyped entry would either hide a failure or expect nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StringConstraints, ValidationError

from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.events import Finding, RequirementResult
from mcptasks.strategies.json_values import text_of

__all__ = ["Baseline", "BaselineError", "Enforcement", "Entry", "enforce", "parse_baseline", "read_baseline"]


class BaselineError(UsageError):
    """The baseline cannot be used; the message is one line that names file, line and entry."""


def _day(value: object) -> date:
    # A number would otherwise count as seconds since 1970.
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError as error:
        raise ValueError(f"must be a date such as 2026-12-31, not {text_of(value)}") from error


def _reference(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]


class Entry(BaseModel):
    """What the baseline says on one requirement."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: _Text
    """Why the failure is accepted."""
    issue: Annotated[_Text | None, BeforeValidator(_reference)] = None
    """Where it is being dealt with: an address or a number."""
    expires: Annotated[date, BeforeValidator(_day)] | None = None
    """The last day (UTC) on which the entry holds."""
    fingerprints: Annotated[tuple[_Text, ...], Field(min_length=1)] | None = None
    """If given, only findings with these fingerprints are expected."""
    flaky: StrictBool = False
    """The requirement fails in some runs only: a pass does not make the entry stale."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Entries by the id of their requirement."""

    entries: Mapping[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What a baseline says on the results of one target."""

    expected: tuple[str, ...]
    """Ids of the requirements whose breach is expected, every finding of it included."""
    problems: tuple[str, ...]
    """Stale and expired entries, one line each."""


def enforce(
    baseline: Baseline,
    results: Iterable[RequirementResult],
    findings: Sequence[Finding],
    today: date,
    complete: bool = True,
) -> Enforcement:
    """Hold the results of a target against ``baseline``.

    Args:
        findings: those that count; an entry that names fingerprints expects no other.
        today: the day (UTC) on which an entry may have expired.
        complete: whether the run came to its end; a requirement that merely has not failed *yet*
            makes no entry stale.
    """
    by_id = {result.id: result for result in results}
    expected: list[str] = []
    problems: list[str] = []
    for id_, entry in baseline.entries.items():
        result = by_id.get(id_)
        if entry.expires is not None and entry.expires < today:
            problems.append(f"{id_}: the entry expired on {entry.expires}")
        elif result is None:
            continue
        elif result.verdict in ("fail", "warn"):
            if _covers(entry, [finding for finding in findings if finding.requirement == id_]):
                expected.append(id_)
        elif result.verdict == "pass" and complete and not entry.flaky:
            problems.append(f"{id_}: the entry is stale, the requirement passed; remove it")
    return Enforcement(tuple(expected), tuple(problems))


def _covers(entry: Entry, findings: Sequence[Finding]) -> bool:
    if entry.fingerprints is None:
        return True
    # A failure that has no finding to show cannot be told from a new one.
    return bool(findings) and all(finding.fingerprint in entry.fingerprints for finding in findings)


def read_baseline(path: Path, catalogue: Collection[str]) -> Baseline:
    """The baseline in the file at ``path``; ``catalogue`` holds all ids that an entry may have.

    Raises:
        BaselineError: the file cannot be read, is not YAML, or an entry is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BaselineError(f"cannot read the baseline {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BaselineError(f"cannot read the baseline {path}: it is not UTF-8") from error
    return parse_baseline(text, catalogue, str(path))


def parse_baseline(text: str, catalogue: Collection[str], source: str = "baseline") -> Baseline:
    """The baseline in ``text``; messages call it ``source``.

    Raises:
        BaselineError: the text is not YAML, or an entry is wrong.
    """
    node, value = _yaml(text, source)
    lines = _Lines(node, source)
    if not isinstance(value, dict) or "requirements" not in value:
        raise BaselineError(f"{source}: a baseline has one member, 'requirements'")
    for member in value:
        if member != "requirements":
            raise BaselineError(f"{lines.at(member)}: unknown member {str(member)!r}, only 'requirements' is known")
    requirements = {} if value["requirements"] is None else value["requirements"]
    if not isinstance(requirements, dict):
        raise BaselineError(f"{lines.at('requirements')}: 'requirements' must map ids to entries")
    return Baseline({str(id_): _entry(id_, members, catalogue, lines) for id_, members in requirements.items()})


def _entry(id_: object, members: object, catalogue: Collection[str], lines: _Lines) -> Entry:
    if not isinstance(id_, str) or id_ not in catalogue:
        near = difflib.get_close_matches(str(id_), list(catalogue), n=1)
        hint = f", did you mean '{near[0]}'?" if near else ""
        raise BaselineError(f"{lines.at('requirements', id_)}: no requirement has the id {str(id_)!r}{hint}")
    if not isinstance(members, dict):
        raise BaselineError(f"{lines.at('requirements', id_)}: {id_}: an entry maps 'reason' and more to values")
    try:
        entry = Entry.model_validate(members)
    except ValidationError as error:
        first = error.errors()[0]
        member = first["loc"][0] if first["loc"] else ""
        where = lines.at("requirements", id_, member)
        raise BaselineError(f"{where}: {id_}: {_complaint(member, first['type'], first['msg'])}") from error
    for fingerprint in entry.fingerprints or ():
        if not fingerprint.startswith(f"{id_}/"):
            where = lines.at("requirements", id_, "fingerprints")
            raise BaselineError(f"{where}: {id_}: a fingerprint begins with '{id_}/', this does not: {fingerprint!r}")
    return entry


def _complaint(member: object, kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return f"unknown member {str(member)!r}; known are {', '.join(Entry.model_fields)}"
    if kind == "missing":
        return f"lacks member {str(member)!r}"
    return f"member {str(member)!r}: {message.removeprefix('Value error, ')}"


class _Loader(yaml.SafeLoader):
    """Safe, and leaves dates as text: a wrong one is then reported with its entry."""


def _as_written(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_written)


def _yaml(text: str, source: str) -> tuple[yaml.Node | None, Any]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        _reject_duplicates(node, source)
        return node, yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = source if mark is None else f"{source}:{mark.line + 1}"
        raise BaselineError(f"{where}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise BaselineError(f"{source}: not YAML: {str(error).splitlines()[0]}") from error
    except ValueError as error:
        # What the loader makes of a number with thousands of digits.
        raise BaselineError(f"{source}: a value in it is wrong: {error}") from error
    except RecursionError as error:
        raise BaselineError(f"{source}: nests too deep") from error


def _reject_duplicates(node: yaml.Node | None, source: str) -> None:
    # The loader would keep the last of two entries and drop the other without a word.
    for mapping in _mappings(node):
        seen: set[str] = set()
        for key, _ in mapping.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise BaselineError(f"{source}:{key.start_mark.line + 1}: {key.value!r} stands here a second time")
                seen.add(key.value)


def _mappings(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value)


class _Lines:
    """Where in the file a member stands."""

    def __init__(self, node: yaml.Node | None, source: str) -> None:
        self._node = node
        self._source = source

    def at(self, *path: object) -> str:
        """``file:line`` of the member to which ``path`` leads, or of the nearest above it."""
        node, line = self._node, 1
        for member in path:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = next(((key, value) for key, value in node.value if key.value == str(member)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return f"{self._source}:{line}"
