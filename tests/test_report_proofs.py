"""Replay files and pytest files."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_samples import (
    HOSTILE,
    OPERATIONS,
    STORE,
    assert_harmless,
    finding,
    hostile_run,
)

from mcptasks.reports.assemble import assemble
from mcptasks.reports.errors import ReplayError
from mcptasks.reports.proof_files import PROOF_PATH, slug_of
from mcptasks.reports.pytest_file import pytest_source
from mcptasks.reports.replay_file import read_replay, replay_text
from mcptasks.strategies.operations import Complete, Create, Get, sequence_from_json


def test_slugs_are_file_names_and_unique() -> None:
    prints = [HOSTILE, "", "a" * 500, "a" * 501, "A/b", "a/b", "../../etc", "con", "store.x/y/z"]
    slugs = [slug_of(finding(fingerprint=text), STORE) for text in prints]
    assert len({slug.lower() for slug in slugs}) == len(prints)
    assert all(PROOF_PATH.fullmatch(f"replays/{slug}.json") and len(slug) < 100 for slug in slugs)
    assert slug_of(finding(), STORE) != slug_of(finding(), replace(STORE, revision="2025-11-25"))
    assert slug_of(finding(), STORE) == slug_of(finding(message="other"), STORE)


def test_a_replay_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(replay_text(finding(), STORE, 7), encoding="utf-8")
    replay = read_replay(path)
    assert replay.target == STORE
    assert replay.operations == sequence_from_json(OPERATIONS)
    assert (replay.seed, replay.requirement, replay.store_options) == (7, finding().requirement, {"clock": True})
    assert (replay.expected, replay.actual) == ("status cancelled", "status completed")


def test_a_replay_file_may_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    target = {"kind": "store", "name": "a:b", "revision": "2026-07-28"}
    operations = [
        {"op": "create", "as": "t1"},
        {"op": "complete", "task": "t1", "result": 1},
        {"op": "get", "task": "t1"},
    ]
    path.write_text(json.dumps({"schema": "mcptasks-replay/1", "target": target, "operations": operations, "later": 1}))
    assert read_replay(path).operations == (Create("t1"), Complete("t1", 1), Get("t1"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": None}, 'its "schema" is missing'),
        ({"schema": "mcptasks-replay/2\x1b"}, 'its "schema" is "mcptasks-replay/2'),
        ({"target": 5}, "member 'target' must be an object"),
        ({"target": {"kind": "shop"}}, "target: member 'kind' must be one of store, bridge, server"),
        ({"target": {"kind": "store", "name": "a"}}, "target: member 'revision' must be a string"),
        ({"operations": {}}, "member 'operations' must be an array"),
        ({"operations": [{"op": "create", "as": "t1"}, {"op": "\x1bjump"}]}, r"operations\[1\]: unknown operation"),
        ({"seed": True}, "member 'seed' must be an integer"),
        ({"store_options": []}, "member 'store_options' must be an object"),
    ],
)
def test_a_wrong_replay_file_is_one_clear_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps({**json.loads(replay_text(finding(), STORE, 7)), **change}))
    with pytest.raises(ReplayError, match=message) as caught:
        read_replay(path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"[" * 100_000, b'{"a": \x00}'])
def test_what_is_no_replay_file_at_all(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "replay.json"
    path.write_bytes(content)
    with pytest.raises(ReplayError, match="is no replay file"):
        read_replay(path)
    with pytest.raises(ReplayError, match="cannot read"):
        read_replay(tmp_path / "none.json")


def run_failure_file(source: str, returned: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a generated file with a stand-in for ``check_sequence`` that shows what it got."""
    stand_in = (
        "import json, sys, types\n"
        "module = types.ModuleType('mcptasks.conformance')\n"
        f"def check_sequence(**given):\n    print(json.dumps(given))\n    return {returned}\n"
        "module.check_sequence = check_sequence\n"
        "sys.modules['mcptasks.conformance'] = module\n"
        "space = {}\n"
        "exec(compile(open('test_it.py', encoding='utf-8').read(), 'test_it.py', 'exec'), space)\n"
        "[value() for name, value in space.items() if name.startswith('test_')]\n"
    )
    (cwd / "test_it.py").write_text(source, encoding="utf-8")
    return subprocess.run([sys.executable, "-c", stand_in], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_pytest_file_hands_over_the_finding(tmp_path: Path) -> None:
    source = pytest_source(finding(), STORE)
    done = run_failure_file(source, "[]", tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "store": "shop/tasks.py:Store",
        "operations": OPERATIONS,
        "store_options": {"clock": True},
        "adapter": None,
        "store_args": {"n": 1},
        "requirement": "store.completed.terminal-noop",
    }
    assert '#     3  complete(t1, {"n": 1})' in source
    assert "# store opened with clock" in source
    assert "def test_store_completed_terminal_noop():" in source


def test_the_pytest_file_fails_with_the_explanation(tmp_path: Path) -> None:
    item = "types.SimpleNamespace(requirement='r', message='m', expected='e', actual='a')"
    done = run_failure_file(pytest_source(finding(), STORE), f"[{item}]", tmp_path)
    assert done.returncode == 1
    assert "AssertionError: r: m" in done.stderr
    assert "expected: e" in done.stderr


def test_the_pytest_file_is_valid_python_whatever_it_holds(tmp_path: Path) -> None:
    report = assemble(hostile_run())
    target = report.targets[0]
    shown = replace(
        target.findings[0], operations=[*target.findings[0].operations, {"op": "get", "x": "y" * 2_000_000}]
    )
    source = pytest_source(shown, target.target)
    ast.parse(source)
    assert_harmless(source)
    done = run_failure_file(source, "[]", tmp_path)
    assert done.returncode == 0, done.stderr[-500:]
    given = json.loads(done.stdout)
    assert given["operations"] == shown.operations
    assert given["store"] == HOSTILE
