"""What an adapter declares, and how it wraps a store or a factory of stores."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

__all__ = ["Adapter", "AdapterError", "PayloadDomain"]

PayloadDomain = Literal["any", "call-tool-result"]
"""Which payloads the foreign interface can hold: any JSON value, or results that are MCP ``CallToolResult`` objects."""


class AdapterError(Exception):
    """An adapter is unknown, its foreign package is missing, or a store does not fit it.  The message is one line."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """A foreign store interface, translated.

    Calling the adapter with a foreign store gives an object with the methods of the store protocol
    of ``revision``, except ``missing_methods``.
    """

    name: str
    wrap: Callable[..., object]
    """``wrap(store, **keywords)`` gives the protocol object; it raises :class:`AdapterError` for a store that does not fit."""
    revision: str = "2026-07-28"
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Globs over requirement ids that the foreign interface cannot express, each with the reason for the report."""
    missing_methods: frozenset[str] = frozenset()
    """Methods of the store protocol that the wrapped object lacks, lawfully."""
    payloads: PayloadDomain = "any"
    sessions: bool = True
    """2025-11-25: whether the foreign interface knows sessions; if not, the suite names none."""
    keywords: frozenset[str] = frozenset()
    """Factory keywords that the adapter itself honours, whatever the foreign factory takes (``default_ttl_ms``)."""

    def __call__(self, store: object, **keywords: Any) -> object:
        """The protocol object over ``store``.

        Args:
            store: the foreign store, already open.
            keywords: factory keywords out of :attr:`keywords`.

        Raises:
            AdapterError: the foreign package is missing, or the store lacks a method.
        """
        return self.wrap(store, **keywords)

    def reason_not_applicable(self, requirement: str) -> str | None:
        """Why the requirement cannot be judged through this adapter, or None if it can."""
        return next((why for glob, why in self.not_applicable.items() if fnmatchcase(requirement, glob)), None)

    def factory(self, target: object) -> Callable[..., Any]:
        """A factory of protocol objects from what ``--store`` named: a class, a factory or a foreign store.

        The signature of what comes back names the parameters of the foreign factory and
        :attr:`keywords`, so that whoever reads it sees which factory keywords are honoured.
        Like any factory it may give the object, an awaitable, or an async context manager.
        """

        def adapted(**arguments: Any) -> Any:
            own = {name: arguments.pop(name) for name in self.keywords & arguments.keys()}
            if not callable(target):
                return self(target, **own)
            opened = target(**arguments)
            if inspect.isawaitable(opened):
                return self._awaited(opened, own)
            if _is_context_manager(opened):
                return self._entered(opened, own)
            return self(opened, **own)

        adapted.__signature__ = self._signature(target)  # type: ignore[attr-defined]
        return adapted

    async def _awaited(self, opened: Awaitable[Any], own: Mapping[str, Any]) -> Any:
        value = await opened
        return self._entered(value, own) if _is_context_manager(value) else self(value, **own)

    @asynccontextmanager
    async def _entered(self, manager: Any, own: Mapping[str, Any]) -> AsyncIterator[object]:
        if hasattr(manager, "__aenter__"):
            async with manager as store:
                yield self(store, **own)
        else:
            with manager as store:
                yield self(store, **own)

    def _signature(self, target: object) -> inspect.Signature:
        parameters: dict[str, inspect.Parameter] = {}
        if callable(target):
            try:
                foreign = dict(inspect.signature(target).parameters)
            except (TypeError, ValueError):  # a builtin without a signature names no keyword
                foreign = {}
            parameters = {
                name: parameter
                if parameter.kind is parameter.VAR_KEYWORD
                else parameter.replace(kind=parameter.KEYWORD_ONLY)
                for name, parameter in foreign.items()
                if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
            }
        for name in sorted(self.keywords):
            parameters[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        ordered = sorted(parameters.values(), key=lambda parameter: parameter.kind)
        return inspect.Signature(ordered)


def _is_context_manager(value: object) -> bool:
    kind = type(value)
    return (hasattr(kind, "__aenter__") and hasattr(kind, "__aexit__")) or (
        hasattr(kind, "__enter__") and hasattr(kind, "__exit__")
    )
