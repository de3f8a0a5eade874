"""The command line: a clear line and the right exit code for whatever is typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mcptasks.conformance.cli import main
from mcptasks.conformance.cli.targets import TargetOptions, targets_of
from mcptasks.conformance.runner.environment import child_environment
from mcptasks.conformance.wire.spec import ServerSpec

BAD_STORES = """
import os, sys
from mcptasks.fixtures.stores.memory import MemoryTaskStore

class Wrong(MemoryTaskStore):
    async def set_cancelled(self, task_id):
        await super().set_cancelled(task_id)
        return True

class Sized(MemoryTaskStore):
    def __init__(self, size, name="x"):
        super().__init__()

class Half:
    def create_task(self): pass
    def get_task(self, task_id): pass

class Narrow(MemoryTaskStore):
    async def get_task(self): pass

class Exits(MemoryTaskStore):
    async def set_failed(self, task_id, error):
        os._exit(3)

class Silent(MemoryTaskStore):
    async def create_task(self):
        os._exit(9)

def refuses():
    raise RuntimeError("no database")

def leaves():
    sys.exit(4)

number = 5
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bad.py").write_text(BAD_STORES)
    (tmp_path / "broken.py").write_text("x = (")
    (tmp_path / "needs.py").write_text("import not_installed")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def _command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import sys; from mcptasks.conformance.cli import main; sys.exit(main())", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        **options,  # type: ignore[call-overload]
    )


# --- mistakes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "--stor", "x"], 2, "no such option: --stor"),
        (["rnu"], 2, "Did you mean 'run'?"),
        (["run", "more"], 2, "unexpected extra argument"),
        (["run", "--seed", "x"], 2, "--seed"),
        (["run", "--level", "most"], 2, "'must', 'should', 'may'"),
        (["run", "--budget", "soon"], 2, "--budget: 'soon' is no budget"),
        (["run", "--timeout", "0"], 2, "--timeout must be a number of seconds above zero"),
        (["run", "--memory-limit", "much"], 2, "write 512M or 2G"),
        (["run", "--memory-limit", "5"], 2, "too little"),
        (["run", "--select", "store.cancel"], 2, "did you mean 'store.cancel.*'?"),
        (["run", "--select", "store.cancel.tru"], 2, "did you mean 'store.cancel.true'?"),
        (["run", "--select", "zebra"], 2, "no requirement on a store matches 'zebra'"),
        (["run", "--select", "store.completed.absent", "--level", "must"], 2, "nothing to check"),
        (["run", "--revision", "1"], 2, "unknown; write 2026-07-28"),
        (["run", "--store", "bad"], 2, "write module:attribute"),
        (["run", "--store-arg", "x=1"], 2, "goes with --store"),
        (["run", "--adapter", "mcp"], 2, "goes with --store"),
        (["run", "--store", "bad:Wrong", "--adapter", "pcm"], 2, "known are mcp"),
        (["run", "--store", "bad:Sized", "--store-arg", "size"], 2, "write name=JSON"),
        (["run", "--store", "bad:Sized", "--store-arg", "size=ten"], 2, "a text is written with quotes"),
        (["run", "--store", "bad:Sized", "--store-arg", "size=1", "--store-arg", "size=2"], 2, "given twice"),
        (["run", "--store", "bad:Sized", "--store-arg", "clock=1"], 2, "which the suite passes itself"),
        (["run", "--store", "nowhere:Store"], 2, "there is no module 'nowhere'"),
        (["run", "--store", "nowhere.py:Store"], 2, "there is no file nowhere.py"),
        (["run", "--store", "broken.py:Store"], 2, "SyntaxError"),
        (["run", "--store", "needs:Store"], 2, "there is no module 'not_installed'"),
        (["run", "--store", "bad:wrong"], 2, "did you mean Wrong?"),
        (["run", "--store", "bad:Half"], 2, "Half lacks set_input_requests, resolve_input_requests"),
        (["run", "--store", "bad:Narrow"], 2, "get_task must take 1 positional argument"),
        (["run", "--store", "bad:number"], 2, "int lacks create_task"),
        (["run", "--store", "bad:Sized"], 2, "--store-arg name=JSON"),
        (["run", "--baseline", "none.yaml"], 2, "cannot read the baseline none.yaml"),
        (["run", "--report-dir", "bad.py", "--budget", "300"], 2, "cannot use bad.py for reports"),
        (["replay"], 2, "missing argument"),
        (["replay", "none.json"], 2, "cannot read none.json"),
        (["replay", "bad.py"], 2, "is no replay file"),
        (["report", "nowhere"], 2, "cannot read nowhere"),
        (["requirements", "show", "store.cancel.tru"], 2, "did you mean 'store.cancel.true'?"),
        (["requirements", "list", "--revision", "1"], 2, "unknown revision"),
        (["requirements", "list", "--select", "zebra"], 2, "no requirement of that revision matches"),
    ],
)
def test_a_mistake_is_one_clear_line(run: Run, folder: Path, arguments: list[str], code: int, words: str) -> None:
    before = sorted(folder.iterdir())
    found, out, err = run(*arguments)
    assert found == code
    assert err.startswith("mcptasks: ")
    assert err.count("\n") == 1
    assert words in err
    assert out == ""
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before


