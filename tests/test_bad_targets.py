"""Hostile stores through the real command line: one clear line, the right exit code, and never a hang.

Every run is a process of its own with a deadline, and after each everything that reached the
terminal or a file is looked through.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.runner.child import Child
from mcptasks.conformance.runner.job import Job, StoreSpec

STORES = Path(__file__).with_name("bad_stores.py")
_PATIENCE = 180.0

_BAD_MODULES = {
    "raises": "raise RuntimeError('\\x1b[2J at import')",
    "leaves": "import sys; sys.exit(3)",
    "prints": "print('\\x1b[2Jhello' * 1000)\nfrom mcptasks.fixtures.stores.memory import MemoryTaskStore as Store",
    "dies": "import os; os._exit(0)",
    "blocks": "import time; time.sleep(1000)",
}


@dataclass
class Ran:
    """What one run left."""

    code: int
    out: str
    err: str
    report: dict[str, Any]

    @property
    def findings(self) -> dict[str, list[list[str]]]:
        """The operations' names of each finding, by requirement."""
        found: dict[str, list[list[str]]] = {}
        for item in self.report["findings"]:
            found.setdefault(item["requirement"], []).append([step["op"] for step in item["operations"]])
        return found

    def told(self, pattern: str) -> bool:
        """Whether a line of the terminal matches."""
        return re.search(pattern, self.out + self.err) is not None


Run = Callable[..., Ran]


def _command(store: str, *options: str) -> list[str]:
    given = ["--budget", "400", "--timeout", "0.4", "--settle", "0.2", *options]
    return [sys.executable, "-m", "mcptasks.conformance.cli", "run", "--store", store, *given]


def _start(folder: Path, store: str, *options: str) -> subprocess.Popen[bytes]:
    name = store if ":" in store else f"{STORES}:{store}"
    return subprocess.Popen(
        _command(name, *options),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def _ended(process: subprocess.Popen[bytes], folder: Path) -> Ran:
    try:
        out, err = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    for raw in (out, err):
        _harmless(raw, "the terminal")
        assert b"Traceback" not in raw
    report = _report(folder / "mcptasks-report")
    if report and process.returncode not in (0, 1, 130):
        assert report["findings"] == []
    return Ran(process.returncode, out.decode(), err.decode(), report)


def _report(directory: Path) -> dict[str, Any]:
    """``report.json``, if there is one; every file in the directory is harmless and well-formed."""
    for path in directory.rglob("*"):
        if path.is_file():
            _harmless(path.read_bytes(), path.name)
    if not (directory / "events.jsonl").exists():
        return {}
    events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    assert events[-1]["event"] == "run_finished"
    report: dict[str, Any] = json.loads((directory / "report.json").read_bytes())
    assert events[-1]["outcome"] == report["outcome"]
    return report


def _harmless(raw: bytes, where: str) -> None:
    """No control character but line feeds, no text that runs from right to left, no command to a CI system."""
    text = raw.decode("utf-8")
    bad = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert bad is None, f"{bad[0]!r} in {where}"
    if where == "the terminal":
        assert not re.search(r"^\s*::", text, re.MULTILINE)
    assert len(raw) < 2_000_000


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(store: str, *options: str) -> Ran:
        return _ended(_start(tmp_path, store, *options), tmp_path)

    return call


def _side_by_side(tmp_path: Path, stores: list[str], *options: str) -> Iterator[tuple[str, Ran]]:
    """Several runs at once: for stores that spend their time in waiting."""
    started = []
    for number, store in enumerate(stores):
        folder = tmp_path / str(number)
        folder.mkdir()
        started.append((store, _start(folder, store, *options), folder))
    for store, process, folder in started:
        yield store, _ended(process, folder)


# --- opening ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store", "code", "words"),
    [
        ("raises.py:Store", 2, r"importing raises\.py raises RuntimeError: .{0,12}\[2J at import"),
        ("leaves.py:Store", 2, r"importing leaves\.py raises SystemExit: 3"),
        ("dies.py:Store", 3, r"importing it: it ended the process with exit code 0"),
        ("gives_nothing", 2, r"NoneType lacks create_task, get_task, set_input_requests"),
        ("Half", 2, r"Half lacks set_input_requests, .* on_input_response\n"),
        ("demands", 2, r"missing 1 required positional argument: 'address'; .*--store-arg"),
        ("refuses", 3, r"opening the store raises RuntimeError: no database"),
        ("refuses_to_enter", 3, r"opening the store raises RuntimeError: the context manager raises"),
        ("Unreadable", 3, r"opening the store raises RuntimeError"),
        ("second_time_raises", 3, r"opening the store raises ConnectionError: too many connections"),
        ("ExitsAtCreate", 3, r"creating a first task: it ended the process with exit code 9"),
    ],
)
def test_what_cannot_be_opened(run: Run, tmp_path: Path, store: str, code: int, words: str) -> None:
    for name, text in _BAD_MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    ran = run(store)
    assert (ran.code, ran.told(words)) == (code, True)
    if code == 2:
        assert ran.err.startswith("mcptasks: ")
        assert ran.err.count("\n") == 1
        assert not (tmp_path / "mcptasks-report").exists()
    else:
        assert ran.err == ""
        assert ran.report["outcome"] == "unusable"


