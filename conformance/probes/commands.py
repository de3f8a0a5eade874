"""The requests of a probe as curl commands that a user can paste.

Ids of tasks are shell variables, set by the command that creates the task.  Secrets never appear, see
:mod:`mcptasks.conformance.wire.transcript`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from mcptasks.conformance.wire.secrets import HeaderLine, shown_url
from mcptasks.conformance.wire.transcript import stdio_preface

__all__ = ["Commands"]

_MOST: Final = 40
_LONGEST: Final = 8192
_BESIDE: Final = "-N --max-time 10 & sleep 0.5"
_TAKE_ID: Final = """ | grep -o '"taskId": *"[^"]*"' | head -n 1 | cut -d '"' -f 4"""


class Commands:
    """What a probe has sent.

    Args:
        url: of the server.
        headers: the user's.
        other_headers: sent instead as the second caller.
        command: that starts the server, if it is one over stdio: then the lines to write to it are given.
        peer_url: of the second replica.
    """

    def __init__(
        self,
        url: str,
        headers: tuple[HeaderLine, ...] = (),
        other_headers: tuple[HeaderLine, ...] = (),
        peer_url: str = "",
        command: str | None = None,
    ) -> None:
        self._program = command
        self._url = shown_url(url)
        self._peer_url = shown_url(peer_url) if peer_url else self._url
        self._headers = headers
        self._other_headers = other_headers
        self._sent: list[tuple[str, Sequence[tuple[bytes, bytes]], bytes, str, bool, bool]] = []
        self._ids: dict[str, str] = {}

    def add(
        self,
        http_method: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        *,
        creates: str = "",
        other: bool = False,
        peer: bool = False,
    ) -> None:
        """A request was sent, with these headers besides the user's; ``creates`` names the task that its answer tells
        of, ``other`` says that the second caller sent it, ``peer`` that the second replica got it."""
        self._sent.append((http_method, headers, body, creates, other, peer))

    def remark(self, text: str) -> None:
        """Something else happened than a request."""
        self._sent.append(("", (), text.encode(), "", False, False))

    def created(self, name: str, task_id: str) -> None:
        """The id of the task of that name."""
        if re.fullmatch(r"[A-Za-z0-9_.~:/+=-]+", task_id):
            self._ids[task_id] = name.upper()

    def lines(self) -> tuple[str, ...]:
        """The commands."""
        skipped = max(0, len(self._sent) - _MOST)
        out = [f"# {skipped} requests before these are left out"] if skipped else []
        if self._program is not None:
            lines = (self._line(method, body, creates) for method, _, body, creates, *_ in self._sent[skipped:])
            return (stdio_preface(self._program), *out, *lines)
        return (*out, *(self._command(*item) for item in self._sent[skipped:]))

    def _command(
        self,
        http_method: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        creates: str,
        other: bool,
        peer: bool,
    ) -> str:
        if not http_method:
            return f"# {body.decode()}"
        if len(body) > _LONGEST:
            return f"# {http_method} with a body of {len(body)} bytes"
        parts = [r"curl -sS -w ' HTTP %{http_code}\n'"]
        if http_method != "POST" or not body:
            parts.append(f"-X {shlex.quote(http_method)}")
        parts.append(shlex.quote(self._peer_url if peer else self._url))
        names = {name.lower() for name, _ in headers}
        parts += [f"-H {self._filled(_text(name) + ': ' + _text(value))}" for name, value in headers]
        # What curl adds by itself and the probe left out.
        parts += [f"-H '{name}:'" for name in ("Accept", "Content-Type") if name.lower().encode() not in names]
        parts += [f"-H {line.for_shell}" for line in (self._other_headers if other else self._headers)]
        before = ""
        if body.isascii() and b"\0" not in body:
            parts.append(f"--data-binary {self._filled(body.decode())}")
        elif body:
            escaped = "".join(f"\\{byte:03o}" for byte in body)
            before = f"printf '{escaped}' | "
            parts.append("--data-binary @-")
        if _listens(headers):
            # It stays open while what follows is sent.
            parts.append(_BESIDE)
        command = before + " ".join(parts)
        if not creates:
            return command
        variable = creates.upper()
        return f'{variable}=$({command}{_TAKE_ID}); echo "${variable}"'

    def _line(self, method: str, body: bytes, creates: str) -> str:
        if not method:
            return f"# {body.decode()}"
        if len(body) > _LONGEST:
            return f"# a line of {len(body)} bytes"
        text = body.decode("utf-8", "backslashreplace")
        for task_id in sorted(self._ids, key=len, reverse=True):
            text = text.replace(task_id, f"${self._ids[task_id]}")
        return f"{text}    # its answer has the taskId {creates.upper()}" if creates else text

    def _filled(self, text: str) -> str:
        quoted = shlex.quote(text)
        # The longest id first: one may be the beginning of another.
        for task_id in sorted(self._ids, key=len, reverse=True):
            quoted = quoted.replace(task_id, f"""'"${self._ids[task_id]}"'""") if quoted.startswith("'") else quoted
        return quoted


def _listens(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"mcp-method" and value == b"subscriptions/listen" for name, value in headers)


def _text(value: bytes) -> str:
    return value.decode("latin-1")
