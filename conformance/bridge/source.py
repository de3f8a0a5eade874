"""From a command to a source of stores: the bridge is checked, and each store gets a process of its own while open."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from mcptasks.conformance.adapters import Adapter
from mcptasks.conformance.bridge.check import Checked, check_bridge
from mcptasks.conformance.bridge.connection import Connection
from mcptasks.conformance.bridge.description import FACTORY_KEYWORDS
from mcptasks.conformance.bridge.faults import BridgeFault, BridgeGone, Hooks
from mcptasks.conformance.bridge.stores import BridgedStore, BridgedStore25, BridgedStore26, milliseconds
from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.targets.store import StoreSource
from mcptasks.strategies.json_values import JSON

__all__ = ["Bridge", "open_bridge"]

_CLOSING_S: Final = 1.0
"""Seconds in which a store is expected to close; then its process is ended."""
_OWN_LISTENERS: Final = (
    "over a bridge all listeners hear one stream of events: which of them hears is the suite's doing"
)
_NOT_APPLICABLE: Final = {"store.event.unsubscribe": _OWN_LISTENERS, "store25.event.independent": _OWN_LISTENERS}


class Bridge:
    """The processes behind one command.

    Args:
        command: starts a process.
        hooks: told when one of them cannot be used any more while a store is open.
        timeout: seconds in which a call is expected to be answered.
    """

    def __init__(self, command: str, hooks: Hooks = Hooks(), timeout: float = 5.0) -> None:  # noqa: B008  # frozen
        self.command = command
        self._hooks = hooks
        self._timeout = timeout
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._closes = True
        """Whether stores are closed; turns false once closing one did not end."""
        self._checked: Checked | None = None

    async def check(self, *, again: bool = False) -> Checked:
        """Check the bridge itself, in a process of its own; less of it when it was checked before.

        Raises:
            UsageError: the command cannot be run, or a method is missing.
            TargetUnusableError: it does not keep to its protocol, ends, or never answers.
        """
        connection = await Connection.start(self.command, self._hooks)
        try:
            self._checked = await check_bridge(connection, self._timeout, again=again)
        finally:
            await connection.close(0.0)
        return self._checked

    async def open(self, **keywords: Any) -> BridgedStore:
        """A new store; the keywords are those of a factory.

        Raises:
            StoreError: the store cannot be opened.
            TargetUnusableError: the bridge does not keep to its protocol, or ends.
        """
        assert self._checked is not None
        description = self._checked.description
        while self._idle and not self._idle[-1].usable:  # its process has ended meanwhile
            await self._idle.pop().close(0.0)
        connection = self._idle.pop() if self._idle else await Connection.start(self.command, self._hooks)
        clock: Callable[[], datetime] | None = keywords.get("clock")
        params: dict[str, JSON] = {}
        for member, keyword in FACTORY_KEYWORDS[description.revision].items():
            if keyword in keywords:
                params[member] = milliseconds(clock()) if keyword == "clock" and clock else keywords[keyword]
        self._busy.add(connection)
        try:
            await connection.call("store/open", params)
        except (BridgeFault, BridgeGone) as error:
            await connection.close(0.0)
            raise TargetUnusableError(f"{connection.name}: {error}; it was about to open a store") from error
        except BaseException:
            await connection.close(0.0)
            raise
        connection.in_use = True
        if description.revision == "2026-07-28":
            return BridgedStore26(connection, self._release, clock)
        return BridgedStore25(connection, self._release, clock, frozenset(description.optional))

    async def _release(self, connection: Connection) -> None:
        connection.in_use = False
        self._busy.discard(connection)
        if self._closes and connection.usable and self._checked is not None:
            try:
                async with asyncio.timeout(_CLOSING_S):
                    await connection.call("store/close")
            except TimeoutError:
                self._closes = False
            except Exception:
                pass  # its process is ended, whatever it was
            else:
                if self._checked.reusable:
                    self._idle.append(connection)
                    return
        await connection.close(0.0)

    async def close(self) -> None:
        """End all processes, those gently that no store is open in."""
        for connection in self._busy:
            await connection.close(0.0)
        for connection in self._idle:
            await connection.close()
        self._busy.clear()
        self._idle.clear()


async def open_bridge(bridge: Bridge, revision: str = "auto", *, again: bool = False) -> tuple[StoreSource, Adapter]:
    """Check a bridge; a source of its stores, and what its store's interface cannot express.

    Args:
        bridge: to be checked.
        revision: of its store, if one is asked for.
        again: it was checked before.

    Raises:
        UsageError: the command cannot be run, a method is missing, or the store is of another revision than asked for.
        TargetUnusableError: the bridge does not keep to its protocol, ends, or never answers.
    """
    checked = await bridge.check(again=again)
    description = checked.description
    if revision not in ("auto", description.revision):
        raise UsageError(f"--bridge: its store is of revision {description.revision}, not {revision}")
    honoured = {FACTORY_KEYWORDS[description.revision][member] for member in description.keywords}
    if checked.clock_refused is not None:
        honoured.discard("clock")
    unmet = {
        "in-process": "over a bridge the suite holds copies of the store's records",
        "abort": "over a bridge no call is cancelled while it runs",
    }
    for keyword, need in (("clock", "clock"), ("default_ttl_ms", "ttl"), ("page_size", "pages")):
        if keyword in FACTORY_KEYWORDS[description.revision].values() and keyword not in honoured:
            unmet[need] = f"the bridge does not name {_member(description.revision, keyword)}"
    if checked.clock_refused is not None:
        unmet["clock"] = checked.clock_refused
    unmet.setdefault("second-instance", "the bridge does not name location")
    if "location" in honoured:
        del unmet["second-instance"]

    async def factory(**keywords: Any) -> BridgedStore:
        return await bridge.open(**keywords)

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in sorted(honoured)]
    factory.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    source = StoreSource(
        factory, f"{description.name} {description.version}".strip(), revision=description.revision, unmet=unmet
    )
    source.sessions = description.sessions
    adapter = Adapter(
        name="bridge",
        wrap=lambda store: store,
        revision=description.revision,
        not_applicable={**_NOT_APPLICABLE, **description.not_applicable},
        payloads=description.payloads,
        sessions=description.sessions,
    )
    return source, adapter


def _member(revision: str, keyword: str) -> str:
    return next(member for member, named in FACTORY_KEYWORDS[revision].items() if named == keyword)
