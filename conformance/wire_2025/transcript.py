"""A session as curl commands that a user can paste: initialize first, then what was sent.

Session id and ids of tasks are shell variables, set by the commands that begin them.  Secrets never appear: a header
that names an environment variable names it here too, any other value is left out.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcptasks.conformance.wire.secrets import HeaderLine, shown_url
from mcptasks.conformance.wire_2025.names import HEADER_SESSION, HEADER_VERSION, VERSION
from mcptasks.conformance.wire_2025.session import CAPABILITIES
from mcptasks.strategies.json_values import JSON

__all__ = ["Transcript25"]

_MOST: Final = 60
_LONGEST: Final = 8192
_TAKE_ID: Final = """ | grep -o '"taskId": *"[^"]*"' | head -n 1 | cut -d '"' -f 4"""
_TAKE_SESSION: Final = " -D - -o /dev/null | tr -d '\\r' | grep -i '^mcp-session-id:' | cut -d ' ' -f 2"


@dataclass(frozen=True, slots=True)
class _Line:
    """What was done: a request, the beginning of a session, or, with only a note, something else."""

    method: str = ""
    params: Mapping[str, JSON] | None = None
    creates: str = ""
    note: str = ""
    session: int = 1
    begins: bool = False
    http: str = ""
    """HTTP method of a request that was sent as it is."""
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: str = ""


class Transcript25:
    """What was sent in a sequence, in one session or several.

    Sessions are numbered: 1 is the one that everything begins with.

    Args:
        url: of the server.
        headers: the user's.
        others: those of the second caller.
    """

    def __init__(self, url: str, headers: tuple[HeaderLine, ...] = (), others: tuple[HeaderLine, ...] = ()) -> None:
        self._url = shown_url(url)
        self._headers = headers
        self._others = others
        self._lines: list[_Line] = []
        self._foreign: set[int] = set()

    def clear(self) -> None:
        """Forget everything."""
        self._lines.clear()

    def add(
        self, method: str, params: Mapping[str, JSON] | None, *, creates: str = "", note: str = "", session: int = 1
    ) -> None:
        """Note a request.

        Args:
            creates: name of the task that it creates.
            note: ``waits`` for a request that runs in the background while the others go on.
            session: its number.
        """
        self._lines.append(_Line(method, params, creates, note, session))

    def begin(self, session: int, *, other: bool = False) -> None:
        """Note that a further session begins, of the second caller if ``other``."""
        if other:
            self._foreign.add(session)
        self._lines.append(_Line("initialize", session=session, begins=True))

    def raw(self, http_method: str, headers: Mapping[str, str | None], body: str, *, session: int = 1) -> None:
        """Note a request that was sent as it is, with these headers over those of a session's request."""
        self._lines.append(_Line(http=http_method, headers=dict(headers), body=body, session=session))

    def remark(self, text: str) -> None:
        """Note what is no request of its own, in words."""
        self._lines.append(_Line(note=text))

    def commands(self, tasks: Mapping[str, str]) -> tuple[str, ...]:
        """One line for each request, ``initialize`` before them.

        Args:
            tasks: ids by the name of the task.
        """
        variables = {task_id: _variable(name) for name, task_id in tasks.items() if _plain(task_id)}
        skipped = max(0, len(self._lines) - _MOST)
        out = self._opening(1)
        out += [line for item in self._lines[:skipped] if item.begins for line in self._opening(item.session)]
        if skipped:
            out.append(f"# {skipped} requests before these are left out")
        for number, line in enumerate(self._lines[skipped:], 2):
            if line.begins:
                out += self._opening(line.session)
            elif line.http:
                out.append(self._raw(line, variables))
            elif line.method:
                out.append(self._command(number, line, variables))
            else:
                out.append(f"# {line.note}")
        return tuple(out)

    def _opening(self, session: int) -> list[str]:
        params = {
            "protocolVersion": VERSION,
            "capabilities": dict(CAPABILITIES),
            "clientInfo": {"name": "mcptasks", "version": "1"},
        }
        first = self._curl(
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, {}, session, begins=True
        )
        begun = self._curl({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}, session)
        name = _session(session)
        return [f'{name}=$({first}{_TAKE_SESSION}); echo "${name}"', begun]

    def _command(self, number: int, line: _Line, variables: Mapping[str, str]) -> str:
        body: dict[str, JSON] = {"jsonrpc": "2.0", "id": number, "method": line.method}
        if line.params is not None:
            body["params"] = dict(line.params)
        if len(json.dumps(body)) > _LONGEST:
            return f"# {line.method} with a large body: see the replay file"
        command = self._curl(body, variables, line.session)
        if line.creates:
            name = _variable(line.creates)
            return f'{name}=$({command}{_TAKE_ID}); echo "${name}"'
        return f"{command} &" if line.note == "waits" else command

    def _raw(self, line: _Line, variables: Mapping[str, str]) -> str:
        changed = {name.lower(): value for name, value in line.headers.items()}
        parts = [r"curl -sS -i -w '\n'", "" if line.http == "POST" else f"-X {line.http}", shlex.quote(self._url)]
        own: dict[str, str] = {"Accept": "text/event-stream"}
        if line.http != "GET":
            own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        own[HEADER_VERSION] = VERSION
        parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in own.items() if name.lower() not in changed]
        if HEADER_SESSION.lower() not in changed:
            parts.append(f'-H "{HEADER_SESSION}: ${_session(line.session)}"')
        parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in changed.items() if value is not None]
        parts += [f"-H {item.for_shell}" for item in self._of(line.session)]
        if line.body:
            parts.append(f"--data-binary {_named(shlex.quote(line.body), variables)}")
        return " ".join(part for part in parts if part)

    def _of(self, session: int) -> tuple[HeaderLine, ...]:
        return self._others if session in self._foreign else self._headers

    def _curl(
        self, body: Mapping[str, JSON], variables: Mapping[str, str], session: int, *, begins: bool = False
    ) -> str:
        text = json.dumps(body, ensure_ascii=True, separators=(",", ":"))
        parts = [r"curl -sS -w '\n'", shlex.quote(self._url)]
        lines = ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
        if not begins:
            lines.append(f"{HEADER_VERSION}: {VERSION}")
        parts += [f"-H {shlex.quote(line)}" for line in lines]
        if not begins:
            parts.append(f'-H "{HEADER_SESSION}: ${_session(session)}"')
        parts += [f"-H {line.for_shell}" for line in self._of(session)]
        parts.append(f"--data-binary {_named(shlex.quote(text), variables)}")
        return " ".join(parts)


def _session(number: int) -> str:
    return "SESSION" if number == 1 else f"SESSION{number}"


def _named(quoted: str, variables: Mapping[str, str]) -> str:
    """Quoted JSON with ids of tasks as shell variables."""
    # The longest id first: one may be the beginning of another.
    for task_id in sorted(variables, key=len, reverse=True):
        quoted = quoted.replace(f'"taskId":"{task_id}"', f"""\"taskId\":\"'"${variables[task_id]}"'\"""")
    return quoted


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


def _plain(task_id: str) -> bool:
    """Whether an id can go through a shell variable into JSON as it is."""
    return re.fullmatch(r"[A-Za-z0-9_.~:/+=-]+", task_id) is not None
