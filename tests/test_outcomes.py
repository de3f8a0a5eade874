"""Outcomes of targets and the exit code over several."""

from datetime import date
from typing import Any

import pytest

from mcptasks.conformance.baseline import parse_baseline
from mcptasks.conformance.events import Finding, Outcome, RequirementResult, Verdict
from mcptasks.conformance.outcomes import (
    Condition,
    ExitCode,
    Judgement,
    JudgementOptions,
    exit_code,
    judge,
    overall_outcome,
)

TODAY = date(2026, 8, 1)
BASELINE = parse_baseline(
    "requirements: {store.a.known: {reason: r, fingerprints: [store.a.known/x]}}", ["store.a.known"]
)
EXPIRED = parse_baseline("requirements: {store.a.known: {reason: r, expires: 2020-01-01}}", ["store.a.known"])
PASSED = RequirementResult("store.a.good", "MUST", "pass", 10)
DIED = Condition("unusable", "the target's process ended with signal 9")


def result(verdict: Verdict, id_: str = "store.a.other", level: str = "MUST", exercised: int = 5) -> RequirementResult:
    return RequirementResult(id_, level, verdict, exercised if "not_" not in verdict else 0)


def found(requirement: str, fingerprint: str, verdict: Any = "fail") -> Finding:
    return Finding(
        requirement=requirement,
        verdict=verdict,
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


def judged(*results: RequirementResult, options: JudgementOptions | None = None, **more: Any) -> Judgement:
    return judge(results, more.pop("findings", ()), options or JudgementOptions(), TODAY, **more)


def test_nothing_failed() -> None:
    judgement = judged(PASSED, result("warn"), result("not_exercised"))
    assert judgement.outcome == "conformant"
    assert judgement.reason == "2 of 3 requirements exercised, 1 with a warning, none failed"


def test_a_failure_counts_at_every_level() -> None:
    assert judged(PASSED, result("fail", level="SHOULD")).outcome == "nonconformant"
    assert judged(PASSED, result("fail")).reason == "1 requirement failed"


def test_warnings_count_when_asked_for() -> None:
    judgement = judged(PASSED, result("warn"), options=JudgementOptions(fail_on_warn=True))
    assert (judgement.outcome, judgement.reason) == ("nonconformant", "1 requirement warned")


def test_nothing_exercised_is_inconclusive() -> None:
    assert judged().outcome == "inconclusive"
    assert judged(result("not_exercised"), result("not_applicable")).outcome == "inconclusive"
    # A pass that rests on no observation is none.
    assert judged(RequirementResult("store.a.empty", "MUST", "pass", 0)).outcome == "inconclusive"


@pytest.mark.parametrize(
    ("missed", "outcome"),
    [
        (result("not_exercised"), "inconclusive"),
        (result("not_exercised", level="MUST NOT"), "inconclusive"),
        (result("not_applicable"), "inconclusive"),
        (result("not_exercised", level="SHOULD"), "conformant"),
        (result("not_exercised", level="MAY"), "conformant"),
    ],
)
def test_strict_asks_for_every_must(missed: RequirementResult, outcome: Outcome) -> None:
    assert judged(PASSED, missed).outcome == "conformant"
    judgement = judged(PASSED, missed, options=JudgementOptions(strict=True))
    assert judgement.outcome == outcome
    assert ("store.a.other" in judgement.reason) == (outcome == "inconclusive")


def test_a_fault_of_the_suite_outweighs_a_failure() -> None:
    assert judged(result("error"), result("fail")).outcome == "error"
    assert judged(result("fail"), condition=Condition("error", "r")).outcome == "error"


def test_interrupted_outweighs_everything_of_a_target() -> None:
    judgement = judged(result("error"), result("fail"), condition=Condition("interrupted", "by SIGTERM"))
    assert (judgement.outcome, judgement.reason) == ("interrupted", "by SIGTERM")


def test_a_target_that_dies() -> None:
    assert judged(condition=DIED).outcome == "unusable"
    assert judged(PASSED, condition=DIED).reason == DIED.reason
    after = judged(PASSED, result("fail"), condition=DIED)
    assert after.outcome == "nonconformant"
    assert DIED.reason in after.reason


def test_an_expected_failure_is_conformant_and_named() -> None:
    known = result("fail", "store.a.known")
    judgement = judged(PASSED, known, baseline=BASELINE, findings=[found("store.a.known", "store.a.known/x")])
    assert judgement.outcome == "conformant"
    assert judgement.expected_failures == ("store.a.known",)
    assert "the baseline expects" in judgement.reason


def test_another_fingerprint_is_not_expected() -> None:
    findings = [found("store.a.known", "store.a.known/x"), found("store.a.known", "store.a.known/y")]
    judgement = judged(PASSED, result("fail", "store.a.known"), baseline=BASELINE, findings=findings)
    assert judgement.outcome == "nonconformant"
    assert judgement.expected_failures == ()


def test_a_warning_beside_an_expected_failure_counts_only_when_asked_for() -> None:
    findings = [found("store.a.known", "store.a.known/x"), found("store.a.known", "store.a.known/w", "warn")]
    known = result("fail", "store.a.known")
    assert judged(PASSED, known, baseline=BASELINE, findings=findings).outcome == "conformant"
    strict = JudgementOptions(fail_on_warn=True)
    assert judged(PASSED, known, options=strict, baseline=BASELINE, findings=findings).outcome == "nonconformant"


def test_stale_and_expired_entries_are_nonconformant() -> None:
    stale = judged(PASSED, result("pass", "store.a.known"), baseline=BASELINE)
    assert stale.outcome == "nonconformant"
    assert "stale" in stale.baseline_problems[0]
    expired = judged(PASSED, baseline=EXPIRED)
    assert expired.outcome == "nonconformant"
    assert expired.reason == "1 baseline entry stale or expired"


def test_an_entry_not_exercised_is_not_stale() -> None:
    assert judged(PASSED, result("not_exercised", "store.a.known"), baseline=BASELINE).outcome == "conformant"
    assert judged(PASSED, result("pass", "store.a.known"), baseline=BASELINE, condition=DIED).outcome == "unusable"


@pytest.mark.parametrize(
    ("outcomes", "usage_error", "code"),
    [
        (["conformant"], False, 0),
        (["conformant", "inconclusive"], False, 4),
        (["inconclusive", "unusable"], False, 3),
        (["unusable", "nonconformant", "conformant"], False, 1),
        (["nonconformant", "error"], False, 5),
        (["error"], True, 2),
        (["nonconformant"], True, 2),
        (["interrupted", "error"], True, 130),
        ([], False, 4),
        ([], True, 2),
    ],
)
def test_precedence_over_several_targets(outcomes: list[Outcome], usage_error: bool, code: int) -> None:
    assert exit_code(outcomes, usage_error) is ExitCode(code)


def test_overall_outcome_is_the_one_of_the_exit_code() -> None:
    assert overall_outcome(["conformant", "unusable"]) == "unusable"
    assert overall_outcome([]) == "inconclusive"
