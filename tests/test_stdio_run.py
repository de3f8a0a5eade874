"""Whole runs over stdio: in their child process, with reports, replays and the command line."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from mcptasks.conformance import check_server
from mcptasks.conformance.cli import main
from mcptasks.fixtures.gallery.stdio_entry import command_of

REFERENCE = shlex.join([sys.executable, "-m", "mcptasks.conformance.cli", "serve", "--stdio"])
DIES = """
import os
from mcptasks.fixtures.server import StdioServer, serve_stdio
from mcptasks.fixtures.stores import MemoryTaskStore

class Dies(StdioServer):
    count = 0

    async def send(self, text):
        self.count += 1
        if self.count > 40:
            os.write(2, b"no memory left\\n")
            os._exit(7)
        await super().send(text)

serve_stdio(MemoryTaskStore, make_stdio=Dies)
"""


def test_the_reference_server_passes_over_stdio() -> None:
    report = check_server(command=REFERENCE, budget=300)
    assert report.conformant, report
    verdicts = {item.id: item.verdict for item in report.target.requirements}
    assert verdicts["tasks.create.durable"] == "pass"
    assert {name: verdict for name, verdict in verdicts.items() if name.startswith("stdio.")} == dict.fromkeys(
        (
            "stdio.messages-only",
            "stdio.one-line",
            "stdio.utf8",
            "stdio.no-requests",
            "stdio.cancel-silent",
            "stdio.eof-exit",
            "stdio.stderr-logging",
        ),
        "pass",
    )
    assert {verdict for name, verdict in verdicts.items() if name.startswith(("http.", "tasks.http."))} == {
        "not_applicable"
    }
    assert report.target.target.name == REFERENCE


def test_a_finding_is_told_in_lines_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = command_of("stdio-ignores-cancellation")
    arguments = ["run", "--command", command, "--select", "stdio.*", "--fail-fast", "--report-dir", str(tmp_path)]
    assert main(arguments) == 1
    report = json.loads((tmp_path / "report.json").read_text())
    (finding,) = report["findings"]
    assert finding["requirement"] == "stdio.cancel-silent"
    assert finding["curl"][0] == f"# lines for the standard input of: {command}"
    assert any('"method":"subscriptions/listen"' in line and '"$T1"' in line for line in finding["curl"])
    assert report["target"]["options"]["command"] == command
    replay = str(tmp_path / finding["replay"])
    assert main(["replay", replay]) == 1
    assert main(["replay", replay, "--command", REFERENCE]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_server_that_dies_in_the_middle_is_unusable(tmp_path: Path) -> None:
    program = tmp_path / "dies.py"
    program.write_text(DIES)
    report = check_server(command=shlex.join([sys.executable, str(program)]), budget=100)
    assert report.outcome == "unusable"
    assert "has ended with exit code 7" in report.target.reason
    assert "no memory left" in report.target.reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--command", "mcptasks-no-such-program"], "--command: cannot run mcptasks-no-such-program"),
        (["--command", "server", "--url", "http://127.0.0.1/"], "a URL goes with one over HTTP"),
        (["--command", "server", "--header", "A: b"], "--header goes with one over HTTP"),
        (["--command", "server", "--store", "a:b"], "one target at a time"),
    ],
)
def test_wrong_usage_is_one_clear_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments, "--report-dir", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


def test_init_tries_the_tools_over_stdio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--command", REFERENCE, "--no-try", "--out", "tools.toml"]) == 0
    assert "slow_compute" in (tmp_path / "tools.toml").read_text()
    assert main(["init", "--out", "other.toml"]) == 2
