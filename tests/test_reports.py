"""The events file, what is assembled from it, and the report directory."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_samples import (
    HEADER,
    HOSTILE,
    RESULTS,
    TWO,
    assert_harmless,
    finding,
    hostile_run,
    run,
    write_events,
)

from mcptasks.conformance.events import (
    Event,
    FindingReported,
    TargetInfo,
)
from mcptasks.reports.assemble import assemble
from mcptasks.reports.errors import EventsError, ReportError
from mcptasks.reports.events_file import EventsFile, read_events
from mcptasks.reports.json_text import json_text
from mcptasks.reports.proof_files import locate
from mcptasks.reports.replay_file import read_replay
from mcptasks.reports.safe_text import visible, visible_block
from mcptasks.reports.sequence_text import describe, steps
from mcptasks.reports.write import ReportWriter, rebuild


def test_visible_escapes_what_cannot_be_seen() -> None:
    assert visible("a\x1b[31m\n\u202e\ud800\x7f\xa0é😀") == "a\\x1b[31m\\n\\u202e\\ud800\\x7f\\xa0é😀"
    assert visible("x" * 50, 10) == "xxxxxxxxxx… (50 characters)"
    assert visible_block("a\n\x00b") == "a\n\\x00b"
    assert_harmless(visible_block(HOSTILE, 30))


def test_json_text_is_ascii_and_strict() -> None:
    text = json_text({"a": float("nan"), "b": object, "c": "\x7f\ud800", "d": 10**5000, 1.5: (1,)})
    assert text.isascii()
    assert text.isprintable()
    value = json.loads(text, parse_constant=pytest.fail)
    assert value["a"] == "nan"
    assert value["c"] == "\x7f\ud800"
    assert value["1.5"] == [1]


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ({"op": "create", "as": "t1"}, "t1 = create()"),
        ({"op": "get", "task": "t1~case"}, "get(t1~case)"),
        ({"op": "set_input", "task": "t1", "requests": {"k": {"m": 1}}}, 'set_input(t1, {"k": {"m": 1}})'),
        ({"op": "resolve", "task": "t1", "responses": {}}, "resolve(t1, {})"),
        ({"op": "cancel", "task": "t1"}, "cancel(t1)"),
        ({"op": "complete", "task": "t1", "result": {"n": 1}}, 'complete(t1, {"n": 1})'),
        ({"op": "fail", "task": "t1", "error": "é"}, 'fail(t1, "\\u00e9")'),
        ({"op": "advance_clock", "ms": -1500}, "advance_clock(-1,500 ms)"),
        ({"op": "subscribe", "as": "l1", "kind": "plain"}, "l1 = subscribe()"),
        ({"op": "subscribe", "as": "l1", "kind": "raising"}, "l1 = subscribe(raising)"),
        ({"op": "unsubscribe", "listener": "l1"}, "unsubscribe(l1)"),
        ({"op": "abort", "operation": {"op": "cancel", "task": "t1"}, "after": 2}, "abort(cancel(t1), after=2)"),
        ({"op": "tamper", "task": "t1"}, "tamper(t1, returned)"),
        ({"op": "cancel", "task": "t1", "caller": 2}, "cancel(t1)  # caller=2"),
        ({"op": "store_result", "task": "t1"}, 'store_result(task="t1")'),
        ({"op": "cancel"}, "cancel()"),
        ({"op": None}, "null()"),
        ({}, "null()"),
    ],
)
def test_operations_are_legible(operation: dict[str, Any], text: str) -> None:
    assert describe(operation) == text


def test_long_payloads_are_shortened_and_their_length_named() -> None:
    text = describe({"op": "complete", "task": "t1", "result": "a" * 1_000_000})
    assert len(text) < 150
    assert "(1000002 characters)" in text


def test_the_middle_of_a_long_sequence_is_left_out() -> None:
    shown = steps([{"op": "get", "task": f"t{n}"} for n in range(1, 101)], most=5)
    assert [step.number for step in shown] == [1, 2, None, 98, 99, 100]
    assert shown[2].text == "… 95 operations left out, see the replay file"
    assert shown[-1].text == "get(t100)"


@pytest.mark.parametrize("events", [run(finding()), hostile_run()], ids=["kind", "hostile"])
def test_events_come_back_equal(tmp_path: Path, events: list[Event]) -> None:
    path = tmp_path / "events.jsonl"
    write_events(path, events)
    raw = path.read_bytes()
    assert raw.isascii()
    assert all(line.decode().isprintable() for line in raw.split(b"\n"))
    log = read_events(path)
    assert list(log.events) == events
    assert not log.truncated


def test_an_event_is_on_disk_at_once(tmp_path: Path) -> None:
    handler = EventsFile(tmp_path / "events.jsonl")
    handler(HEADER)
    assert read_events(tmp_path / "events.jsonl").events == (HEADER,)
    handler.close()
    handler.close()


def test_a_truncated_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events = run(finding())
    write_events(path, events)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    log = read_events(path)
    assert (list(log.events), log.truncated) == (events[:-1], True)
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert read_events(path).truncated


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no complete line"),
        (b'{"event": "run_sta', "holds no complete line"),
        (b"\x89PNG\r\n\x1a\n\x00", "line 1"),
        (b"{}\n", "does not begin with a header"),
        (b'{"event": "run_started", "schema": "mcptasks-events/9"}\n', "does not begin with a header"),
        (b"[1]\n", "not a JSON object"),
        (b"[" * 100_000 + b"\n", "line 1"),
    ],
)
def test_a_file_that_is_no_events_file(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(content)
    with pytest.raises(EventsError, match=message) as caught:
        read_events(path)
    assert "is no events file" in str(caught.value)
    assert str(caught.value).isprintable()


def test_other_faults_of_an_events_file(tmp_path: Path) -> None:
    with pytest.raises(EventsError, match="No such file"):
        read_events(tmp_path / "none")
    path = tmp_path / "events.jsonl"
    write_events(path, [HEADER])
    with path.open("ab") as file:
        file.write(b'{"event": "later_kind"}\n{}\n')
    with pytest.raises(EventsError, match="damaged: line 2: unknown event 'later_kind'"):
        read_events(path)
    with pytest.raises(ReportError, match="cannot write"):
        EventsFile(tmp_path / "no" / "folder")


def test_a_run_is_assembled() -> None:
    first, other = finding(), finding(fingerprint="store.completed.terminal-noop/complete/failed/status")
    report = assemble(run(first, other, replace(first, occurrences=9)))
    (target,) = report.targets
    assert [item.occurrences for item in target.findings] == [9, 1]
    assert [bound.depth for bound in target.bounds] == [5]
    assert (target.operations, target.examples, target.seconds) == (1234, 321, 2.5)
    assert target.counts() == {"fail": 1, "warn": 1, "error": 0, "pass": 2, "not_exercised": 1, "not_applicable": 1}
    assert (report.outcome, report.exit_code, report.truncated, target.truncated) == ("nonconformant", 1, False, False)


def test_a_truncated_run_holds_what_was_known() -> None:
    report = assemble(run(finding())[:-2])
    (target,) = report.targets
    assert (report.truncated, report.outcome, report.exit_code) == (True, "interrupted", None)
    assert (target.truncated, target.outcome, target.operations) == (True, "interrupted", 1200)
    assert target.requirements == (RESULTS[0],)
    assert len(target.findings) == 1


def test_events_without_their_beginning_are_refused() -> None:
    with pytest.raises(ValueError, match="header"):
        assemble([])
    with pytest.raises(ValueError, match="not started"):
        assemble([HEADER, FindingReported("nobody", finding())])


REPORTS = {"events.jsonl", "report.json", "report.html", "junit.xml", "summary.md"}


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def write_run(directory: Path, events: list[Event]) -> list[Event]:
    seen: list[Event] = []
    with ReportWriter(directory, forward=seen.append) as writer:
        for event in events:
            writer(event)
    return seen


def test_a_run_leaves_all_reports_and_proofs(tmp_path: Path) -> None:
    out = tmp_path / "a b" / "out"
    seen = write_run(out, run(finding()))
    reported = next(event.finding for event in seen if isinstance(event, FindingReported))
    assert reported.replay is not None
    assert reported.pytest_file is not None
    assert files(out) == REPORTS | {reported.replay, reported.pytest_file}
    assert reported.replay_command == f"mcptasks replay '{out}/{reported.replay}'"
    assert json.loads((out / "report.json").read_text())["findings"][0]["replay"] == reported.replay
    assert read_replay(out / reported.replay).seed == 7
    assert list(read_events(out / "events.jsonl").events) == seen


@pytest.mark.parametrize("events", [run(finding()), TWO, hostile_run()], ids=["one", "two", "hostile"])
def test_reports_are_made_again_from_the_events_alone(tmp_path: Path, events: list[Event]) -> None:
    write_run(tmp_path, events)
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    for name in before:
        if name != "events.jsonl":
            (tmp_path / name).unlink()
    rebuild(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_hostile_text_reaches_no_file_unescaped(tmp_path: Path) -> None:
    write_run(tmp_path, hostile_run())
    assert len(files(tmp_path)) == len(REPORTS) + 4
    for name in files(tmp_path):
        assert_harmless((tmp_path / name).read_text(encoding="utf-8"))
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert root.find(".//script") is None


def test_an_interrupt_between_an_event_and_its_files_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    *before, reported = run(finding())[:6]
    with ReportWriter(tmp_path) as writer:
        for event in before:
            writer(event)
        monkeypatch.setattr("mcptasks.reports.write.write_proofs", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer(reported)
    assert len(files(tmp_path)) == len(REPORTS) + 2


def test_proofs_exist_before_the_run_ends(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path)
    for event in run(finding())[:-3]:
        writer(event)
    assert len(files(tmp_path)) == 3
    writer.close()
    assert files(tmp_path) >= REPORTS
    assert json.loads((tmp_path / "report.json").read_text())["outcome"] == "interrupted"
    writer.close()


def test_a_directory_of_a_run_that_never_began_holds_no_report(tmp_path: Path) -> None:
    write_run(tmp_path, [])
    assert files(tmp_path) == {"events.jsonl"}
    write_run(tmp_path, run())
    assert files(tmp_path) == REPORTS


def test_a_second_run_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    write_run(tmp_path, run(finding()))
    (tmp_path / "replays" / "mine.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("x")
    write_run(tmp_path, run())
    assert files(tmp_path) == REPORTS | {"replays/mine.json", "notes.txt"}


def test_a_second_run_after_a_crash_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path)
    for event in run(finding())[:-3]:
        writer(event)
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"event": "verd')
    write_run(tmp_path, run())
    assert files(tmp_path) == REPORTS


def test_paths_of_an_earlier_run_do_not_lead_out_of_the_directory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "precious.json").write_text("{}")
    lead_out = replace(finding(), replay="../precious.json", pytest_file=str(tmp_path / "precious.json"))
    out.mkdir()
    write_events(out / "events.jsonl", run(lead_out))
    write_run(out, run())
    assert (tmp_path / "precious.json").exists()


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(ReportError, match=r"report\.html in it is not of an earlier run"):
        ReportWriter(tmp_path)
    assert (tmp_path / "report.html").read_text() == "mine"
    (tmp_path / "events.jsonl").write_text('{"of": "another tool"}\n')
    with pytest.raises(ReportError, match=r"events\.jsonl in it is not of an earlier run"):
        ReportWriter(tmp_path)


def test_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ReportError, match="for reports: "):
            ReportWriter(path)
    with pytest.raises(EventsError, match="cannot read"):
        rebuild(tmp_path)


def test_only_a_store_that_can_be_named_becomes_a_pytest_file() -> None:
    server = TargetInfo("server", "http://localhost/mcp", "2026-07-28", {"url": "http://localhost/mcp"})
    located = locate(finding(), server, Path("out"))
    assert located.pytest_file is None
    assert located.replay is not None
