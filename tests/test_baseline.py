"""The baseline file: what is read, what is refused with one line, what it then expects."""

from datetime import date
from pathlib import Path

import pytest

from mcptasks.conformance.baseline import Baseline, BaselineError, enforce, parse_baseline, read_baseline
from mcptasks.conformance.events import Finding, RequirementResult, Verdict

CATALOGUE = ("store.cancel.truth", "store.get.current", "store.ttl.after")
TODAY = date(2026, 8, 1)


def result(verdict: Verdict, id_: str = "store.cancel.truth") -> RequirementResult:
    return RequirementResult(id_, "MUST", verdict, exercised=3)


def finding(fingerprint: str, id_: str = "store.cancel.truth") -> Finding:
    return Finding(
        requirement=id_,
        verdict="fail",
        level="MUST",
        message="m",
        operations=[],
        expected="e",
        actual="a",
        section="s",
        fingerprint=fingerprint,
        operation="cancel",
        state="working",
        aspect="return",
        driver="random",
    )


def entry(**members: object) -> Baseline:
    lines = "".join(f"    {key}: {value}\n" for key, value in members.items())
    return parse_baseline(f"requirements:\n  store.cancel.truth:\n    reason: known\n{lines}", CATALOGUE)


def test_all_members_are_read(tmp_path: Path) -> None:
    path = tmp_path / "baseline.yaml"
    path.write_text(
        "requirements:\n"
        "  store.cancel.truth:\n"
        "    reason: the backend has no compare-and-set\n"
        "    issue: 12\n"
        "    expires: 2026-12-31\n"
        "    fingerprints: [store.cancel.truth/cancel/working/return]\n"
        "    flaky: true\n"
        "  store.get.current: {reason: 'cache', expires: '2027-01-01', issue: https://example.org/1}\n",
        encoding="utf-8",
    )
    entries = read_baseline(path, CATALOGUE).entries
    first = entries["store.cancel.truth"]
    assert first.reason == "the backend has no compare-and-set"
    assert first.issue == "12"
    assert first.expires == date(2026, 12, 31)
    assert first.fingerprints == ("store.cancel.truth/cancel/working/return",)
    assert first.flaky
    second = entries["store.get.current"]
    assert (second.expires, second.issue, second.flaky) == (date(2027, 1, 1), "https://example.org/1", False)


