"""From options to targets: the one place that knows how each kind of target is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mcptasks.conformance.errors import UsageError
from mcptasks.strategies.json_values import JSON

if TYPE_CHECKING:
    from mcptasks.conformance.runner.job import StoreSpec
    from mcptasks.conformance.runner.run import Target

__all__ = ["TargetOptions", "parse_arguments", "targets_of"]

_REVISION = "2026-07-28"
_EARLIER = "2025-11-25"
_BRIDGED_CALLS = 100_000
"""By default: a call over a bridge takes a hundred times as long as one in the same process."""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What the user wrote that names targets."""

    store: str | None = None
    store_args: Sequence[str] = field(default_factory=tuple)
    adapter: str | None = None
    revision: str = "auto"
    url: str | None = None
    headers: Sequence[str] = field(default_factory=tuple)
    other_headers: Sequence[str] = field(default_factory=tuple)
    peer_url: str | None = None
    start: str | None = None
    restart_command: str | None = None
    profile: str | None = None
    max_requests: int | None = None
    rate: float | None = None
    settle: float | None = None
    command: str | None = None
    guard: str = "store"
    bridge: str | None = None

    @property
    def is_store(self) -> bool:
        """Whether a store is named."""
        return self.store is not None or self.bridge is not None

    @property
    def is_server(self) -> bool:
        """Whether a server is named."""
        return self.url is not None or self.start is not None or self.command is not None

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that the target may turn out to be of."""
        named = self.is_store or (self.is_server and self.command is None)
        both = (_REVISION, _EARLIER) if named else (_REVISION,)
        return both if self.revision == "auto" else (self.revision,)


def targets_of(options: TargetOptions) -> list[Target]:
    """The targets that the options name; none named means the embedded references.

    Raises:
        UsageError: the options contradict each other, or one is wrong.
    """
    from mcptasks.conformance.runner.job import StoreSpec
    from mcptasks.conformance.runner.run import EMBEDDED, EMBEDDED_2025, Target

    _check_revision(options)
    if options.is_server:
        return [_server(options)]
    _check_no_server_options(options)
    guard: Literal["store", "server"] = "server" if options.guard == "server" else "store"
    if options.bridge is not None:
        return [Target(_bridge(options, options.bridge, guard), None, _BRIDGED_CALLS)]
    if options.store is None:
        for option, given in (("--store-arg", options.store_args), ("--adapter", options.adapter)):
            if given:
                raise UsageError(f"{option} goes with --store, which is missing")
        return list(EMBEDDED_2025 if options.revision == _EARLIER else EMBEDDED)
    _check_shape(options.store)
    _check_adapter(options.adapter)
    arguments = parse_arguments(options.store_args)
    return [Target(StoreSpec(options.store, arguments, options.adapter, options.revision, guard))]


def _bridge(options: TargetOptions, command: str, guard: Literal["store", "server"]) -> StoreSpec:
    from mcptasks.conformance.runner.job import StoreSpec
    from mcptasks.conformance.wire.stdio_process import split_command

    for option, given in (
        ("--store", options.store),
        ("--adapter", options.adapter),
        ("--store-arg", options.store_args),
    ):
        if given:
            raise UsageError(
                f"{option} names a store to import, and --bridge one behind a process: one target at a time"
            )
    split_command(command, "--bridge")
    return StoreSpec(command, {}, None, options.revision, guard, "bridge")


def _server(options: TargetOptions) -> Target:
    from mcptasks.conformance.runner.run import Target
    from mcptasks.conformance.wire.mapping import profile_named
    from mcptasks.conformance.wire.spec import DEFAULT_REQUESTS, ServerSpec

    for option, given in (
        ("--store", options.store),
        ("--bridge", options.bridge),
        ("--adapter", options.adapter),
        ("--store-arg", options.store_args),
    ):
        if given:
            raise UsageError(f"{option} names a store, and --url, --start or --command a server: one target at a time")
    profile, mapping = profile_named(options.profile)
    spec = ServerSpec.named(
        options.url or "",
        options.headers,
        options.other_headers,
        start=options.start,
        command=options.command,
        peer_url=options.peer_url or "",
        restart_command=options.restart_command,
        profile=profile,
        mapping=mapping,
        max_requests=options.max_requests,
        rate=options.rate,
        settle=options.settle,
        revision=options.revision,
    )
    return Target(spec, None, DEFAULT_REQUESTS)


def _check_no_server_options(options: TargetOptions) -> None:
    for option, given in (
        ("--header", options.headers),
        ("--other-header", options.other_headers),
        ("--peer-url", options.peer_url),
        ("--restart-command", options.restart_command),
        ("--profile", options.profile),
        ("--max-requests", options.max_requests),
        ("--rate", options.rate),
    ):
        if given:
            raise UsageError(f"{option} goes with --url or --command, which is missing")


def _check_revision(options: TargetOptions) -> None:
    revision = options.revision
    if revision not in (_REVISION, _EARLIER, "auto"):
        raise UsageError(f"--revision {revision}: unknown; write {_REVISION}, {_EARLIER} or auto")
    if options.guard not in ("store", "server"):
        raise UsageError(f"--guard {options.guard}: write store or server")
    if options.guard == "server" and (not options.is_store or revision == _REVISION):
        raise UsageError(f"--guard server goes with a store of revision {_EARLIER}")


def _check_shape(store: str) -> None:
    if all(store.rpartition(":")):
        return
    example = "shop/tasks.py:RedisStore" if store.endswith(".py") else "shop.tasks:RedisStore"
    raise UsageError(f"--store {store}: write module:attribute or path/file.py:attribute, such as {example}")


def _check_adapter(adapter: str | None) -> None:
    if adapter is None:
        return
    from mcptasks.conformance.adapters import AdapterError, adapter_names

    if ":" not in adapter and adapter not in adapter_names():
        known = ", ".join(adapter_names())
        raise UsageError(str(AdapterError(f"--adapter {adapter}: known are {known}; or write module:attribute")))


def parse_arguments(texts: Sequence[str]) -> dict[str, JSON]:
    """Factory arguments from ``key=JSON`` texts.

    Raises:
        UsageError: a text has no ``=``, its key is no name, comes twice or is the suite's, or its value is no JSON.
    """
    found: dict[str, JSON] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"--store-arg {text}: write name=JSON, such as size=10")
        if key in found:
            raise UsageError(f"--store-arg {text}: '{key}' is given twice")
        if key == "clock":
            raise UsageError(f"--store-arg {text}: 'clock' is a callable, which the suite passes itself; leave it out")
        try:
            found[key] = json.loads(value)
        except (ValueError, RecursionError):
            hint = "" if '"' in value or "'" in value else f"; a text is written with quotes: '{key}=\"{value}\"'"
            raise UsageError(f"--store-arg {text}: the value is no JSON{hint}") from None
    return found
