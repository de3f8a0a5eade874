"""A session as curl commands that a user can paste: initialize first, then what was sent.

Session id and ids of tasks are shell variables, set by the commands that begin them.  Secrets never appear: a header
that names an environment variable names it here too, any other value is left out.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Final

from mcptasks.conformance.wire.secrets import HeaderLine, shown_url
from mcptasks.conformance.wire_2025.names import HEADER_SESSION, HEADER_VERSION, VERSION
from mcptasks.conformance.wire_2025.session import CAPABILITIES
from mcptasks.strategies.json_values import JSON

__all__ = ["Transcript25"]

_FIRST: Final = "SESSION"
_BEGINS: Final = "initialize a further session"
_MOST: Final = 60
_LONGEST: Final = 8192
_TAKE_ID: Final = """ | grep -o '"taskId": *"[^"]*"' | head -n 1 | cut -d '"' -f 4"""
_TAKE_SESSION: Final = " -D - -o /dev/null | tr -d '\\r' | grep -i '^mcp-session-id:' | cut -d ' ' -f 2"


class Transcript25:
    """What was sent in a sequence.

    Args:
        url: of the server.
        headers: the user's.
    """

    def __init__(self, url: str, headers: tuple[HeaderLine, ...] = ()) -> None:
        self._url = shown_url(url)
        self._headers = headers
        self._lines: list[tuple[str, Mapping[str, JSON] | None, str, str, str]] = []
        self._sessions: dict[str, tuple[HeaderLine, ...]] = {_FIRST: headers}
        """The headers of each session's requests, by the shell variable that holds its id."""

    def clear(self) -> None:
        """Forget everything."""
        self._lines.clear()
        self._sessions = {_FIRST: self._headers}

    def another(self, headers: tuple[HeaderLine, ...]) -> str:
        """Note that a further session begins, and give its name."""
        name = f"{_FIRST}{len(self._sessions) + 1}"
        self._sessions[name] = headers
        self._lines.append((_BEGINS, None, "", "", name))
        return name

    def add(
        self,
        method: str,
        params: Mapping[str, JSON] | None,
        *,
        creates: str = "",
        note: str = "",
        session: str = _FIRST,
    ) -> None:
        """Note a request.

        Args:
            creates: name of the task that it creates.
            note: ``waits`` for a request that runs in the background while the others go on.
            session: name of its session.
        """
        self._lines.append((method, params, creates, note, session))

    def remark(self, text: str) -> None:
        """Note what is no request of its own, in words."""
        self._lines.append(("", None, "", text, _FIRST))

    def commands(self, tasks: Mapping[str, str]) -> tuple[str, ...]:
        """One line for each request, ``initialize`` before them.

        Args:
            tasks: ids by the name of the task.
        """
        variables = {task_id: _variable(name) for name, task_id in tasks.items() if _plain(task_id)}
        skipped = max(0, len(self._lines) - _MOST)
        out = self._opening(_FIRST)
        if skipped:
            out.append(f"# {skipped} requests before these are left out")
        for number, (method, params, creates, note, session) in enumerate(self._lines[skipped:], 2):
            if method == _BEGINS:
                out += self._opening(session)
            elif method:
                out.append(self._command(number, method, params, creates, note, variables, session))
            else:
                out.append(f"# {note}")
        return tuple(out)

    def _opening(self, session: str) -> list[str]:
        params = {
            "protocolVersion": VERSION,
            "capabilities": dict(CAPABILITIES),
            "clientInfo": {"name": "mcptasks", "version": "1"},
        }
        first = self._curl(
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, {}, session, begun=False
        )
        begun = self._curl({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}, session)
        return [f'{session}=$({first}{_TAKE_SESSION}); echo "${session}"', begun]

    def _command(
        self,
        number: int,
        method: str,
        params: Mapping[str, JSON] | None,
        creates: str,
        note: str,
        variables: Mapping[str, str],
        session: str,
    ) -> str:
        body: dict[str, JSON] = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            body["params"] = dict(params)
        if len(json.dumps(body)) > _LONGEST:
            return f"# {method} with a large body: see the replay file"
        command = self._curl(body, variables, session)
        if creates:
            name = _variable(creates)
            return f'{name}=$({command}{_TAKE_ID}); echo "${name}"'
        return f"{command} &" if note == "waits" else command

    def _curl(self, body: Mapping[str, JSON], variables: Mapping[str, str], session: str, *, begun: bool = True) -> str:
        text = json.dumps(body, ensure_ascii=True, separators=(",", ":"))
        quoted = shlex.quote(text)
        # The longest id first: one may be the beginning of another.
        for task_id in sorted(variables, key=len, reverse=True):
            quoted = quoted.replace(f'"taskId":"{task_id}"', f"""\"taskId\":\"'"${variables[task_id]}"'\"""")
        parts = [r"curl -sS -w '\n'", shlex.quote(self._url)]
        lines = ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
        if begun:
            lines.append(f"{HEADER_VERSION}: {VERSION}")
        parts += [f"-H {shlex.quote(line)}" for line in lines]
        if begun:
            parts.append(f'-H "{HEADER_SESSION}: ${session}"')
        parts += [f"-H {line.for_shell}" for line in self._sessions[session]]
        parts.append(f"--data-binary {quoted}")
        return " ".join(parts)


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


def _plain(task_id: str) -> bool:
    """Whether an id can go through a shell variable into JSON as it is."""
    return re.fullmatch(r"[A-Za-z0-9_.~:/+=-]+", task_id) is not None
