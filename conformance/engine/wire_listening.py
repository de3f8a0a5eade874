"""Whether a server has subscriptions, which are optional."""

from __future__ import annotations

from mcptasks.conformance.engine.wire_server import ServerSource
from mcptasks.conformance.probes.subscription import why_no_listening

__all__ = ["learn_listening"]


async def learn_listening(source: ServerSource) -> str | None:
    """Ask a server for a subscription, and remember whether it has any.

    Returns:
        Why it is taken to have none, or ``None``.
    """
    why = await why_no_listening(source)
    source.opened.listens = why is None
    return why
