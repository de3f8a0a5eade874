"""Task stores as targets: how one is opened, checked for shape and closed."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from mcptasks.conformance.adapters import AdapterError
from mcptasks.conformance.engine.beat import Stage
from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.targets.cancelling import absorbed
from mcptasks.conformance.targets.clock import SuiteClock
from mcptasks.conformance.targets.protocols import PROTOCOLS, STORE_2026, StoreProtocol, protocol_by_methods
from mcptasks.conformance.targets.records import describe_error
from mcptasks.strategies.json_values import JSON

__all__ = [
    "OPTIONAL_METHODS",
    "REQUIRED_METHODS",
    "OpenStore",
    "OpenStore25",
    "StoreOptions",
    "StoreSource",
    "not_a_store",
]

REQUIRED_METHODS: Final = STORE_2026.required
"""Methods of the 2026-07-28 protocol and how many arguments each takes."""

OPTIONAL_METHODS: Final[dict[str, int]] = {"close": 0}


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Which factory keywords a store is opened with."""

    clock: bool = False
    """Inject a clock that the suite moves."""
    ttl: bool = False
    """Pass ``default_ttl_ms``."""
    default_ttl_ms: int | None = None
    """Its value; 2025-11-25 calls the keyword ``default_ttl``."""
    page_size: int | None = None
    """2025-11-25: how many tasks a page of a list is to have."""

    @property
    def words(self) -> str:
        """The keywords as they are passed: ``default_ttl_ms=0 and clock``."""
        parts = []
        if self.ttl:
            parts.append(f"default_ttl_ms={self.default_ttl_ms}")
        if self.page_size is not None:
            parts.append(f"page_size={self.page_size}")
        if self.clock:
            parts.append("clock")
        return " and ".join(parts) or "no keywords"

    def to_json(self) -> dict[str, JSON]:
        """The form that findings and replay files carry."""
        out: dict[str, JSON] = {}
        if self.clock:
            out["clock"] = True
        if self.ttl:
            out["default_ttl_ms"] = self.default_ttl_ms
        if self.page_size is not None:
            out["page_size"] = self.page_size
        return out

    @classmethod
    def from_json(cls, value: Mapping[str, JSON]) -> StoreOptions:
        """The options that :meth:`to_json` wrote.

        Raises:
            ValueError: an unknown member or one of the wrong type.
        """
        unknown = set(value) - {"clock", "default_ttl_ms", "page_size"}
        if unknown:
            raise ValueError(f"unknown store option {sorted(unknown)[0]!r}")
        ttl = value.get("default_ttl_ms")
        if ttl is not None and (not isinstance(ttl, int) or isinstance(ttl, bool)):
            raise ValueError("store option 'default_ttl_ms' must be an integer or null")
        size = value.get("page_size")
        if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
            raise ValueError("store option 'page_size' must be a positive integer")
        return cls(bool(value.get("clock", False)), "default_ttl_ms" in value, ttl, size)


def _missing_methods(store: object, names: Mapping[str, int]) -> list[str]:
    missing = []
    for name in names:
        try:
            present = callable(getattr(store, name, None))
        except BaseException:
            present = False
        if not present:
            missing.append(name)
    return missing


def _wrong_signature(store: object, names: Mapping[str, int]) -> str | None:
    for name, count in names.items():
        method = getattr(store, name)
        try:
            inspect.signature(method).bind(*[None] * count)
        except TypeError:
            return f"{name} must take {count} positional argument{'' if count == 1 else 's'}, but is {name}{_signature(method)}"
        except BaseException:
            continue  # built in C, tells no signature
    return None


def _signature(method: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(method))
    except BaseException:  # built in C, or a default whose repr raises
        return "(…)"


def not_a_store(
    store: object, exempt: frozenset[str] = frozenset(), protocol: StoreProtocol = STORE_2026
) -> str | None:
    """Why ``store`` is no store of the protocol, or ``None``.

    ``exempt`` names methods that an adapter declares it cannot map.
    """
    names = {name: count for name, count in protocol.required.items() if name not in exempt}
    missing = _missing_methods(store, names)
    if missing:
        return f"{type(store).__name__} lacks {', '.join(missing)}"
    there = {name: count for name, count in protocol.optional.items() if not _missing_methods(store, {name: count})}
    return _wrong_signature(store, {**names, **there})