@pytest.mark.parametrize("text", ["requirements:\n", "requirements: {}\n"])
def test_a_baseline_may_be_empty(text: str) -> None:
    assert parse_baseline(text, CATALOGUE).entries == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "b.yaml: a baseline has one member, 'requirements'"),
        ("- a\n", "b.yaml: a baseline has one member, 'requirements'"),
        ("requirements: [a]\n", "b.yaml:1: 'requirements' must map ids to entries"),
        ("requirements: {}\nmore: 1\n", "b.yaml:2: unknown member 'more', only 'requirements' is known"),
        (
            "requirements:\n  store.cancel.truht: {reason: x}\n",
            "b.yaml:2: no requirement has the id 'store.cancel.truht', did you mean 'store.cancel.truth'?",
        ),
        ("requirements:\n\n  7: {reason: x}\n", "b.yaml:3: no requirement has the id '7'"),
        (
            "requirements:\n  store.ttl.after: x\n",
            "b.yaml:2: store.ttl.after: an entry maps 'reason' and more to values",
        ),
        ("requirements:\n  store.ttl.after: {}\n", "b.yaml:2: store.ttl.after: lacks member 'reason'"),
        (
            "requirements:\n  store.ttl.after:\n    reason: ' '\n",
            "b.yaml:3: store.ttl.after: member 'reason': String should have at least 1 character",
        ),
        (
            "requirements:\n  store.ttl.after:\n    reason: 5\n",
            "b.yaml:3: store.ttl.after: member 'reason': Input should be a valid string",
        ),
        (
            "requirements:\n  store.ttl.after:\n    reason: x\n    expire: 2026-12-31\n",
            "b.yaml:4: store.ttl.after: unknown member 'expire'; known are reason, issue, expires, fingerprints, flaky",
        ),
        (
            "requirements:\n  store.ttl.after:\n    reason: x\n    expires: 2026-13-45\n",
            "b.yaml:4: store.ttl.after: member 'expires': must be a date such as 2026-12-31, not \"2026-13-45\"",
        ),
        (
            "requirements:\n  store.ttl.after:\n    reason: x\n    expires: 20261231\n",
            "b.yaml:4: store.ttl.after: member 'expires': must be a date such as 2026-12-31, not 20261231",
        ),
        (
            "requirements:\n  store.ttl.after:\n    reason: x\n    flaky: 'yes'\n",
            "b.yaml:4: store.ttl.after: member 'flaky': Input should be a valid boolean",
        ),
        (
            "requirements:\n  store.ttl.after:\n    reason: x\n    fingerprints: [store.ttl.aftr/get/expired/return]\n",
            "b.yaml:4: store.ttl.after: a fingerprint begins with 'store.ttl.after/', this does not: "
            "'store.ttl.aftr/get/expired/return'",
        ),
        (
            "requirements:\n  store.ttl.after: {reason: x}\n  store.ttl.after: {reason: y}\n",
            "b.yaml:3: 'store.ttl.after' stands here a second time",
        ),
        ("requirements: {a: [}\n", "b.yaml:1: not YAML: "),
        ("requirements: {a: !!python/object:os.system x}\n", "b.yaml:1: not YAML: "),
        ("requirements: \x1b[31m\n", "b.yaml: not YAML: "),
        ("[" * 5000, "b.yaml: nests too deep"),
        (f"requirements: {'9' * 5000}\n", "b.yaml: a value in it is wrong: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(BaselineError) as caught:
        parse_baseline(text, CATALOGUE, "b.yaml")
    assert str(caught.value).startswith(message)
    assert str(caught.value).isprintable()
    assert caught.value.exit_code == 2


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="No such file"):
        read_baseline(tmp_path / "none.yaml", CATALOGUE)
    with pytest.raises(BaselineError, match="directory"):
        read_baseline(tmp_path, CATALOGUE)
    (tmp_path / "latin.yaml").write_bytes(b"requirements: {} # \xe9")
    with pytest.raises(BaselineError, match="not UTF-8"):
        read_baseline(tmp_path / "latin.yaml", CATALOGUE)


def test_a_failure_with_an_entry_is_expected() -> None:
    enforced = enforce(entry(), [result("fail")], [finding("store.cancel.truth/cancel/working/return")], TODAY)
    assert enforced.expected == ("store.cancel.truth",)
    assert enforced.problems == ()


def test_fingerprints_restrict_what_is_expected() -> None:
    baseline = entry(fingerprints="[store.cancel.truth/a]")
    known, new = finding("store.cancel.truth/a"), finding("store.cancel.truth/b")
    assert enforce(baseline, [result("fail")], [known], TODAY).expected == ("store.cancel.truth",)
    assert enforce(baseline, [result("fail")], [known, new], TODAY).expected == ()
    assert enforce(baseline, [result("fail")], [], TODAY).expected == ()


def test_an_entry_whose_requirement_passed_is_stale() -> None:
    assert "stale" in enforce(entry(), [result("pass")], [], TODAY).problems[0]
    assert enforce(entry(flaky="true"), [result("pass")], [], TODAY).problems == ()
    assert enforce(entry(), [result("pass")], [], TODAY, complete=False).problems == ()


@pytest.mark.parametrize("verdict", ["not_exercised", "not_applicable", "warn", "error"])
def test_an_entry_whose_requirement_did_not_pass_is_not_stale(verdict: Verdict) -> None:
    assert enforce(entry(), [result(verdict)], [], TODAY).problems == ()


def test_an_entry_of_a_requirement_that_was_not_selected_is_not_stale() -> None:
    assert enforce(entry(), [], [], TODAY).problems == ()


def test_an_expired_entry_is_a_problem_and_expects_nothing() -> None:
    enforced = enforce(entry(expires="2026-07-31"), [result("fail")], [finding("store.cancel.truth/a")], TODAY)
    assert enforced.expected == ()
    assert enforced.problems == ("store.cancel.truth: the entry expired on 2026-07-31",)
    assert enforce(entry(expires="2026-08-01"), [result("fail")], [], TODAY).expected == ("store.cancel.truth",)
