"""What an entry of the catalogue is: frozen, strictly typed models; unknown members and values are errors."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

__all__ = [
    "NEEDS",
    "Ambiguity",
    "Basis",
    "Cell",
    "File",
    "Level",
    "Manifest",
    "Need",
    "Observable",
    "Requirement",
    "Revision",
    "Row",
    "Source",
    "State",
    "Subject",
    "Test",
    "VerdictRule",
    "WireExample",
    "level_rank",
    "mentioned_ambiguities",
]

Level = Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"]
Basis = Literal["text", "schema", "docs", "tests", "derived"]
Subject = Literal["server", "client", "store", "both"]
VerdictRule = Literal["fail", "warn", "accept", "none"]
Revision = Literal["2026-07-28-ext", "2025-11-25", "store-2026-07-28", "store-2025-11-25", "transport", "json-rpc"]
State = Literal["absent", "working", "input_required", "completed", "failed", "cancelled", "expired"]
Place = Literal["store API", "wire", "client", "not observable"]

Need = Literal[
    "abort",
    "clock",
    "client",
    "concurrency",
    "dual-era",
    "events",
    "fixture",
    "in-process",
    "input",
    "listen",
    "peer",
    "polling",
    "pages",
    "restart",
    "second-caller",
    "second-instance",
    "stdio",
    "ttl",
    "wait",
    "wire",
]

NEEDS: Final[dict[Need, str]] = {
    "abort": "a call that can be cancelled while it runs (async def)",
    "clock": "an injected clock (factory keyword 'clock')",
    "client": "a client under test; this suite checks stores and servers",
    "concurrency": "calls that overlap (the concurrent driver)",
    "dual-era": "a server that speaks both revisions",
    "events": "a way to listen (on_input_response; 2025-11-25: on_status_change)",
    "fixture": "a tool or fault that the target's operator offers for it",
    "in-process": "a target whose records the suite holds as objects, not as copies over a bridge or wire",
    "input": "input requests (set_input_requests, resolve_input_requests)",
    "listen": "status notifications (subscriptions/listen; 2025-11-25: notifications/tasks/status)",
    "peer": "a second replica of the same deployment (--peer-url)",
    "polling": "a store that polls on the requestor's side, which the store protocol does not have",
    "pages": "a page size (factory keyword 'page_size')",
    "restart": "a way to restart the target on its data (--restart-command)",
    "second-caller": "a second caller's credentials (--other-header)",
    "second-instance": "a second instance on the same data (factory keyword 'location')",
    "stdio": "a server over stdio (--command)",
    "ttl": "a chosen time to live (factory keyword 'default_ttl_ms'; 2025-11-25: option 'ttl')",
    "wait": "a way to wait for a result (wait_for_task_result; over the wire tasks/result)",
    "wire": "a server",
}
"""What each need asks for, as a phrase that fits behind "needs "."""

_RANKS: Final[dict[str, int]] = {"MUST": 0, "MUST NOT": 0, "SHOULD": 1, "SHOULD NOT": 1, "MAY": 2}
_AMBIGUITY = re.compile(r"\b(?:STORE-AMB|AMB|CON|DIFF)-\d+\b")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")

_Text = Annotated[str, Field(min_length=1)]
_Words = Annotated[tuple[_Text, ...], BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)]
_NeedList = Annotated[
    tuple[Need, ...], BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
]


def level_rank(level: str) -> int:
    """0 for must, 1 for should, 2 for may; takes ``MUST NOT`` and ``must`` alike.

    Raises:
        ValueError: no such level.
    """
    rank = _RANKS.get(level.upper())
    if rank is None:
        raise ValueError(f"unknown level {level!r}; known are must, should and may")
    return rank


def mentioned_ambiguities(text: str) -> tuple[str, ...]:
    """Ids of ambiguities that a text mentions, in order, each once."""
    return tuple(dict.fromkeys(_AMBIGUITY.findall(text)))


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Source(_Model):
    """Where an obligation is written."""

    document: _Text
    section: _Text

    def __str__(self) -> str:
        return f"{self.document}, {self.section}"

    @property
    def revisions(self) -> frozenset[str]:
        """The protocol revisions that the document is of; none if it names none."""
        return frozenset([*_DATE.findall(self.document), *(["2026-07-28"] if "ext-tasks" in self.document else ())])


class Observable(_Model):
    """Where a breach can be seen; ``why`` says why it cannot."""

    at: Place
    why: _Text | None = None

    @model_validator(mode="after")
    def _why_only_if_not(self) -> Observable:
        if (self.at == "not observable") != (self.why is not None):
            raise ValueError("'why' belongs to 'not observable' and only there")
        return self


class Test(_Model):
    """How a breach is shown, in words."""

    __test__ = False  # not a pytest class

    operations: _Text
    expect: _Text
    false_alarms: _Text | None = None


class Requirement(_Model):
    """One obligation.  ``docs/catalogue.md`` explains every member."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(\.[a-z0-9]+(-[a-z0-9]+)*)+$")]
    revision: Revision
    area: _Text
    level: Level
    basis: Basis
    subject: Subject
    statement: _Text
    source: Annotated[tuple[Source, ...], Field(min_length=1), BeforeValidator(lambda value: tuple(value))]
    observable: Observable
    verdict: VerdictRule
    """What a breach counts as: ``accept`` means every choice is lawful, ``none`` that nobody can see it."""
    needs: _NeedList
    """What a driver or target must offer before any of it can be observed, beyond one caller's plain sequence."""
    more_with: _NeedList = ()
    """What lets a further part of it be observed; without it the rest still counts."""
    since: Annotated[str, Field(pattern=r"^\d+\.\d+$")] = "0.1"
    """Catalogue version that brought it."""
    test: Test | None = None
    protocol: Literal["2026-07-28", "2025-11-25"] | None = None
    """Only in transport entries: the protocol version that the entry applies to."""
    notes: _Text | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Requirement:
        if self.level == "MAY" and self.verdict not in ("accept", "none"):
            raise ValueError(f"a MAY cannot be breached, but its verdict is '{self.verdict}'")
        if (self.observable.at == "not observable") != (self.verdict == "none"):
            raise ValueError("verdict 'none' belongs to 'not observable' and only there")
        if (self.protocol is not None) != (self.revision == "transport"):
            raise ValueError("'protocol' belongs to revision 'transport' and only there")
        for members, name in ((self.needs, "needs"), (self.more_with, "more_with")):
            if len(set(members)) != len(members):
                raise ValueError(f"'{name}' repeats a value")
        if set(self.needs) & set(self.more_with):
            raise ValueError("a value stands in both 'needs' and 'more_with'")
        for at, need in (("client", "client"), ("wire", "wire")):
            if self.observable.at == at and need not in self.needs:
                raise ValueError(f"is observable at '{at}' but does not need '{need}'")
        return self

    @property
    def rank(self) -> int:
        """0 for MUST and MUST NOT, 1 for SHOULD and SHOULD NOT, 2 for MAY."""
        return _RANKS[self.level]

    @property
    def section(self) -> str:
        """The first source as one string: ``document, section``."""
        return str(self.source[0])

    def section_in(self, revision: str) -> str:
        """The source to cite to a target of a protocol revision, as one string: ``document, section``.

        Args:
            revision: such as ``2025-11-25``.  The first source is cited unless it is of another revision; then it is
                the first one of this revision, or of none.
        """
        first = self.source[0]
        if not first.revisions or revision in first.revisions:
            return str(first)
        own = [item for item in self.source if revision in item.revisions]
        undated = [item for item in self.source if not item.revisions]
        return str([*own, *undated, first][0])

    @property
    def texts(self) -> tuple[str, ...]:
        """All free text of the entry, in which ambiguities and other entries may be mentioned."""
        test = self.test
        parts = (self.statement, self.notes) + ((test.operations, test.expect, test.false_alarms) if test else ())
        return tuple(part for part in parts if part)

    @property
    def ambiguities(self) -> tuple[str, ...]:
        """Ids of the ambiguities that the entry mentions."""
        return mentioned_ambiguities("\n".join(self.texts))

    def missing(self, offered: frozenset[Need] | set[Need]) -> tuple[Need, ...]:
        """Needs that ``offered`` lacks, in the entry's order: empty if the requirement can be exercised."""
        return tuple(need for need in self.needs if need not in offered)