def test_a_mistyped_id_in_the_baseline(run: Run, folder: Path) -> None:
    (folder / "b.yaml").write_text("requirements:\n  store.cancel.tru: {reason: x}\n")
    code, _, err = run("run", "--baseline", "b.yaml")
    assert code == 2
    assert "b.yaml:2" in err
    assert "store.cancel.true" in err


@pytest.mark.parametrize(
    ("store", "words"),
    [("bad:refuses", "no database"), ("bad:leaves", "SystemExit"), ("bad:Silent", "exit code 9")],
)
def test_an_unusable_target(run: Run, store: str, words: str) -> None:
    code, out, err = run("run", "--store", store, "--budget", "300", "--no-report")
    assert code == 3
    assert "unusable" in out
    assert words in out
    assert "Traceback" not in out + err


def test_no_arguments_show_the_help_and_check_nothing(run: Run) -> None:
    code, out, _ = run()
    assert code == 2
    assert "Commands:" in out


def test_a_fault_of_the_suite(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> int:
        raise ZeroDivisionError("by zero\nof all things")

    monkeypatch.setattr("mcptasks.conformance.runner.run.run_targets", broken)
    code, out, err = run("run", "--no-report")
    assert code == 5
    assert err.count("\n") == 1
    log = Path(err.rstrip().rpartition(" ")[2])
    assert "ZeroDivisionError: by zero of all things" in err
    assert "Traceback" in log.read_text()
    log.unlink()
    assert out == ""


def test_a_fault_in_the_child(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Child:
        output = ""

        def __init__(self, *_: object, **__: object) -> None: ...

        def messages(self) -> Sequence[dict[str, object]]:
            return [{"kind": "failed", "exit_code": 5, "message": "ValueError: x", "traceback": "Traceback: here"}]

        def close(self) -> None: ...

    monkeypatch.setattr("mcptasks.conformance.runner.supervisor.Child", Child)
    code, out, _ = run("run", "--store", "bad:Wrong", "--no-report")
    assert code == 5
    line = next(line for line in out.splitlines() if "details are in" in line)
    log = Path(line.rpartition(" ")[2])
    assert "Traceback: here" in log.read_text()
    log.unlink()


# --- run -----------------------------------------------------------------------------------


def test_run_replay_and_report(run: Run, folder: Path) -> None:
    code, out, _ = run("run", "--store", "bad.py:Wrong", "--budget", "1000", "--report-dir", "out")
    assert code == 1
    assert "FAIL store.cancel.false" in out
    left = {path.name for path in folder.iterdir()} - {"__pycache__"}
    assert left == {"bad.py", "broken.py", "needs.py", "out"}
    report = json.loads((folder / "out" / "report.json").read_text())
    assert report["outcome"] == "nonconformant"
    replay = f"out/{report['findings'][0]['replay']}"

    code, out, _ = run("replay", replay)
    assert code == 1
    assert "the finding shows again" in out
    assert "expected  cancel returns False" in out

    code, out, _ = run("replay", replay, "--store", "mcptasks.fixtures.stores.memory:MemoryTaskStore")
    assert code == 0
    assert "behaves" in out

    code, _, err = run("replay", replay, "--store", "bad:refuses")
    assert code == 3
    assert "no database" in err

    (folder / "out" / "report.html").unlink()
    code, out, _ = run("report", "out")
    assert code == 0
    assert "nonconformant" in out
    assert (folder / "out" / "report.html").exists()


def test_arguments_reach_the_factory(run: Run) -> None:
    code, out, _ = run(
        "run", "--store", "bad:Sized", "--store-arg", "size=3", "--store-arg", 'name="y"', "--budget", "300",
        "--select", "store.cancel.*", "--no-report",
    )  # fmt: skip
    assert code == 0, out


def test_a_baseline_and_strict(run: Run, folder: Path) -> None:
    (folder / "b.yaml").write_text(
        "requirements:\n  store.cancel.false-terminal: {reason: known}\n  store.cancel.false-absent: {reason: known}\n"
    )
    arguments = ["run", "--store", "bad:Wrong", "--budget", "1500", "--baseline", "b.yaml", "--no-report"]
    assert run(*arguments)[0] == 0
    code, out, _ = run(*arguments, "--strict")
    assert code == 4
    assert "strict" in out


def test_a_stale_baseline_is_a_failure(run: Run, folder: Path) -> None:
    (folder / "b.yaml").write_text("requirements:\n  store.create.working: {reason: known}\n")
    memory = "mcptasks.fixtures.stores.memory:MemoryTaskStore"
    code, out, _ = run("run", "--store", memory, "--budget", "500", "--baseline", "b.yaml", "--no-report")
    assert code == 1
    assert "stale" in out


def test_a_replay_of_a_target_that_dies(run: Run, folder: Path) -> None:
    run("run", "--store", "bad:Exits", "--budget", "300", "--select", "store.misc.*", "--report-dir", "out")
    (replay,) = (folder / "out" / "replays").iterdir()
    code, out, _ = run("replay", str(replay))
    assert code == 1
    assert "exit code 3" in out


def test_no_target_means_the_references(run: Run) -> None:
    code, out, _ = run("run", "--budget", "300", "--no-report")
    assert code == 0
    for name in ("memory (async)", "memory (plain def)", "SQLite"):
        assert f"reference: {name}" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_valid_report(folder: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mcptasks.conformance.cli", "run", "--budget", "60s", "--report-dir", "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "done:" in line:
            break
    process.send_signal(number)
    rest = process.stdout.read()
    assert process.wait(30) == 130, rest
    assert "Traceback" not in rest
    report = json.loads((folder / "out" / "report.json").read_text())
    assert "interrupted" in {item["outcome"] for item in report}
    events = (folder / "out" / "events.jsonl").read_text().splitlines()
    assert json.loads(events[-1])["exit_code"] == 130


def test_a_closed_pipe_keeps_the_exit_code(folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "mcptasks.conformance.cli", "run", "--store", "bad:Wrong", "--budget", "500"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == ""
    assert (folder / "mcptasks-report" / "report.json").exists()


@pytest.mark.parametrize(
    "arguments", [["requirements", "list"], ["requirements", "list", "--json"], ["gallery", "list"]]
)
def test_a_closed_pipe_is_quiet(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "mcptasks.conformance.cli", *arguments], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_ascii_terminal() -> None:
    done = _command("requirements", "show", "store.cancel.true", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


# --- the catalogue and the gallery ---------------------------------------------------------


def test_the_list_of_requirements(run: Run) -> None:
    code, out, _ = run("requirements", "list", "--select", "store.cancel.*", "--level", "must")
    assert code == 0
    assert "store.cancel.true" in out
    code, out, _ = run("requirements", "list", "--json")
    listed = json.loads(out)
    assert {"id", "level", "statement", "source", "verdict", "needs"} <= set(listed[0])
    assert any(item["id"].startswith("store.") for item in listed)


def test_one_requirement(run: Run) -> None:
    code, out, _ = run("requirements", "show", "store.cancel.true")
    assert code == 0
    for words in ("MUST", "source", "faults that prove the check", "lawful variants"):
        assert words in out
    _, out, _ = run("requirements", "show", "store.cancel.true", "--json")
    shown = json.loads(out)
    assert shown["faults"][0].keys() == {"name", "summary"}


def test_the_coverage(run: Run) -> None:
    code, text, _ = run("requirements", "--coverage")
    assert "missing        0" in text
    _, out, _ = run("requirements", "--coverage", "--json")
    found = json.loads(out)
    assert found["store"]["missing"] == []
    assert code == (1 if found["server"]["missing"] else 0)
    for kind in ("store", "server"):
        assert all(found[kind]["excluded"].values())
        assert all(found[kind]["implemented"].values())
    assert "refused-cancel-cancels" in found["server"]["implemented"]["tasks.cap.cancel-undeclared"]


def test_the_gallery(run: Run) -> None:
    code, out, _ = run("gallery", "list")
    assert code == 0
    assert "cancel-returns-one" in out
    _, out, _ = run("gallery", "list", "--json")
    assert {entry["kind"] for entry in json.loads(out)} == {"fault", "variant"}


# --- start-up ------------------------------------------------------------------------------


def test_help_loads_little() -> None:
    code = (
        "import sys\nfrom mcptasks.conformance.cli import main\nmain(['run', '--help'])\n"
        "heavy = {'hypothesis', 'yaml', 'psutil', 'jinja2', 'httpx', 'starlette', 'rich.console'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_version(run: Run) -> None:
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("mcptasks ")


def test_what_a_child_inherits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/first")
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    with child_environment(["/first", str(folder), "", sys.prefix + "/lib"]):
        assert os.environ["PYTHONPATH"].split(os.pathsep) == ["/first", str(folder)]
        storage = Path(os.environ["HYPOTHESIS_STORAGE_DIRECTORY"])
        assert storage.is_dir()
    assert os.environ["PYTHONPATH"] == "/first"
    assert "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ
    assert not storage.exists()
    (folder / ".hypothesis").mkdir()  # the user has one: it is used
    with child_environment():
        assert "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ


def test_the_references_of_the_earlier_revision_are_embedded_too() -> None:
    specs = [target.spec for target in targets_of(TargetOptions(revision="2025-11-25"))]
    assert [spec.revision for spec in specs] == ["2025-11-25"] * 3
    assert isinstance(specs[2], ServerSpec)
