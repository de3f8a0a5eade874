"""The loaded catalogue: requirements by id, by pattern and by target, state tables, ambiguities.

Files are read when something in them is asked for: a store run reads the store's requirements and
nothing of the wire's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from mcptasks.conformance.catalogue.files import CatalogueError, build, read_yaml
from mcptasks.conformance.catalogue.models import (
    Ambiguity,
    File,
    Manifest,
    Requirement,
    Revision,
    Row,
    WireExample,
    level_rank,
)
from mcptasks.conformance.catalogue.references import References

__all__ = ["Catalogue", "load_catalogue"]

_MANIFEST: Final = "catalogue.yaml"
_AMBIGUITIES: Final = "ambiguities.yaml"
_TABLES: Final = "state_tables.yaml"
_EXAMPLES: Final = "wire_examples.yaml"

_SERVER_REVISIONS: Final[dict[str, Revision]] = {"2026-07-28": "2026-07-28-ext", "2025-11-25": "2025-11-25"}
_STORE_REVISIONS: Final[dict[str, Revision]] = {"2026-07-28": "store-2026-07-28", "2025-11-25": "store-2025-11-25"}


def _entries(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise CatalogueError(f"{where}: must be a list")
    return value


class Catalogue:
    """All requirements, state tables, ambiguities and examples of one version.  Use :func:`load_catalogue`."""

    def __init__(self, folder: Traversable | Path) -> None:
        """Open the catalogue in ``folder``; only its manifest is read.

        Raises:
            CatalogueError: the manifest is missing or broken.
        """
        self._folder = folder
        self._manifest = build(Manifest, read_yaml(folder, _MANIFEST), _MANIFEST)
        self._by_prefix: dict[str, File] = {}
        for file in self._manifest.files:
            for prefix in file.prefixes:
                if prefix in self._by_prefix:
                    raise CatalogueError(f"{_MANIFEST}: prefix '{prefix}' belongs to two files")
                self._by_prefix[prefix] = file
        self._parsed: dict[str, dict[str, Requirement]] = {}

    @property
    def version(self) -> str:
        """Version of the catalogue, ``X.Y``."""
        return self._manifest.version

    @property
    def pins(self) -> Mapping[str, str]:
        """Commit of each repository that the entries were read from, by the name sources use."""
        return MappingProxyType(self._manifest.pins)

    @property
    def general_false_alarms(self) -> tuple[str, ...]:
        """What every check must keep in mind before it accuses."""
        return self._manifest.general_false_alarms

    @cached_property
    def requirements(self) -> Mapping[str, Requirement]:
        """All requirements by id, in the order of the files; reads every file."""
        return MappingProxyType(
            {key: entry for file in self._manifest.files for key, entry in self._file(file).items()}
        )

    @cached_property
    def ambiguities(self) -> Mapping[str, Ambiguity]:
        """Unclear places of the texts by id, with the reading that the suite takes."""
        entries: dict[str, Ambiguity] = {}
        for value in _entries(read_yaml(self._folder, _AMBIGUITIES).get("entries"), f"{_AMBIGUITIES}: entries"):
            entry = build(Ambiguity, value, self._where(_AMBIGUITIES, value, len(entries)))
            if entry.id in entries:
                raise CatalogueError(f"{_AMBIGUITIES}: {entry.id} stands twice")
            entries[entry.id] = entry
        return MappingProxyType(entries)

    @cached_property
    def state_tables(self) -> Mapping[str, tuple[Row, ...]]:
        """Rows by table: ``store-2026-07-28``, ``store-2025-11-25``, ``wire-2026-07-28``, ``wire-2025-11-25``."""
        tables: dict[str, tuple[Row, ...]] = {}
        for name, rows in self._table_file.items():
            if name.startswith(("store-", "wire-")):
                built: dict[str, Row] = {}
                for value in _entries(rows, f"{_TABLES}: {name}"):
                    operation = value.get("operation") if isinstance(value, dict) else None
                    row = build(Row, value, f"{_TABLES}: {name}, {operation or f'row {len(built)}'}")
                    if row.operation in built:
                        raise CatalogueError(f"{_TABLES}: {name}, {row.operation} stands twice")
                    built[row.operation] = row
                tables[name] = tuple(built.values())
            elif name not in ("states", "legal_edges"):
                raise CatalogueError(f"{_TABLES}: unknown member '{name}'")
        return MappingProxyType(tables)

    @cached_property
    def examples(self) -> tuple[WireExample, ...]:
        """Valid messages of both revisions."""
        values = _entries(read_yaml(self._folder, _EXAMPLES).get("examples"), f"{_EXAMPLES}: examples")
        return tuple(build(WireExample, value, f"{_EXAMPLES}: example {index}") for index, value in enumerate(values))

    @cached_property
    def _table_file(self) -> dict[str, object]:
        return read_yaml(self._folder, _TABLES)

    def __contains__(self, requirement: object) -> bool:
        return isinstance(requirement, str) and self.find(requirement) is not None

    def __getitem__(self, requirement: str) -> Requirement:
        """The requirement of that id.

        Raises:
            KeyError: there is none.
        """
        found = self.find(requirement)
        if found is None:
            raise KeyError(requirement)
        return found

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements.values())

    def __len__(self) -> int:
        return len(self.requirements)

    def find(self, requirement: str) -> Requirement | None:
        """The requirement of that id, or None; reads only the file that it would be in."""
        file = self._by_prefix.get(requirement.partition(".")[0])
        return None if file is None else self._file(file).get(requirement)

    def select(
        self,
        pattern: str | Iterable[str] = "*",
        *,
        level: str | None = None,
        revision: str | None = None,
    ) -> tuple[Requirement, ...]:
        """Requirements whose id matches, in the order of the files.

        Args:
            pattern: a shell pattern such as ``store.cancel.*``, or several of which any may match.
            level: ``must``, ``should`` (must and should) or ``may`` (all); none means all.
            revision: the ``revision`` member that entries must have, such as ``store-2026-07-28``.

        Raises:
            ValueError: unknown level.
        """
        patterns = (pattern,) if isinstance(pattern, str) else tuple(pattern)
        rank = 2 if level is None else level_rank(level)
        return tuple(
            entry
            for file in self._manifest.files
            if (revision is None or revision in file.revisions) and self._may_match(file, patterns)
            for entry in self._file(file).values()
            if entry.rank <= rank
            and (revision is None or entry.revision == revision)
            and any(fnmatchcase(entry.id, each) for each in patterns)
        )

    def for_target(self, kind: Literal["store", "bridge", "server"], revision: str) -> tuple[Requirement, ...]:
        """Requirements that bind a kind of target under a protocol revision and can be seen there.

        Args:
            kind: ``store`` and ``bridge`` are bound by the store contract, ``server`` by everything on the wire.
            revision: ``2026-07-28`` or ``2025-11-25``.

        Raises:
            ValueError: unknown revision.
        """
        if revision not in _SERVER_REVISIONS:
            raise ValueError(f"unknown revision {revision!r}; known are {', '.join(_SERVER_REVISIONS)}")
        if kind != "server":
            return tuple(
                entry
                for entry in self.select(revision=_STORE_REVISIONS[revision])
                if entry.observable.at == "store API"
            )
        own = _SERVER_REVISIONS[revision]
        return tuple(
            entry
            for entry in self
            if entry.subject in ("server", "both")
            and entry.observable.at == "wire"
            and (entry.revision in (own, "json-rpc") or (entry.revision == "transport" and entry.protocol == revision))
        )

    def check(self) -> None:
        """Read every file and check every reference.

        Raises:
            CatalogueError: the first fault, naming file and entry.
        """
        references = References(self.requirements, self.ambiguities, self._manifest.pins.values())
        for file in self._manifest.files:
            references.check_requirements(file.name, self._file(file).values())
        references.check_ambiguities(_AMBIGUITIES, self.ambiguities.values())
        references.check_tables(_TABLES, self.state_tables)
        _ = self.examples

    def _may_match(self, file: File, patterns: tuple[str, ...]) -> bool:
        """Whether a file can hold an id that matches; true unless every pattern begins with another file's prefix."""
        for pattern in patterns:
            head = pattern.partition(".")[0]
            if any(mark in head for mark in "*?[") or head in file.prefixes:
                return True
        return False

    @staticmethod
    def _where(file: str, value: object, index: int) -> str:
        key = value.get("id") if isinstance(value, dict) else None
        return f"{file}: {key if isinstance(key, str) else f'entry {index}'}"

    def _file(self, file: File) -> dict[str, Requirement]:
        parsed = self._parsed.get(file.name)
        if parsed is not None:
            return parsed
        document = read_yaml(self._folder, file.name)
        for member in document:
            if member != "requirements":
                raise CatalogueError(f"{file.name}: unknown member '{member}'")
        parsed = {}
        for index, value in enumerate(_entries(document.get("requirements"), f"{file.name}: requirements")):
            where = self._where(file.name, value, index)
            entry = build(Requirement, value, where)
            if entry.id in parsed:
                raise CatalogueError(f"{where} stands twice")
            # The prefix decides in which file an id is looked for, so an id elsewhere could never be found.
            if entry.id.partition(".")[0] not in file.prefixes:
                raise CatalogueError(f"{where}: begins with none of {', '.join(file.prefixes)}")
            if entry.revision not in file.revisions:
                raise CatalogueError(f"{where}: revision '{entry.revision}' does not belong in this file")
            parsed[entry.id] = entry
        self._parsed[file.name] = parsed
        return parsed


@cache
def load_catalogue() -> Catalogue:
    """The catalogue that comes with the package; the same object every time.

    Raises:
        CatalogueError: the installation is broken.
    """
    return Catalogue(files("mcptasks.conformance.catalogue").joinpath("data"))
