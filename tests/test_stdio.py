"""Servers over stdio: the reference passes, each planted fault is found under its own name, lawful ones are not accused."""

from __future__ import annotations

import pytest
from stdio_driver import probe_stdio

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.probes import Probe, stdio
from mcptasks.conformance.wire.stdio_scope import NOT_OVER_STDIO, over_stdio
from mcptasks.fixtures.gallery import server_stdio
from mcptasks.fixtures.gallery.registry import Fault, Variant
from mcptasks.fixtures.gallery.stdio_entry import command_of
from mcptasks.strategies import operations

OURS = {item.name for item in stdio.GROUP.probes}


def ours(item: Probe) -> bool:
    return item.name in OURS


@pytest.mark.parametrize("entry", server_stdio.GROUP.faults, ids=lambda entry: entry.name)
def test_each_planted_fault_is_found_and_nothing_else(entry: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_EXIT_S", 1.0)
    shown = {item.name for item in entry.counterexample if isinstance(item, operations.Probe)}
    found = probe_stdio(command_of(entry.name), lambda item: item.name in shown)
    assert found.requirements == list(entry.requirements)


@pytest.mark.parametrize("entry", server_stdio.GROUP.variants, ids=lambda entry: entry.name)
def test_lawful_servers_are_not_accused(entry: Variant) -> None:
    if "rpc.order-free" in entry.requirements:
        overlapping = probe_stdio(command_of(entry.name), lambda item: item.name == "create.at-once")
        assert overlapping.requirements == []
        assert overlapping.exercised["tasks.create.durable"]
        return
    ends = entry.requirements == ("stdio.eof-exit",)
    found = probe_stdio(command_of(entry.name), lambda item: ours(item) and (item.name == "stdio.end-of-input") == ends)
    assert found.requirements == []
    assert found.skipped == {}
    if ends:
        assert found.exercised["stdio.eof-exit"]
        return
    assert found.exercised["stdio.utf8"]
    assert found.exercised["stdio.cancel-silent"]
    logs = entry.name.startswith("stdio-logs")
    label = "logs to standard error" if logs else "leaves standard error empty"
    assert found.choices["stdio.stderr-logging", label]


def test_every_requirement_is_judged_and_has_its_fault() -> None:
    judged = {name for item in stdio.GROUP.probes for name in item.requirements}
    entries = [item for item in load_catalogue().for_target("server", "2026-07-28") if item.id.startswith("stdio.")]
    assert {item.id for item in entries} == judged
    planted = {entry.requirements[0] for entry in server_stdio.GROUP.faults}
    assert {item.id for item in entries if item.verdict != "accept"} == planted


def test_what_needs_http_is_not_judged_over_stdio() -> None:
    known = {item.id for item in load_catalogue()}
    assert {glob for glob in NOT_OVER_STDIO if "*" not in glob} <= known
    assert over_stdio("http.method-unknown-404") is None
    assert over_stdio("http.utf8") == "stdio.utf8"
    assert over_stdio("tasks.create.durable") == "tasks.create.durable"
    assert over_stdio(None) is None