class Cell(_Model):
    """What an operation may do to a task in a state.

    Attributes:
        required: what must hold, in words.
        allowed: any of these is lawful.
        open: whether the contract leaves something open here.
        reference: what the SDK's in-memory store does, as read from its source.
        requirements: entries that a breach of this cell is charged to.
    """

    required: _Text | None = None
    allowed: _Words = ()
    open: bool
    reference: _Text | None = None
    requirements: _Words = ()

    @model_validator(mode="after")
    def _says_something(self) -> Cell:
        if self.required is None and not self.allowed:
            raise ValueError("has neither 'required' nor 'allowed'")
        return self


class Row(_Model):
    """One operation of a state table: its cell for each state."""

    operation: _Text
    cells: dict[State, Cell]
    requirements: _Words = ()
    """Entries that a breach of any cell of the row is charged to, where cells do not name their own."""


class Ambiguity(_Model):
    """A place where the texts are unclear or at odds, and how the suite reads it."""

    id: Annotated[str, Field(pattern=r"^(STORE-AMB|AMB|CON|DIFF)-\d+$")]
    kind: Literal["contradiction", "ext-vs-sep", "ambiguity"]
    issue: _Text
    where: _Text
    recommended_reading: _Text


class WireExample(_Model):
    """A message that is valid by a named schema definition."""

    name: _Text
    validated_against: _Text
    json_text: Annotated[_Text, Field(alias="json")]
    http_request_headers: dict[str, str] = {}
    http_status: int | None = None
    required_members: _Words = ()
    optional_members: _Words = ()
    notes: _Text | None = None


class File(_Model):
    """One file of requirements: which ids are in it, by their first part."""

    name: _Text
    prefixes: Annotated[tuple[_Text, ...], Field(min_length=1), BeforeValidator(lambda value: tuple(value))]
    revisions: Annotated[tuple[Revision, ...], Field(min_length=1), BeforeValidator(lambda value: tuple(value))]


class Manifest(_Model):
    """``catalogue.yaml``: version, sources and files."""

    version: Annotated[str, Field(pattern=r"^\d+\.\d+$")]
    pins: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]]
    """Commit of each repository that the entries were read from."""
    general_false_alarms: _Words
    files: Annotated[tuple[File, ...], Field(min_length=1), BeforeValidator(lambda value: tuple(value))]


assert set(NEEDS) == set(get_args(Need))