class OpenStore:
    """One opened store with its methods looked up once, and everything that closing it takes."""

    def __init__(
        self, store: Any, clock: SuiteClock | None, options: StoreOptions, stack: AsyncExitStack, source: StoreSource
    ) -> None:
        self.store = store
        self._source = source
        self.clock = clock
        self.sessions = source.sessions
        """2025-11-25: whether the store knows sessions."""
        self.bridged = source.bridged
        """Whether the store is elsewhere: then calls cannot be cancelled, and numbers may go through other types."""
        self.options = options
        self._stack = stack
        for name in (*source.protocol.required, *source.protocol.optional):
            method = getattr(store, name, None)
            setattr(self, name, method if callable(method) else None)

    create_task: Callable[..., Any]
    get_task: Callable[..., Any]
    set_input_requests: Callable[..., Any] | None
    resolve_input_requests: Callable[..., Any] | None
    set_cancelled: Callable[..., Any]
    set_completed: Callable[..., Any]
    set_failed: Callable[..., Any]
    on_input_response: Callable[..., Any] | None

    async def close(self) -> None:
        """Close the store; what closing raises is no finding and is dropped.

        A store whose closing does not end is not closed, and neither are those after it.
        """
        source = self._source
        if not source.closes:
            return
        source.stage(Stage.CLOSING)
        deadline = asyncio.timeout(source.patience)
        try:
            async with deadline:
                await self._stack.aclose()
        except BaseException:
            pass
        await absorbed()
        if deadline.expired():
            source.closes = False
        source.stage(Stage.RUNNING)


class OpenStore25(OpenStore):
    """One opened store of revision 2025-11-25; the methods are those of its protocol."""

    store_task_result: Callable[..., Any]
    get_task_result: Callable[..., Any]
    update_task_status: Callable[..., Any]
    list_tasks: Callable[..., Any]
    wait_for_task_result: Callable[..., Any] | None
    on_status_change: Callable[..., Any] | None


