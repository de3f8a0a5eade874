"""Tools whose tasks move by themselves: which of a server's tools does what (contract, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcptasks.conformance.wire.mapping import ROLES
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Complete, Create, Fail, Operation, SetInput

__all__ = ["OFFICIAL_TOOLS", "Tool", "ToolProfile", "mapped", "official"]

_LONG_S: Final = 20
"""Seconds that a task works which is to be found at work; it is cancelled when its sequence is over."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, JSON] = field(default_factory=dict)
    repeatable: bool = False
    """Whether the same call always gives the same outcome: then a task's is compared with a plain call's."""

    @property
    def params(self) -> dict[str, JSON]:
        """Parameters of the ``tools/call``."""
        return {"name": self.name, "arguments": dict(self.arguments)}


_OFFICIAL: Final[dict[str, Tool]] = {
    "completes": Tool("slow_compute", {"seconds": 0.1, "label": "short"}, repeatable=True),
    "tool_error": Tool("failing_job", repeatable=True),
    "fails": Tool("protocol_error_job", repeatable=True),
    "asks": Tool("confirm_delete", {"filename": "mcptasks.txt"}),
    "asks_more": Tool("multi_input"),
    "runs_long": Tool("slow_compute", {"seconds": _LONG_S, "label": "long"}),
    "plain": Tool("greet", {"name": "mcptasks"}),
}
OFFICIAL_TOOLS: Final = frozenset({*(tool.name for tool in _OFFICIAL.values()), "test_tool_with_task"})


class ToolProfile:
    """A profile of tools that create, ask, complete and fail on their own.

    Args:
        name: ``official`` or ``mapped``.
        roles: which tool does what; one that is missing is not exercised.
        offered: the names of the server's tools.
    """

    free = True
    settles = False

    def __init__(self, name: str, roles: Mapping[str, Tool], offered: Iterable[str]) -> None:
        self.name = name
        self.roles: Final = dict(roles)
        self.tools: Final = frozenset(offered)

    def opening(self, task: str, operations: Sequence[Operation]) -> dict[str, JSON]:
        """The call whose task does by itself what the sequence wants of it.

        Args:
            task: its name.
            operations: those of the sequence from its create on.
        """
        for role in (*self._wanted(task, operations), "runs_long", "asks", "asks_more", *ROLES):
            if role in self.roles and role != "plain":
                return self.roles[role].params
        return next(iter(self.roles.values())).params

    def _wanted(self, task: str, operations: Sequence[Operation]) -> Iterable[str]:
        asked = max((len(item.requests) for item in _of(SetInput, task, operations)), default=0)
        if asked:
            return ("asks_more", "asks") if asked >= 2 else ("asks", "asks_more")
        if any(True for _ in _of(Fail, task, operations)):
            return ("fails",)
        for item in _of(Complete, task, operations):
            value = item.result.value
            failing = isinstance(value, dict) and bool(value.get("isError"))
            return ("tool_error", "completes") if failing else ("completes",)
        return ("runs_long",)

    def is_repeatable(self, params: Mapping[str, JSON]) -> bool:
        """Whether the same call always gives the same outcome."""
        return any(tool.repeatable and tool.params == params for tool in self.roles.values())


def official(offered: Iterable[str]) -> ToolProfile:
    """The profile of the official suite's fixture tools, as far as a server offers them."""
    names = frozenset(offered)
    return ToolProfile("official", {role: tool for role, tool in _OFFICIAL.items() if tool.name in names}, names)


def mapped(roles: Mapping[str, Mapping[str, Any]], offered: Iterable[str]) -> ToolProfile:
    """The profile of a mapping file (see :mod:`mcptasks.conformance.wire.mapping`).

    Raises:
        LookupError: it names a tool that the server does not offer.
    """
    names = frozenset(offered)
    for role, tool in roles.items():
        if tool["name"] not in names:
            raise LookupError(f"tools.{role} names the tool {tool['name']!r}, which the server does not offer")
    found = {role: Tool(**roles[role]) for role in ROLES if role in roles}
    return ToolProfile("mapped", found, names)


def _of(kind: type[Any], task: str, operations: Sequence[Operation]) -> Iterable[Any]:
    for number, item in enumerate(operations):
        if number and isinstance(item, Create) and item.as_ == task:
            return  # the name is bound anew
        if isinstance(item, kind) and item.task == task:
            yield item
