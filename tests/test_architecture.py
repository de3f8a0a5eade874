"""Which part may import which: the rules of ARCHITECTURE.md, held against every import in the tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mcptasks.strategies

ROOT = Path(mcptasks.strategies.__file__).parent.parent

ALLOWED: dict[str, set[str]] = {
    # data of operations and payloads: everything rests on it, it rests on nothing
    "strategies": set(),
    # conformance, from the bottom up
    "conformance.errors": set(),
    "conformance.events": {"strategies"},
    "conformance.catalogue": set(),
    "conformance.adapters": {"strategies"},
    "conformance.profiles": set(),
    "conformance.baseline": {"strategies", "conformance.errors", "conformance.events"},
    "conformance.outcomes": {"conformance.baseline", "conformance.events"},
    "conformance.model": {"strategies"},
    # the harness is started here for a run against the embedded server, in a process of its own
    "conformance.wire": {
        "strategies",
        "conformance.errors",
        "conformance.targets",
        "fixtures.server",
        "fixtures.server_2025",
    },
    "conformance.wire_2025": {"strategies", "conformance.errors", "conformance.wire"},
    # the probe runs the interpreter once; the rest of targets lies below the engine
    "conformance.targets": {
        "strategies",
        "conformance.adapters",
        "conformance.engine",
        "conformance.errors",
        "conformance.model",
    },
    "conformance.engine": {
        "strategies",
        "conformance.catalogue",
        "conformance.errors",
        "conformance.model",
        "conformance.probes",
        "conformance.probes_2025",
        "conformance.targets",
        "conformance.wire",
        "conformance.wire_2025",
    },
    # run by the wire campaign, on the server that it has opened
    "conformance.probes": {
        "strategies",
        "conformance.engine",
        "conformance.errors",
        "conformance.wire",
        "conformance.wire_2025",
    },
    # a process that stands for a store: it is opened as a source of stores is
    "conformance.bridge": {
        "strategies",
        "conformance.adapters",
        "conformance.errors",
        "conformance.targets",
        "conformance.wire",
    },
    "conformance.probes_2025": {
        "strategies",
        "conformance.engine",
        "conformance.errors",
        "conformance.probes",
        "conformance.wire",
        "conformance.wire_2025",
    },
    "conformance.runner": {
        "strategies",
        "conformance.adapters",
        "conformance.baseline",
        "conformance.bridge",
        "conformance.catalogue",
        "conformance.engine",
        "conformance.errors",
        "conformance.events",
        "conformance.model",
        "conformance.outcomes",
        "conformance.profiles",
        "conformance.targets",
        "conformance.wire",
        "conformance.wire_2025",
    },
    # reports know what happened, never how
    "reports": {"strategies", "conformance.events", "conformance.errors"},
    # fixtures are targets: they may use what every implementation has to know, nothing that judges
    "fixtures.bridges": set(),  # copied by others: they stand on their own
    "fixtures.stores": {"strategies"},
    "fixtures.server": {"strategies", "conformance.errors", "conformance.targets", "conformance.wire"},
    "fixtures.server_2025": {
        "strategies",
        "conformance.errors",
        "conformance.targets",
        "conformance.wire",
        "fixtures.server",
    },
    "fixtures.gallery": {
        "strategies",
        "conformance.targets",
        "conformance.wire",
        "fixtures.server",
        "fixtures.server_2025",
        "fixtures.stores",
    },
}
SURFACES = {
    "__init__",
    "api",
    "cli",
    "coverage",
    "pytest_class",
    "pytest_machine",
    "pytest_options",
    "pytest_plugin",
    "server_api",
}
"""Parts of conformance that put the others together; nothing but each other imports them."""

WITHOUT_HYPOTHESIS = {
    "conformance.model",
    "conformance.wire",
    "conformance.wire_2025",
    "conformance.runner",
    "reports",
    "fixtures.stores",
}


def part_of(module: str) -> str:
    """``conformance.engine`` for ``mcptasks.conformance.engine.shrink``; ``strategies`` for all of strategies."""
    names = module.split(".")[1:]
    return ".".join(names[:2]) if names[0] in ("conformance", "fixtures") else names[0]


def sources() -> Iterator[tuple[str, Path]]:
    for folder in ("conformance", "strategies", "fixtures", "reports"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            names = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(("mcptasks", *names)), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports between the parts are absolute"
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_import_is_allowed() -> None:
    wrong = []
    for module, path in sources():
        part = part_of(module)
        if part in ("fixtures.__init__",) or part.removeprefix("conformance.") in SURFACES:
            continue
        for imported in imports(path):
            if imported.startswith("mcptasks.") and part_of(imported) not in {part, *ALLOWED[part]}:
                wrong.append(f"{path.relative_to(ROOT)} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_every_part_has_a_rule() -> None:
    # The bridges are in the source tree alone, not in what is installed.
    parts = {part_of(module) for module, _ in sources()} - {"fixtures.__init__"} | {"fixtures.bridges"}
    assert parts - {f"conformance.{name}" for name in SURFACES} == set(ALLOWED)


@pytest.mark.parametrize("part", sorted(WITHOUT_HYPOTHESIS))
def test_only_drivers_and_strategies_know_hypothesis(part: str) -> None:
    users = [str(path) for module, path in sources() if part_of(module) == part and "hypothesis" in imports(path)]
    assert not users
