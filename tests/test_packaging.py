"""Every package of the four folders is in the list that the build goes by."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("conformance", "fixtures", "reports", "strategies")


def test_every_package_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    found = {
        ".".join(("mcptasks", *path.parent.relative_to(ROOT).parts))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if path.relative_to(ROOT).parts[:2] != ("fixtures", "bridges")  # copied out of the source, never imported
    }
    assert found == listed


def test_every_top_folder_is_typed() -> None:
    assert all((ROOT / folder / "py.typed").exists() for folder in FOLDERS)
