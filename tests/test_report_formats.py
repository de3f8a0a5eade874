"""report.json, junit.xml, summary.md and report.html."""

from __future__ import annotations

import html.parser
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import jsonschema
import pytest
from markdown_it import MarkdownIt
from report_samples import (
    HEADER,
    HOSTILE,
    OPERATIONS,
    RESULTS,
    TWO,
    assert_harmless,
    finding,
    hostile_run,
    run,
)

from mcptasks.conformance.events import (
    Event,
    Note,
    Outcome,
    RequirementResult,
    RunFinished,
)
from mcptasks.reports.assemble import assemble
from mcptasks.reports.html import render_html
from mcptasks.reports.json_report import json_schema_text, render_json
from mcptasks.reports.junit import render_junit
from mcptasks.reports.markdown import code_block, code_span, escaped, render_markdown
from mcptasks.reports.run_report import RunReport

VALIDATOR = jsonschema.Draft202012Validator(json.loads(json_schema_text()))


@pytest.mark.parametrize(
    "events",
    [run(finding()), run(), run(finding())[:-2], TWO, hostile_run(), [HEADER], [HEADER, RunFinished("error", 5, 0.1)]],
    ids=["finding", "none", "truncated", "two", "hostile", "no target", "no target, error"],
)
def test_report_json_obeys_its_schema(events: list[Event]) -> None:
    text = render_json(assemble(events))
    assert text.isascii()
    VALIDATOR.validate(json.loads(text))


def test_the_schema_is_one_and_refuses_other_things() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(json_schema_text()))
    value = json.loads(render_json(assemble(run(finding()))))
    for member in ("schema", "target", "findings", "coverage", "seed"):
        assert not VALIDATOR.is_valid({key: item for key, item in value.items() if key != member})
    # A pass rests on at least one observation.
    value["requirements"][2]["exercised"] = 0
    assert not VALIDATOR.is_valid(value)


def test_report_json_members() -> None:
    value = json.loads(
        render_json(assemble(run(finding(), expected_failures=["store.x"], baseline_problems=["stale"])))
    )
    assert value["schema"] == "mcptasks-report/1"
    assert value["tool"] == {"name": "mcp-tasks-conformance", "version": "1.2.3", "catalogue": "0.9"}
    assert value["target"]["name"] == "shop/tasks.py:Store"
    assert value["requirements"][0] == {
        "id": "store.completed.terminal-noop",
        "level": "MUST",
        "verdict": "fail",
        "exercised": 40,
        "reason": "",
    }
    assert value["findings"][0]["operations"] == OPERATIONS
    assert value["coverage"][0] == {"operation": "complete", "state": "cancelled", "count": 40}
    assert value["bounds"][0]["statement"] == "all 66,429 sequences of up to 5 operations"
    assert value["baseline"] == {"problems": ["stale"], "expected_failures": ["store.x"]}
    assert isinstance(json.loads(render_json(assemble(TWO))), list)


def junit(events: list[Event]) -> ElementTree.Element:
    return ElementTree.fromstring(render_junit(assemble(events)).encode("utf-8"))


def test_junit_has_a_case_for_each_requirement() -> None:
    root = junit(run(finding()))
    suite = root[0]
    assert suite.get("name") == "shop/tasks.py:Store (2026-07-28)"
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == [result.id for result in RESULTS]
    failure = cases["store.completed.terminal-noop"].find("failure")
    assert failure is not None
    assert failure.get("message") == "a completed cancelled task is completed"
    for part in ("t1 = create()", 'complete(t1, {"n": 1})', "expected: status cancelled", "SetCompletedAsync"):
        assert part in (failure.text or "")
    warned = cases["store.get.pure"]
    assert warned.find("failure") is None
    assert "drifts" in (warned.findtext("system-out") or "")
    skipped = cases["store.ttl.no-early"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "not applicable: the factory has no clock"
    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("skipped")) == ("6", "1", "0", "2")


def test_an_expected_failure_is_skipped() -> None:
    root = junit(run(finding(), outcome="conformant", expected_failures=["store.completed.terminal-noop"]))
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("0", "0", "3")


@pytest.mark.parametrize("outcome", ["nonconformant", "inconclusive", "unusable", "error", "interrupted"])
def test_junit_is_red_when_the_outcome_is_not_conformant(outcome: Outcome) -> None:
    root = junit(run(outcome=outcome, results=[], reason="nothing listens"))
    assert int(root.get("failures", "")) + int(root.get("errors", "")) == 1
    assert "nothing listens" in "".join(root.itertext())


def test_junit_of_a_run_without_targets() -> None:
    root = junit([HEADER, Note(None, "error", "cannot import shop"), RunFinished("error", 5, 0.1)])
    assert root.get("errors") == "1"
    assert "cannot import shop" in "".join(root.itertext())


