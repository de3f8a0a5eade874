"""From what the user wrote after ``--adapter`` to the adapter."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, cast, get_args

from mcptasks.conformance.adapters.adapter import Adapter, AdapterError, PayloadDomain

__all__ = ["adapter_names", "find_adapter"]

_BUILT_IN: Final = {
    "mcp": "mcptasks.conformance.adapters.mcp_task_store:ADAPTER",
    "mcp-2025": "mcptasks.conformance.adapters.mcp_task_store_2025:ADAPTER",
}
_REVISIONS: Final = ("2026-07-28", "2025-11-25")
_FACTORY_KEYWORDS: Final = frozenset({"clock", "default_ttl_ms", "default_ttl", "page_size", "location"})


def adapter_names() -> tuple[str, ...]:
    """The short names of the built-in adapters."""
    return tuple(_BUILT_IN)


def find_adapter(name_or_spec: str) -> Adapter:
    """The adapter with that short name, or the one at ``module:attribute``.

    A user's adapter is an :class:`Adapter`, or any callable that takes the foreign store and
    declares what it needs as attributes named like an ``Adapter``'s; what it does not declare has
    the ``Adapter``'s default, ``keywords`` the factory keywords that its signature names.

    Finding a built-in adapter imports no foreign package; wrapping a store does.

    Raises:
        AdapterError: unknown name, module or attribute that cannot be imported, or declarations of the wrong type.
    """
    module_name, colon, attribute = _BUILT_IN.get(name_or_spec, name_or_spec).partition(":")
    if not colon or not module_name or not attribute:
        known = ", ".join(_BUILT_IN)
        raise AdapterError(f"unknown adapter {name_or_spec!r}: known are {known}, or name your own as module:attribute")
    try:
        found: Any = import_module(module_name)
    except Exception as error:
        raise AdapterError(f"adapter {name_or_spec!r}: cannot import {module_name!r}: {_line(error)}") from error
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise AdapterError(
                f"adapter {name_or_spec!r}: module {module_name!r} has no attribute {attribute!r}"
            ) from None
    return found if isinstance(found, Adapter) else _declared(name_or_spec, found)


def _declared(spec: str, found: Any) -> Adapter:
    if not callable(found):
        raise AdapterError(
            f"adapter {spec!r} is not callable: it must take the foreign store and return the wrapped one"
        )
    revision = getattr(found, "revision", "2026-07-28")
    if revision not in _REVISIONS:
        raise AdapterError(f"adapter {spec!r}: revision must be one of {', '.join(_REVISIONS)}")
    payloads = getattr(found, "payloads", "any")
    if payloads not in get_args(PayloadDomain):
        raise AdapterError(f"adapter {spec!r}: payloads must be one of {', '.join(get_args(PayloadDomain))}")
    not_applicable = getattr(found, "not_applicable", {})
    if not isinstance(not_applicable, Mapping) or not all(
        isinstance(i, str) for pair in not_applicable.items() for i in pair
    ):
        raise AdapterError(f"adapter {spec!r}: not_applicable must map globs over requirement ids to reasons")
    return Adapter(
        name=str(getattr(found, "name", spec)),
        wrap=found,
        revision=revision,
        not_applicable=dict(not_applicable),
        missing_methods=_names(spec, found, "missing_methods", frozenset()),
        payloads=cast("PayloadDomain", payloads),
        sessions=bool(getattr(found, "sessions", True)),
        keywords=_names(spec, found, "keywords", _keywords_named_by(found)),
    )


def _names(spec: str, found: Any, member: str, default: frozenset[str]) -> frozenset[str]:
    value = getattr(found, member, default)
    if isinstance(value, str) or not isinstance(value, (frozenset, set, tuple, list)):
        raise AdapterError(f"adapter {spec!r}: {member} must be a collection of names")
    return frozenset(str(name) for name in value)


def _keywords_named_by(found: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(found).parameters) & _FACTORY_KEYWORDS
    except (TypeError, ValueError):
        return frozenset()


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
