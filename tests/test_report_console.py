"""Progress and summary on the console."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from report_samples import (
    HEADER,
    OPERATIONS,
    STORE,
    assert_harmless,
    finding,
    hostile_run,
    run,
)
from rich.console import Console

from mcptasks.conformance.events import (
    Event,
    Progress,
    TargetStarted,
)
from mcptasks.reports.console import ConsoleHandler


def console_text(events: list[Event], encoding: str = "utf-8", **options: Any) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    with ConsoleHandler(Console(file=file, width=80, **options), Path("out")) as handler:
        for event in events:
            handler(event)
    file.flush()
    return raw.getvalue().decode(encoding)


def test_the_console_tells_all_that_is_needed() -> None:
    shown = finding(replay_command="mcptasks replay out/replays/x.json")
    text = console_text(run(shown, replace(shown, fingerprint="b"), baseline_problems=["store.x: stale"]))
    for part in (
        "checking shop/tasks.py:Store (2026-07-28)\n",
        "  fail: store.completed.terminal-noop  a completed cancelled task is completed\n",
        "shop/tasks.py:Store (2026-07-28): nonconformant  1 requirement failed\n",
        "  fail 1, warn 1, pass 2, not exercised 1, not applicable 1\n",
        "  all 66,429 sequences of up to 5 operations\n",
        "  baseline: store.x: stale\n",
        "  FAIL store.completed.terminal-noop (MUST)\n",
        "      1  t1 = create()\n",
        '      3  complete(t1, {"n": 1})\n',
        "    expected  status cancelled\n",
        "    actual    status completed\n",
        "    section   IMcpTaskStore, SetCompletedAsync\n",
        "    replay    mcptasks replay out/replays/x.json\n",
        "    and 1 more for store.completed.terminal-noop\n",
        "report: out/report.html\n",
    ):
        assert part in text
    assert "\x1b" not in text


def test_plain_lines_are_few() -> None:
    beats: list[Event] = [Progress("t", "random", n * 10, n, n, 200, n / 2) for n in range(1, 101)]
    beats += [Progress("t", "concurrent", 2000, 200, 200, 200, 50.1)]
    text = console_text([HEADER, TargetStarted(replace(STORE, name="t")), *beats])
    lines = [line for line in text.splitlines() if " requirements exercised" in line]
    assert len(lines) == 11
    assert lines[0] == "    0.5 s  random: 1/200 requirements exercised, 10 operations, 20/s"
    assert "concurrent: " in lines[-1]


def test_a_finding_that_is_improved_is_told_once() -> None:
    text = console_text(run(finding(), replace(finding(), operations=OPERATIONS[:3])))
    assert text.count("  fail: store") == 1


def test_the_console_is_not_moved_by_a_target() -> None:
    assert_harmless(console_text(hostile_run()))
    text = console_text(hostile_run(), encoding="ascii")
    assert_harmless(text)
    assert "[bold]b[/bold]" in text


def test_the_console_gives_no_commands_to_a_ci_system() -> None:
    first = finding(message="::error::x", expected="##[error]")
    text = console_text([*run(first)[:-1], *hostile_run()[1:]])
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "##" not in text
    assert "\\x3a:error::x" in text
    assert "#\\x23[error]" in text


def test_colours_and_a_live_line_do_not_let_escapes_through() -> None:
    raw = io.StringIO()
    console = Console(file=raw, force_terminal=True, width=80)
    with ConsoleHandler(console, live=True) as handler:
        for event in hostile_run():
            handler(event)
    # What is left once colours and cursor moves of our own are taken out.
    own = re.sub(r"\x1b\[[0-9;?]*[mAKhl]|\r", "", raw.getvalue())
    assert_harmless(own)
    assert "\x1b]0;" not in raw.getvalue()


def test_an_interrupted_console_gives_the_terminal_back() -> None:
    raw = io.StringIO()
    handler = ConsoleHandler(Console(file=raw, force_terminal=True), live=True)
    for event in run()[:4]:
        handler(event)
    handler.close()
    handler.close()
    assert raw.getvalue().count("\x1b[?25l") == raw.getvalue().count("\x1b[?25h")


def test_an_expected_failure_is_named_and_not_shown_in_full() -> None:
    id_ = "store.completed.terminal-noop"
    text = console_text(run(finding(), outcome="conformant", expected_failures=[id_]))
    assert f"expected by the baseline: {id_}" in text
    assert "FAIL" not in text


def test_a_finding_names_the_keywords_of_its_store() -> None:
    needing = finding(store_options={"clock": True, "default_ttl_ms": None})
    assert "    store opened with clock and default_ttl_ms=null\n      1  t1 = create()" in console_text(run(needing))
