"""The wire model, its attribution, and the small parts of the client, each on its own."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from random import Random

import pytest
from pydantic import TypeAdapter

import mcptasks.conformance.engine.wire_interpreter as engine
import mcptasks.conformance.model.wire_2026 as model
import mcptasks.conformance.wire.client as client
from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.engine.wire_automaton import WireAutomaton
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.model.states import ABSENT, LIVE, STATUSES, TERMINAL, WORKING, Call, TaskState
from mcptasks.conformance.model.wire_2026 import CANCELLING, ENDED, RUNNING, Seen, classify, fit, successors
from mcptasks.conformance.model.wire_attribution import at_risk, blame
from mcptasks.conformance.wire import json_text, translate
from mcptasks.conformance.wire.pacing import retry_after
from mcptasks.conformance.wire.payloads import CallToolPayload, ErrorObject, InputRequest, InputResponse
from mcptasks.conformance.wire.secrets import HeaderLine, Redactor, shown_url
from mcptasks.conformance.wire.shapes import shape
from mcptasks.conformance.wire.sse import EventReader
from mcptasks.strategies.json_values import Payload
from mcptasks.strategies.payloads import PayloadPool

BOUND = {item.id for item in load_catalogue().for_target("server", "2026-07-28")}
ASKED = frozenset({(0, 0), (1, 1)})
STATES = [
    TaskState(ABSENT),
    TaskState(WORKING),
    TaskState("input_required", ASKED),
    TaskState("input_required", ASKED, due=frozenset({0})),
    TaskState(CANCELLING, ASKED),
    TaskState(ENDED),
    TaskState(RUNNING),
    TaskState("completed", payload=5),
    TaskState("failed", payload=5),
    TaskState("cancelled"),
]
CALLS = [
    Call("set", ((2, 2),)),
    *(Call("resolve", tuple((key, 0) for key in keys)) for keys in ((), (0,), (1,), (0, 1), (0, 7), (7,))),
    Call("cancel"),
    Call("complete", (), 8),
    Call("fail", (), 8),
]


def test_every_call_on_every_state_is_classified_blamed_and_goes_on() -> None:
    for state, call in itertools.product(STATES, CALLS):
        row = classify(state, call)
        assert successors(state, call)
        for item in successors(state, call):
            assert item.warn is None or item.warn in BOUND
            if state.status in TERMINAL:
                assert item.state == state
            assert at_risk(row, state.status, item.state) <= BOUND
        for aspect in ("return", "life", "status", "stray", "payload", "pending-missing", "pending-extra", "late"):
            for expected in (*STATUSES, CANCELLING, ENDED):
                assert blame(row, state.status, aspect, expected) in BOUND
    for cause in ("create", "reread", "other", "other-cancel", "other-resolve"):
        for state in STATES:
            assert blame(cause, state.status, "status") in BOUND
    assert blame("reread", ABSENT, "appears") in BOUND


def test_every_requirement_named_in_the_code_binds_servers() -> None:
    named = re.compile(r'"((?:tasks|core|rpc|http)\.[a-z0-9]+(?:[.-][a-z0-9]+)+)"')
    folders = [Path(str(module.__file__)).parent for module in (engine, model, client)]
    files = [path for folder in folders for path in folder.glob("*.py") if "wire" in str(path)]
    assert len(files) > 20
    for path in files:
        assert set(named.findall(path.read_text())) <= BOUND, path


def test_a_state_fits_what_it_shows_and_nothing_else() -> None:
    asked = TaskState("input_required", ASKED)
    assert fit(asked, Seen("input_required", ASKED)) == (asked, "")
    assert fit(asked, Seen("input_required", frozenset({(0, 0)}))) == (None, "pending-missing")
    assert fit(asked, Seen("input_required", ASKED | {(9, 9)})) == (None, "pending-extra")
    assert fit(asked, Seen("input_required", frozenset({(0, 0), (1, 3)}))) == (None, "pending-body")
    assert fit(asked, Seen("working")) == (None, "status")
    assert fit(asked, Seen(ABSENT)) == (None, "life")
    done = TaskState("completed", payload=5)
    assert fit(done, Seen("completed", payload=5)) == (done, "")
    assert fit(done, Seen("completed", payload=6)) == (None, "payload")
    assert fit(done, Seen("completed", payload=5, stray=True)) == (None, "stray")


def test_acknowledged_answers_may_take_a_while() -> None:
    due = TaskState("input_required", ASKED, due=frozenset({0, 1}))
    now, _ = fit(due, Seen("input_required", ASKED))
    assert now is not None
    assert now.due == {0, 1}
    settled, _ = fit(due, Seen("working"))
    assert settled is not None
    assert not settled.due
    assert settled.answered == {0, 1}
    one, _ = fit(due, Seen("input_required", frozenset({(1, 1)})))
    assert one is not None
    assert one.due == {1}


def test_a_part_of_the_answers_may_be_taken_or_not() -> None:
    out = successors(TaskState("input_required", ASKED), Call("resolve", ((0, 0),)))
    assert {(item.answer, bool(item.state.due)) for item in out} == {
        ("ack", True),
        ("ack", False),
        ("invalid", False),
        ("error", False),
    }


def test_after_a_cancel_everything_is_lawful_until_it_has_ended() -> None:
    [item] = successors(TaskState(WORKING), Call("cancel"))
    assert all(fit(item.state, Seen(status))[0] is not None for status in STATUSES)
    done, _ = fit(item.state, Seen("completed", payload=3))
    assert done is not None
    assert all(fit(done, Seen(status))[0] is None for status in STATUSES - {"completed"})
    assert WORKING in LIVE


def test_the_automaton_counts_what_was_at_risk() -> None:
    automaton = WireAutomaton()
    step = automaton.step(automaton.start(TaskState(ABSENT)), Call("cancel"))
    step.edges["invalid"].count += 3
    automaton.settle()
    assert automaton.exercised["tasks.cancel.unknown-error"] == 3
    assert automaton.exercised["tasks.cancel.unknown-32602"] == 3
    assert not automaton.exercised["tasks.cancel.ack"]


# --- what goes out ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_whatever_a_sequence_holds_goes_out_valid_and_told_apart(seed: int) -> None:
    pool = PayloadPool(Random(seed))
    request_model, response_model = TypeAdapter(InputRequest), TypeAdapter(InputResponse)
    for number in range(150):
        CallToolPayload.model_validate(translate.result_of(pool.results()).value)
        error = ErrorObject.model_validate(translate.error_of(pool.errors()).value)
        assert error.message
        request = translate.request_of(pool.request_bodies(), "a", number)
        request_model.validate_python(request.value)
        answer = pool.responses()
        response_model.validate_python(translate.response_of(answer, request).value)
        response_model.validate_python(translate.response_of(answer, None).value)


def test_equal_bodies_ask_different_questions() -> None:
    body = Payload({"ask": 1})
    assert translate.request_of(body, "a", 1) != translate.request_of(body, "a", 2)
    assert translate.request_of(body, "a", 1) == translate.request_of(body, "a", 1)


# --- what comes in ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_read_however_they_are_cut(size: int) -> None:
    stream = (
        b"\xef\xbb\xbf: hello\r\ndata: one\r\ndata:two\r\n\r\n"
        b"event: x\ndata: three\n\nid: 4\n\ndata\n\ndata: 4\r\rdata: un\xc3\xa9\n\n"
    )
    reader = EventReader()
    out: list[bytes] = []
    for start in range(0, len(stream), size):
        out += reader.feed(stream[start : start + size])
    assert out == [b"one\ntwo", b"three", b"", b"4", "un\u00e9".encode()]
    assert not reader.unfinished
    assert list(reader.feed(b"data: half")) == []
    assert reader.unfinished


@pytest.mark.parametrize("text", [b"", b"{", b"[1,]", b'{"a":1}{}', b'{"a":NaN}', b"\xff", b'{"a":1,"a":2}'])
def test_bad_texts_are_refused(text: bytes) -> None:
    with pytest.raises(json_text.BadTextError):
        json_text.decode(text)


def test_shapes_keep_what_models_look_at() -> None:
    assert shape({"status": "working"}) != shape({"status": "failed"})
    assert shape({"ttlMs": 1}) != shape({"ttlMs": None})
    assert shape({"ttlMs": 1}) != shape({"ttlMs": True})
    assert shape({"taskId": "a"}) == shape({"taskId": "b"})
    deep: list[object] = []
    for _ in range(30):
        deep = [deep, {"a": deep}]
    hash(shape({"a": deep}))


def test_retry_after_in_both_forms() -> None:
    assert retry_after("3") == 3
    assert retry_after("Sat, 01 Aug 2020 10:00:00 GMT") == 0
    assert retry_after("soon") is None
    assert retry_after(None) is None


# --- secrets ----------------------------------------------------------------------------------------


def test_secrets_are_redacted_wherever_they_stand() -> None:
    line = HeaderLine.parse("Authorization: Bearer abcdef")
    redact = Redactor(line.secrets)
    assert redact({"a": ["x abcdef y"], "abcdef": 1}) == {"a": ["x <redacted> y"], "<redacted>": 1}
    assert line.for_shell == "'Authorization: <redacted>'"
    assert HeaderLine.parse("A: Bearer env:TOKEN").for_shell == '"A: Bearer ${TOKEN}"'
    assert shown_url("http://me:secret@host:1/mcp?key=abc") == "http://host:1/mcp?key=<redacted>"


@pytest.mark.parametrize("text", ["", "NoColon", "Bad Name: x", "Mcp-Method: x", "A: b\r\nC: d"])
def test_bad_headers_get_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        HeaderLine.parse(text)
    assert "\n" not in str(caught.value)