def test_what_never_answers(tmp_path: Path) -> None:
    (tmp_path / "blocks.py").write_text(_BAD_MODULES["blocks"])
    names = {
        f"{tmp_path / 'blocks.py'}:Store": "importing it",
        "waits": "opening the store",
        "blocks": "opening the store",
        "second_time_blocks": "opening a further store",
        "CreateSleeps": "creating a first task",
    }
    for store, ran in _side_by_side(tmp_path, list(names)):
        assert ran.code == 3, store
        assert ran.told(rf"unusable  .*{names[store]}.*: it was still under way after 4\.8 s"), store


def test_a_module_that_prints(run: Run, tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(_BAD_MODULES["prints"])
    assert run("prints.py:Store", "--budget", "300").code == 0


# --- exceptions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["RaisesOddly", "RaisesOddlyPlain"])
def test_whatever_a_store_raises_is_its_answer(run: Run, store: str) -> None:
    ran = run(store, "--budget", "1200")
    assert ran.code == 1
    assert {
        "store.input.transition",
        "store.resolve.unknown-key",
        "store.cancel.false-absent",
        "store.completed.transition",
        "store.failed.transition",
        "store.event.unsubscribe",
    } <= set(ran.findings)
    assert not ran.told("goes without")  # nothing of it hangs
    assert "store.misc.call-ends" in ran.findings  # sys.exit ends a process that does not expect it


def test_a_store_that_raises_always(run: Run) -> None:
    ran = run("RaisesAlways")
    assert ran.code == 1
    assert ran.findings == {"store.create.working": [["create"]]}


@pytest.mark.parametrize("store", ["Interrupts", "StopsTheLoop"])
def test_a_loop_that_is_stopped_goes_on(run: Run, store: str) -> None:
    assert run(store).code == 0


@pytest.mark.parametrize(
    ("store", "requirement"),
    [("CancelsItsCaller", "store.failed.transition"), ("CancelsLater", "store.misc.call-ends")],
)
def test_a_store_that_cancels_its_caller(run: Run, store: str, requirement: str) -> None:
    ran = run(store)
    assert ran.code == 1
    assert ["create", "fail"] in ran.findings[requirement] or ["fail"] in ran.findings[requirement]


# --- never ending, and dying --------------------------------------------------------------------------


def test_a_call_that_hangs_is_named_and_left_out(tmp_path: Path) -> None:
    hangs = {
        "Waits": "fail",
        "WaitsStubbornly": "fail",
        "Sleeps": "fail",
        "SubscribeWaits": "subscribe",
        "UnsubscribeWaits": "unsubscribe",
        "UnsubscribeSleeps": "unsubscribe",
        "GetWaits": "get",
    }
    for store, ran in _side_by_side(tmp_path, list(hangs)):
        name = hangs[store]
        assert ran.code == 1, store
        assert set(ran.findings) == {"store.misc.call-ends"}, store
        (sequence,) = ran.findings["store.misc.call-ends"]
        assert len(sequence) <= 2, store
        assert (sequence[-1] == name) or name == "unsubscribe", store
        (finding,) = ran.report["findings"]
        assert finding["message"].startswith(f"{name}"), store
        if name != "get":
            assert ran.told(rf"goes without (subscribe and )?{name}: "), store
            assert ran.report["operations"] >= 350, store
            verdicts = {item["id"]: item["verdict"] for item in ran.report["requirements"]}
            assert verdicts["store.completed.transition"] == "pass", store


@pytest.mark.parametrize(
    ("store", "sequence", "how"),
    [
        ("Spins", ["complete"], "it was still under way after 0.4 s"),
        ("Exits", ["fail"], "it ended the process with exit code 0"),
        ("Aborts", ["complete"], "killed by SIGABRT"),
        ("KillsItsGroup", ["cancel"], "killed by SIGKILL"),
        ("ClosesDescriptors", ["fail"], "it closed the file descriptors of its process"),
        ("ClosesDescriptorsAndEats", ["fail"], "grew above 200 MiB of memory"),
        ("Babbles", ["fail"], "it was still under way after 0.4 s"),
        ("Eats", ["fail"], "grew above 200 MiB of memory"),
    ],
)
def test_a_call_that_ends_its_process(run: Run, store: str, sequence: list[str], how: str) -> None:
    ran = run(store, "--memory-limit", "200M")
    assert ran.code == 1
    (found,) = ran.findings["store.misc.call-ends"]
    assert found[-1:] == sequence
    assert ran.report["findings"][0]["actual"].endswith(how)
    assert ran.report["operations"] >= 350  # and the run went on without it


def test_a_death_after_a_finding(run: Run) -> None:
    ran = run("ExitsLate", "--budget", "4k")
    assert ran.code == 1
    assert "store.cancel.false-absent" in ran.findings
    assert ran.report["outcome"] == "nonconformant"


def test_a_death_that_does_not_come_again(run: Run) -> None:
    ran = run("DiesOnce")
    assert ran.code == 0
    assert ran.told(r"died once and not again with the same calls \(it ended the process with exit code 5\)")


def test_closing_that_never_ends(run: Run) -> None:
    ran = run("CloseBlocks")
    assert ran.code == 0
    assert ran.told("closing a store does not end")


# --- litter -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["Prints", "Litters", "WritesToDescriptors"])
def test_litter_does_no_harm(run: Run, store: str) -> None:
    ran = run(store, "--budget", "1000")  # enough to come to Hypothesis, which is imported late
    assert ran.code == 0
    assert ran.report["operations"] < 2000


def test_no_process_outlives_the_run(run: Run, tmp_path: Path) -> None:
    assert run("Forks").code == 0
    for name in ("forked.pid", "daemon.pid"):
        assert _gone([int((tmp_path / name).read_text())]), name


# --- records and events ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store", "requirement"),
    [
        ("Attributes", "store.get.current"),
        ("equal_id", "store.get.current"),
        ("escaped_status", "store.get.current"),
        ("evil_requests", "store.misc.status-pending"),
        ("endless_result", "store.misc.payload-status"),
        ("huge_result", "store.misc.payload-status"),
        ("odd_times", "store.create.timing-metadata"),
        ("odd_zone", "store.create.timestamps"),
        ("garbage", "store.create.working"),
        ("OddIds", "store.cancel.false-absent"),
        ("OddUnsubscribe", "store.event.unsubscribe"),
        ("UnhashableEvents", "store.event.payload"),
    ],
)
def test_garbage_is_a_finding(run: Run, store: str, requirement: str) -> None:
    ran = run(store, "--fail-fast", "--select", requirement)
    assert ran.code == 1
    assert requirement in ran.findings


