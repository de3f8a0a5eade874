"""A sequence of requests as curl commands that a user can paste.

Ids of tasks are shell variables, set by the command that creates the task, so the commands work on any
server.  Secrets never appear: a header that names an environment variable names it here too, any other
value is left out.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Final

from mcptasks.conformance.wire import header_values, names
from mcptasks.conformance.wire.requests import CAPABILITIES, ROUTED_BY
from mcptasks.conformance.wire.secrets import HeaderLine, shown_url
from mcptasks.strategies.json_values import JSON

__all__ = ["Transcript", "stdio_preface"]

_MOST: Final = 60
_LONGEST: Final = 8192
_TAKE_ID: Final = """ | grep -o '"taskId": *"[^"]*"' | head -n 1 | cut -d '"' -f 4"""


class Transcript:
    """What was sent in a sequence.

    Args:
        url: of the server.
        headers: the user's.
        command: that starts the server, if it is one over stdio: then the lines to write to it are given.
    """

    def __init__(self, url: str, headers: tuple[HeaderLine, ...] = (), command: str | None = None) -> None:
        self._program = command
        self._url = shown_url(url)
        self._headers = headers
        self._sent: list[tuple[str, Mapping[str, JSON], Mapping[str, JSON] | None, str]] = []

    def clear(self) -> None:
        """A new sequence begins."""
        self._sent.clear()

    def add(
        self,
        method: str,
        params: Mapping[str, JSON],
        capabilities: Mapping[str, JSON] | None = None,
        creates: str = "",
    ) -> None:
        """A request was sent; ``creates`` names the task whose id its answer tells."""
        self._sent.append((method, params, capabilities, creates))

    def commands(self, ids: Mapping[str, str]) -> tuple[str, ...]:
        """The commands; ``ids`` gives the real id of each task by its name."""
        variables = {
            task_id: re.sub(r"\W", "_", name).upper() for name, task_id in ids.items() if _plain(task_id) is not None
        }
        skipped = max(0, len(self._sent) - _MOST)
        out = [] if self._program is None else [stdio_preface(self._program)]
        out += [f"# {skipped} requests before these are left out"] if skipped else []
        for number, (method, params, capabilities, creates) in enumerate(self._sent[skipped:], 1):
            variable = re.sub(r"\W", "_", creates).upper() if creates else ""
            out.append(self._command(number, method, params, capabilities, variable, variables))
        return tuple(out)

    def _command(
        self,
        number: int,
        method: str,
        params: Mapping[str, JSON],
        capabilities: Mapping[str, JSON] | None,
        variable: str,
        variables: Mapping[str, str],
    ) -> str:
        meta = {
            names.PROTOCOL_VERSION: names.VERSION,
            names.CLIENT_CAPABILITIES: dict(CAPABILITIES if capabilities is None else capabilities),
        }
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta}}
        text = json.dumps(body, ensure_ascii=True, separators=(",", ":"))
        if len(text) > _LONGEST:
            return f"# {method} with a body of {len(text)} bytes: see the replay file"
        if self._program is not None:
            for task_id in sorted(variables, key=len, reverse=True):
                text = text.replace(f'"taskId":"{task_id}"', f'"taskId":"${variables[task_id]}"')
            return f"{text}    # its answer has the taskId {variable}" if variable else text
        data = _with_variables(shlex.quote(text), variables)
        parts = [r"curl -sS -w '\n'", shlex.quote(self._url)]
        lines = [
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"{names.HEADER_VERSION}: {names.VERSION}",
            f"{names.HEADER_METHOD}: {method}",
        ]
        parts += [f"-H {shlex.quote(line)}" for line in lines]
        member = ROUTED_BY.get(method)
        if member is not None:
            name = str(params[member])
            if name in variables:
                parts.append(f'-H "{names.HEADER_NAME}: ${variables[name]}"')
            else:
                parts.append(f"-H {shlex.quote(f'{names.HEADER_NAME}: {header_values.encode(name)}')}")
        parts += [f"-H {line.for_shell}" for line in self._headers]
        parts.append(f"--data-binary {data}")
        command = " ".join(parts)
        return f'{variable}=$({command}{_TAKE_ID}); echo "${variable}"' if variable else command


def stdio_preface(command: str) -> str:
    """What stands before the lines that are to be written to a server over stdio."""
    return f"# lines for the standard input of: {command}"


def _plain(task_id: str) -> str | None:
    """An id that can go through a shell variable into JSON and a header as it is."""
    return task_id if re.fullmatch(r"[A-Za-z0-9_.~:/+=-]+", task_id) else None


def _with_variables(quoted: str, variables: Mapping[str, str]) -> str:
    # The longest id first: one may be the beginning of another.
    for task_id in sorted(variables, key=len, reverse=True):
        quoted = quoted.replace(f'"taskId":"{task_id}"', f"""\"taskId\":\"'"${variables[task_id]}"'\"""")
    return quoted
