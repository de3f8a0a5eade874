"""What goes wrong with a bridge itself, as opposed to the store behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcptasks.conformance.errors import TargetUnusableError

__all__ = ["BridgeFault", "BridgeGone", "Hooks", "StoreError"]


class StoreError(Exception):
    """The store raised: the bridge answered with a JSON-RPC error, whose message this is."""


class BridgeFault(TargetUnusableError):
    """The bridge does not keep to its protocol; the message is one line and names it.  Never charged to the store."""


class BridgeGone(TargetUnusableError):
    """The bridge's process has ended; the message says how."""


def _nothing(_: str) -> None:
    """Nothing is to be done beside raising."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Called with one line: the first two in the moment in which a bridge cannot be used any more.

    Whoever runs a campaign ends it here: what the calls under way raise would be taken for the store's answer.
    """

    fault: Callable[[str], object] = _nothing
    """The bridge does not keep to its protocol."""
    gone: Callable[[str], object] = _nothing
    """Its process has ended while a store was open."""
    note: Callable[[str], object] = _nothing
    """Something to tell that is no fault; the bridge goes on."""
