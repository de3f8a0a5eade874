"""What the documents say is so: their commands exist, their links lead somewhere, their code does what is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click import unstyle
from typer.testing import CliRunner

from mcptasks.conformance import check_store
from mcptasks.conformance.baseline import parse_baseline
from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.cli.app import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs/guides/check-a-python-store.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", document.read_text(encoding="utf-8"))
    missing = [link for link in links if not (document.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_requirements_that_are_named_exist(document: Path) -> None:
    known = load_catalogue().requirements
    named = re.findall(r"`(store25?\.[a-z-]+\.[a-z-]+)[`/]", document.read_text(encoding="utf-8"))
    assert not [name for name in named if name not in known]


def test_options_in_the_readme_exist() -> None:
    told = unstyle(CliRunner().invoke(app, ["run", "--help"], terminal_width=200).output)
    section = README[README.index("## Options of") : README.index("## In CI")]
    options = {option for option in re.findall(r"`(--[a-z-]+)", section) if not option.startswith("--mcptasks")}
    assert options
    assert not [option for option in options if f"{option} " not in told]


def test_the_options_of_pytest_in_the_readme_exist(request: pytest.FixtureRequest) -> None:
    for name in re.findall(r"`--(mcptasks-[a-z-]+)`", README):
        assert request.config.getoption(f"--{name}", "missing") != "missing", name


def test_baselines_in_documents_can_be_read() -> None:
    found = [block for text in (README, GUIDE) for block in blocks(text, "yaml")]
    assert len(found) == 2
    for block in found:
        assert parse_baseline(block, load_catalogue().requirements).entries


def test_the_store_of_the_guide_has_the_fault_that_it_tells_of(tmp_path: Path) -> None:
    source = next(block for block in blocks(GUIDE, "python") if block.startswith("import copy"))
    (tmp_path / "jobs.py").write_text(source)
    report = check_store(f"{tmp_path}/jobs.py:JobStore", budget="15k")
    assert {finding.fingerprint for finding in report.findings} == set(re.findall(r"- (store\.\S+/\S+)", GUIDE))
    fixed = '        if task and task["status"] not in ENDED:\n'
    assert f"```python\n{fixed}```" in GUIDE
    (tmp_path / "jobs.py").write_text(source.replace('        if task and task["status"] != "completed":\n', fixed))
    assert check_store(f"{tmp_path}/jobs.py:JobStore", budget="15k").conformant


def test_the_excerpt_in_the_readme_is_what_a_run_says() -> None:
    report = check_store("mcptasks.fixtures.gallery.terminal:CompleteOverwritesCancelled", budget="5k")
    excerpt = next(block for block in blocks(README, "text"))
    told = [line for line in excerpt.splitlines() if not line.startswith("    replay")]
    assert "\n".join(told) in str(report)