def test_garbage_of_every_kind_in_turn(run: Run) -> None:
    ran = run("Medley", "--budget", "500")
    assert ran.code == 1
    assert ran.findings or ran.told("not counted as a finding")


def test_huge_ids(run: Run) -> None:
    assert run("HugeIds").code == 0


def test_events_from_threads_at_any_time(run: Run) -> None:
    ran = run("OddEvents", "--budget", "600")
    assert ran.code in (0, 1)  # it depends on when they come
    assert set(ran.findings) <= {"store.event.payload"}


# --- at random --------------------------------------------------------------------------------------------------


def test_what_is_not_seen_again_accuses_nobody(run: Run) -> None:
    ran = run("Flaky")
    assert ran.code == 0
    assert ran.findings == {}
    assert ran.told(r"warning: .*not again; not counted as a finding")


def test_a_store_that_is_wrong_at_random(run: Run) -> None:
    ran = run("FlakyAtRandom")
    assert ran.code in (0, 1)
    assert all(name.startswith("store.") for name in ran.findings)


# --- interrupted --------------------------------------------------------------------------------------------------


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 15
    while any(_lives(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _under_way(folder: Path, store: str, event: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A run that has written an event, and the processes that it has started."""
    process = _start(folder, store, "--budget", "5m")
    events = folder / "mcptasks-report" / "events.jsonl"
    deadline = time.monotonic() + _PATIENCE
    while not (events.exists() and f'"event":"{event}"' in events.read_text().replace('": "', '":"')):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process, [child.pid for child in psutil.Process(process.pid).children(recursive=True)]


@pytest.mark.parametrize(("number", "group"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False)])
def test_an_interrupt_leaves_a_valid_report(tmp_path: Path, number: signal.Signals, group: bool) -> None:
    process, children = _under_way(tmp_path, "SlowAndWrong", "finding")
    assert children
    if group:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    ran = _ended(process, tmp_path)
    assert ran.code == 130
    assert ran.report["outcome"] == "interrupted"
    assert "store.cancel.false-absent" in ran.findings
    assert _gone(children)


def test_an_interrupt_while_a_death_is_looked_into(tmp_path: Path) -> None:
    process, _ = _under_way(tmp_path, "Sleeps", "progress")
    time.sleep(1.5)  # whatever it does by now: hanging, being killed, or being shrunk
    process.send_signal(signal.SIGTERM)
    ran = _ended(process, tmp_path)
    assert ran.code == 130
    assert ran.report["outcome"] == "interrupted"


@pytest.mark.parametrize("store", ["Spins", "Litters"])
def test_a_killed_parent_leaves_no_child(tmp_path: Path, store: str) -> None:
    process, children = _under_way(tmp_path, store, "progress")
    process.kill()
    process.communicate(timeout=_PATIENCE)
    assert children
    assert _gone(children)
    lines = (tmp_path / "mcptasks-report" / "events.jsonl").read_bytes().split(b"\n")
    assert all(json.loads(line) for line in lines[:-1])


def test_a_child_that_nobody_listens_to_ends_with_what_it_started() -> None:
    spec = StoreSpec(f"{STORES}:Litters")
    child = Child(Job("campaign", spec, Settings(budget=Budget(seconds=300))), memory_limit=1 << 30)
    try:
        process = psutil.Process(child._process.pid)
        for message in child.messages():
            if message is not None and message["kind"] == "progress":
                break
        started = [process.pid, *(one.pid for one in process.children(recursive=True))]
        assert len(started) > 1
        os.close(child._messages)  # as when the parent has died, and before its standard input tells so
        assert _gone(started)
    finally:
        child._messages = os.open(os.devnull, os.O_RDONLY)
        child.close()