def test_baseline_problems_and_faults_are_cases() -> None:
    results = [RequirementResult("store.a.b", "MUST", "error", 0, "the model has no state")]
    root = junit(run(results=results, baseline_problems=["store.x: stale"]))
    assert (root.get("failures"), root.get("errors")) == ("1", "1")


def test_markdown_says_what_a_ci_job_needs() -> None:
    text = render_markdown(
        assemble(run(finding(), finding(fingerprint="another"), baseline_problems=["store.x: stale"]))
    )
    for part in (
        "## MCP Tasks conformance: nonconformant",
        "| fail | warn | error | pass | not exercised | not applicable |",
        "| 1 | 1 | 0 | 2 | 1 | 1 |",
        "- all 66,429 sequences of up to 5 operations",
        "- baseline: store.x: stale",
        "  1  t1 = create()",
        "- expected: `status cancelled`",
        "- actual: `status completed`",
        "- section: IMcpTaskStore, SetCompletedAsync",
        "And 1 more for `store.completed.terminal-noop`",
    ):
        assert part in text


def test_markdown_escapes() -> None:
    assert escaped("<b> *x* [a](b) | `c` ~d~ $e$") == r"&lt;b&gt; \*x\* \[a\](b) \| \`c\` \~d\~ \$e\$"
    assert escaped("@me #12 https://a www.b") == r"\@<!-- -->me \#<!-- -->12 https:\/\/a www\.b"
    assert escaped("- a") == r"\- a"
    assert escaped("12. a") == r"12\. a"
    assert code_span("a``b`") == "``` a``b` ```"
    assert code_span("") == "(empty)"
    assert code_span("  ") == "(2 blanks)"
    assert code_block(["a", "````", "\x1b"]) == ["`````text", "a", "````", "\\x1b", "`````"]


def test_hostile_text_has_no_effect_in_markdown() -> None:
    text = render_markdown(assemble(hostile_run()))
    assert_harmless(text)
    rendered = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    tags = parsed(rendered).tags
    expected = {"h2", "h3", "h4", "p", "ul", "li", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags == expected
    prose = re.sub(r"(?s)<code.*?</code>", "", rendered)
    assert "@someone" not in prose
    assert "#12" not in prose
    # Forges make links of addresses that stand in the source.
    assert "://" not in escaped(HOSTILE)
    assert "www." not in escaped(HOSTILE)


def test_a_summary_of_many_findings_stays_short() -> None:
    many = [finding(requirement=f"store.x.r{n}", fingerprint=str(n), actual="y" * 100_000) for n in range(200)]
    text = render_markdown(assemble(run(*many)))
    assert len(text) < 200_000
    assert "More findings, from `store.x.r25` on" in text


class Tags(html.parser.HTMLParser):
    """Counts tags, checks that they nest, collects anchors, links and text."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.attributes |= set(given)
        if "id" in given:
            self.ids.append(given["id"] or "")
        if tag == "a":
            self.links.add(given["href"] or "")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    assert len(set(tags.ids)) == len(tags.ids)
    assert {link.removeprefix("#") for link in tags.links} <= set(tags.ids)
    return tags


@pytest.mark.parametrize(
    "events",
    [run(finding(), finding(fingerprint="b")), TWO, hostile_run(), run(finding())[:-2], [HEADER]],
    ids=["one", "two", "hostile", "truncated", "no target"],
)
def test_html_is_one_file_without_scripts_or_network(events: list[Event]) -> None:
    text = render_html(assemble(events))
    assert_harmless(text)
    tags = parsed(text)
    assert not tags.tags & {"script", "img", "link", "iframe", "object", "b"}
    assert not any(name.startswith("on") or name == "src" for name in tags.attributes)
    assert all(link.startswith("#") for link in tags.links)
    assert "url(" not in text


def test_html_is_complete() -> None:
    text = parsed(render_html(assemble(run(finding(replay_command="mcptasks replay r.json"))))).text
    for part in (
        "nonconformant",
        "t1 = create()",
        'complete(t1, {"n": 1})',
        "status cancelled",
        "IMcpTaskStore, SetCompletedAsync",
        "mcptasks replay r.json",
        "needs concurrent callers",
        "the factory has no clock",
        "all 66,429 sequences of up to 5 operations",
        "How to replay a finding",
        "prefers-color-scheme",
        ".only-pass:target",
    ):
        assert part in text


@pytest.mark.parametrize("render", [render_html, render_markdown, render_junit])
def test_a_finding_names_the_keywords_of_its_store(render: Callable[[RunReport], str]) -> None:
    needing = finding(store_options={"clock": True, "default_ttl_ms": 1000})
    assert "store opened with clock and default_ttl_ms=1000" in render(assemble(run(needing)))
    assert "store opened with" not in render(assemble(run(finding(store_options={}))))
