"""Cross-references: every ambiguity, requirement and commit that the catalogue mentions must exist."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from mcptasks.conformance.catalogue.files import CatalogueError
from mcptasks.conformance.catalogue.models import Ambiguity, Requirement, Row, mentioned_ambiguities

__all__ = ["References"]

_FILE_ENDINGS: Final = ("cs", "js", "json", "md", "mdx", "rs", "toml", "ts", "yaml")
_ID: Final = re.compile(r"(?<![\w./-])([a-z][a-z0-9]*)((?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+)(?![\w*])")
_COMMIT: Final = re.compile(r"\(([0-9a-f]{7,40})\)")


class References:
    """What may be mentioned, and the checks that nothing else is.

    Every method raises :class:`CatalogueError` that names file, entry and what does not exist.
    """

    def __init__(self, ids: Collection[str], ambiguities: Collection[str], commits: Collection[str]) -> None:
        """Take the ids of all requirements, those of all ambiguities, and the full hashes of all pinned commits."""
        self._ids = ids
        self._ambiguities = ambiguities
        self._commits = commits
        # Something in free text counts as an id if ids of as many parts begin with its first one, so
        # that ``tasks.md`` (a file), ``tasks.list`` (a capability) and ``tasks.cap.*`` (a group) do not.
        self._families = {(known.partition(".")[0], known.count(".")) for known in ids}

    def check_requirements(self, file: str, entries: Iterable[Requirement]) -> None:
        """Check the texts and sources of the requirements in one file."""
        for entry in entries:
            where = f"{file}: {entry.id}"
            for text in entry.texts:
                self._check_text(text, where)
            for source in entry.source:
                for commit in _COMMIT.findall(source.document):
                    if not any(pinned.startswith(commit) for pinned in self._commits):
                        raise CatalogueError(f"{where}: source is read at {commit}, which is not pinned")

    def check_ambiguities(self, file: str, entries: Iterable[Ambiguity]) -> None:
        """Check the texts of ambiguities."""
        for entry in entries:
            self._check_text(f"{entry.issue}\n{entry.recommended_reading}", f"{file}: {entry.id}")

    def check_tables(self, file: str, tables: Mapping[str, tuple[Row, ...]]) -> None:
        """Check the requirements that rows and cells of state tables name, and what their words mention."""
        for table, rows in tables.items():
            for row in rows:
                self._check_named(row.requirements, f"{file}: {table}, {row.operation}")
                for state, cell in row.cells.items():
                    where = f"{file}: {table}, {row.operation}, {state}"
                    self._check_named(cell.requirements, where)
                    for text in (cell.required, *cell.allowed, cell.reference):
                        self._check_text(text or "", where)

    def _check_named(self, requirements: Iterable[str], where: str) -> None:
        for requirement in requirements:
            if requirement not in self._ids:
                raise CatalogueError(f"{where}: names {requirement}, which does not exist")

    def _check_text(self, text: str, where: str) -> None:
        for ambiguity in mentioned_ambiguities(text):
            if ambiguity not in self._ambiguities:
                raise CatalogueError(f"{where}: mentions {ambiguity}, which does not exist")
        for head, tail in _ID.findall(text):
            known = head + tail in self._ids or tail.rpartition(".")[2] in _FILE_ENDINGS
            if not known and (head, tail.count(".")) in self._families:
                raise CatalogueError(f"{where}: mentions {head}{tail}, which does not exist")
