"""Which interpreter and which model a store's revision has."""

from __future__ import annotations

from mcptasks.conformance.engine.beat import Words
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.interpreter_2025 import Automaton25, Interpreter25
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.targets.protocols import STORE_2025
from mcptasks.conformance.targets.store import OpenStore, StoreSource

__all__ = ["automaton_for", "interpreter_on"]


def automaton_for(source: StoreSource) -> Automaton:
    """An empty automaton of the source's model."""
    # A server is driven by the campaign of stores, too, and brings an automaton of its own.
    protocol = getattr(source, "protocol", None)
    return Automaton25(guarded=source.guarded) if protocol is STORE_2025 else Automaton()


def interpreter_on(
    source: StoreSource,
    store: OpenStore,
    automaton: Automaton | None = None,
    *,
    known: set[str] | None = None,
    settle: float = 2.0,
    beat: Words | None = None,
) -> Interpreter | Interpreter25:
    """An interpreter on a store that the source has opened: :class:`Interpreter` or :class:`Interpreter25`."""
    kind = Interpreter25 if source.protocol is STORE_2025 else Interpreter
    return kind(store, automaton or automaton_for(source), known=known, settle=settle, beat=beat)
