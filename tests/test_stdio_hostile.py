"""Servers over stdio that misbehave: each ends in one clear line, within bounded time and memory."""

from __future__ import annotations

import resource
import shlex
import sys
import time
from pathlib import Path

import psutil
import pytest
from stdio_driver import over

from mcptasks.conformance.engine.wire_server import Introduction, ServerSource
from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.wire.problems import Smell
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire.stdio_lines import LONGEST_LINE, Lines, Messages, TooLongError

READ = "import sys, os, time; line = sys.stdin.readline(); "
BIG = "chunk = b'x' * (1 << 20); "


def python(code: str) -> str:
    return shlex.join([sys.executable, "-S", "-c", code])


async def nothing(source: ServerSource, told: Introduction) -> None:
    raise AssertionError("it has introduced itself")


def line_of(code: str, answer_s: float = 4.0) -> str:
    """The one line with which a server is given up."""
    started = time.monotonic()
    with pytest.raises(TargetUnusableError) as caught:
        over(python(code), nothing, start_s=answer_s, gently=0.02)
    assert time.monotonic() - started < 40
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith("'")
    return line.partition("': ")[2] or line


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise SystemExit(3)", "has ended with exit code 3"),
        (
            "import sys; sys.exit('no database')",
            "has ended with exit code 1 before it answered server/discover: no dat",
        ),
        (READ + "time.sleep(60)", "gave no answer to server/discover within 1 s"),
        (READ + "print('hello', flush=True); time.sleep(60)", 'comes with "hello" on standard output'),
        (READ + "os.write(1, b'\\xff\\xfe\\x00{'); os.write(1, b'\\n'); time.sleep(60)", "is not UTF-8"),
        (READ + "os.close(1); time.sleep(60)", "has closed its standard output"),
        (READ + "os.kill(os.getpid(), 9)", "was ended by signal 9"),
        (READ + "print('[]', flush=True); time.sleep(60)", "on standard output, which is no MCP message"),
        (
            READ + 'print(\'{"jsonrpc":"2.0","id":"other","result":{}}\', flush=True); time.sleep(60)',
            "answers request 1",
        ),
        (READ + "os.close(0); os.close(1)", "has ended with exit code 0"),
    ],
)
def test_each_ends_in_one_clear_line(code: str, words: str) -> None:
    assert words in line_of(code, 1.0 if "within 1 s" in words else 4.0)


def test_a_line_that_is_too_long_is_refused() -> None:
    assert "writes a line of more than 8 MiB" in line_of(
        READ + BIG + "[os.write(1, chunk) for _ in range(10)]; time.sleep(60)"
    )


def test_a_line_without_end_takes_no_memory() -> None:
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    assert "writes a line of more than 8 MiB" in line_of(READ + BIG + "\nwhile True: os.write(1, chunk)")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before < 100 * 2**20


def test_a_server_that_will_not_end_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    code = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    )
    line_of(code, 3.0)
    assert not psutil.pid_exists(int(mark.read_text()))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "--command: there is no command"),
        ("'open", "--command: No closing quotation"),
        ("mcptasks-no-such-program --stdio", "cannot run mcptasks-no-such-program: No such file"),
    ],
)
def test_a_command_that_cannot_be_run_is_wrong_usage(command: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        over(command, nothing)


def test_options_of_http_do_not_go_with_a_command() -> None:
    with pytest.raises(UsageError, match="--start goes with one over HTTP"):
        ServerSpec(command="server", start="server")
    with pytest.raises(UsageError, match="a URL goes with one over HTTP"):
        ServerSpec("http://127.0.0.1/mcp", command="server")


# --- lines ------------------------------------------------------------------------------------------


def read(*lines: bytes) -> tuple[list[bytes], list[str]]:
    smells: list[Smell] = []
    reader = Messages(smells.append)
    found = [text for line in lines for text, _ in reader.take(line)]
    reader.end()
    return found, [smell.requirement for smell in smells]


MESSAGE = b'{"jsonrpc":"2.0","id":1,"result":{}}'


@pytest.mark.parametrize(
    ("lines", "count", "smells"),
    [
        ([MESSAGE, b"", b"  ", MESSAGE], 2, []),
        ([b"ready", MESSAGE], 1, ["stdio.messages-only"]),
        ([b"{", b' "jsonrpc": "2.0",', b' "id": 1, "result": {', b" }", b"}", MESSAGE], 2, ["stdio.one-line"]),
        ([MESSAGE[:20], MESSAGE[20:]], 1, ["stdio.one-line"]),
        ([b"{not json", MESSAGE], 1, ["stdio.messages-only"]),
        ([b"{", b"}", b"{"], 0, ["stdio.messages-only"]),
        ([b'{"level":"info"}', b"[1]", b"7"], 0, ["stdio.messages-only"] * 3),
        ([b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xe9"}}'], 1, ["stdio.utf8"]),
        ([b"[" * 100_000], 0, ["stdio.messages-only"]),
    ],
)
def test_what_can_be_read_is_read_and_noted(lines: list[bytes], count: int, smells: list[str]) -> None:
    found, noted = read(*lines)
    assert len(found) == count
    assert noted == smells


def test_lines_are_cut_wherever_chunks_end() -> None:
    data = b"one\r\n\ntwo\n" + b"x" * 20 + b"\nthree"
    for size in range(1, len(data)):
        lines, got = Lines(), []
        for start in range(0, len(data), size):
            got += lines.feed(data[start : start + size])
        assert got == [b"one", b"", b"two", b"x" * 20]


def test_a_long_line_is_dropped_and_the_next_is_read() -> None:
    lines = Lines(longest=10)
    with pytest.raises(TooLongError):
        list(lines.feed(b"x" * 11))
    assert list(lines.feed(b"x" * 100)) == []
    assert lines.skipped == 111
    assert list(lines.feed(b"x\nnext\n")) == [b"next"]
    assert LONGEST_LINE == 8 * 2**20