async def _resolved(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


@dataclass(slots=True)
class StoreSource:
    """Where stores come from: a class, factory or instance, with arguments and an adapter.

    Every :meth:`open` makes a new store, except when an instance was given: then there is only one.
    """

    factory: Any
    name: str
    arguments: Mapping[str, JSON] = field(default_factory=dict)
    exempt: frozenset[str] = frozenset()
    """Methods that an adapter declares it cannot map."""
    patience: float = 5.0
    """Seconds after which closing a store counts as never ending."""
    closes: bool = True
    """Whether stores are closed; turns false once closing one did not end."""
    stage: Callable[[Stage], object] = lambda _: None
    """Told what is done, so that whoever watches knows what hangs."""
    revision: str = STORE_2026.revision
    """Of the store protocol; ``auto`` until :meth:`settle_revision`."""
    guarded: bool = True
    """2025-11-25: whether the store itself keeps terminal tasks as they are, not the server above it."""
    sessions: bool = True
    """2025-11-25: whether stores from here know sessions; if not, none is named to them."""
    unmet: Mapping[str, str] = field(default_factory=dict)
    """Needs of the catalogue that stores from here cannot meet, whatever they do, with the reasons."""
    _accepts: frozenset[str] | None = None

    @property
    def bridged(self) -> bool:
        """Whether the suite gets copies of what the store holds, from another process."""
        return "in-process" in self.unmet

    @property
    def protocol(self) -> StoreProtocol:
        """The store protocol."""
        return PROTOCOLS[self.revision]

    async def settle_revision(self) -> None:
        """Tell the revision by the methods, if it is to be told so; a factory is called once for that.

        Raises:
            UsageError, TargetUnusableError: as :meth:`open`.
        """
        if self.revision != "auto":
            return
        self.revision = STORE_2026.revision
        if self.is_instance or isinstance(self.factory, type):
            self.revision = protocol_by_methods(self.factory).revision
            return
        self.revision = await self._revision_of_one()

    async def _revision_of_one(self) -> str:
        self.stage(Stage.OPENING)
        stack = AsyncExitStack()
        keywords: dict[str, Any] = dict(self.arguments)
        try:
            self._add_location(keywords, stack)
            store = await self._make(keywords, stack)
            found = protocol_by_methods(store).revision
            await _resolved(store.close() if callable(getattr(store, "close", None)) else None)
            return found
        except BaseException:
            return STORE_2026.revision  # what is wrong is told when it is opened
        finally:
            with contextlib.suppress(BaseException):
                await stack.aclose()
            self.stage(Stage.RUNNING)

    @property
    def is_instance(self) -> bool:
        """Whether there is one store only, which cannot be renewed."""
        return not callable(self.factory)

    @property
    def accepts(self) -> frozenset[str]:
        """The factory keywords that are named parameters; ``**kwargs`` does not count."""
        if self._accepts is None:
            self._accepts = frozenset() if self.is_instance else self._named_parameters()
        return self._accepts

    def _named_parameters(self) -> frozenset[str]:
        try:
            parameters = inspect.signature(self.factory).parameters.values()
        except (TypeError, ValueError):
            return frozenset()
        named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        return frozenset(named) & frozenset(self.protocol.keywords)

    @property
    def _needs_location(self) -> bool:
        """Whether the factory cannot be called without ``location``; else it is left out."""
        if "location" not in self.accepts:
            return False
        parameter = inspect.signature(self.factory).parameters["location"]
        return parameter.default is inspect.Parameter.empty

    async def open(self, options: StoreOptions) -> OpenStore:
        """Open a store.

        What the watcher of :attr:`stage` sees is *opening* until this returns.

        Raises:
            UsageError: what came is no store, or the factory does not take the arguments.
            TargetUnusableError: the factory raises.
        """
        self.stage(Stage.OPENING)
        store = await self._open(options)
        await absorbed()
        self.stage(Stage.RUNNING)
        return store

    async def _open(self, options: StoreOptions) -> OpenStore:
        clock = SuiteClock() if options.clock and "clock" in self.accepts else None
        keywords: dict[str, Any] = dict(self.arguments)
        if clock is not None:
            keywords["clock"] = clock
        if options.ttl and self.protocol.ttl_keyword in self.accepts:
            keywords[self.protocol.ttl_keyword] = options.default_ttl_ms
        if options.page_size is not None and "page_size" in self.accepts:
            keywords["page_size"] = options.page_size
        stack = AsyncExitStack()
        self._add_location(keywords, stack)
        try:
            store = await self._make(keywords, stack)
        except (UsageError, TargetUnusableError):
            raise
        except AdapterError as error:
            await stack.aclose()
            raise UsageError(f"{self.name}: {error}") from error
        except BaseException as error:
            await stack.aclose()
            if isinstance(error, TypeError) and not self._binds(keywords):
                raise UsageError(
                    f"{self.name}: the factory cannot be called like this: {describe_error(error)}; pass what it needs with --store-arg name=JSON"
                ) from error
            raise TargetUnusableError(f"{self.name}: opening the store raises {describe_error(error)}") from error
        problem = not_a_store(store, self.exempt, self.protocol)
        if problem is not None:
            await stack.aclose()
            raise UsageError(f"{self.name} is no task store of revision {self.revision}: {problem}")
        close = getattr(store, "close", None)
        if callable(close) and not self.is_instance:

            async def closing() -> None:
                await _resolved(close())

            stack.push_async_callback(closing)
        kind = OpenStore if self.protocol is STORE_2026 else OpenStore25
        return kind(store, clock, options, stack, self)

    def _add_location(self, keywords: dict[str, Any], stack: AsyncExitStack) -> None:
        if "location" not in keywords and self._needs_location:
            folder = tempfile.mkdtemp(prefix="mcptasks-")
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            keywords["location"] = folder

    def _binds(self, keywords: Mapping[str, Any]) -> bool:
        try:
            inspect.signature(self.factory).bind(**keywords)
        except TypeError:
            return False
        except ValueError:
            return True
        return True

    async def _make(self, keywords: Mapping[str, Any], stack: AsyncExitStack) -> Any:
        if self.is_instance:
            return self.factory
        made = await _resolved(self.factory(**keywords))
        if not hasattr(made, "create_task"):
            if hasattr(made, "__aenter__"):
                return await stack.enter_async_context(made)
            if hasattr(made, "__enter__"):
                return stack.enter_context(made)
        return made
