"""One run of one probe of either revision: under its deadline, its leavings ended, the counts of the run restored."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from mcptasks.conformance.probes.exchange import ProbeSkipped
from mcptasks.conformance.probes.findings import ProbeOver
from mcptasks.conformance.wire.problems import WireProblem

__all__ = ["conduct"]

_CLOSING: Final = 15.0
"""Seconds that ending what a probe has opened may take."""


class _Session(Protocol):
    client: Any

    async def close(self) -> None:
        """End what the probe has opened."""


async def conduct(
    run: Callable[[Any], Awaitable[None]],
    session: _Session,
    counts: Counter[str],
    deadline_s: float,
    broken: Callable[[WireProblem], str],
) -> str:
    """Run a probe.

    Args:
        run: the probe.
        session: what it works with.
        counts: the client's, which it has back when the probe is over.
        deadline_s: seconds that it may take.
        broken: why nothing can be told after a request without an answer that can be read; it may raise instead.

    Returns:
        Why it could not tell anything, or not everything; nothing if it could.
    """
    try:
        async with asyncio.timeout(deadline_s):
            await run(session)
    except ProbeOver:
        return ""
    except ProbeSkipped as reason:
        return str(reason)
    except TimeoutError:
        return f"it was not through after {deadline_s:g} s"
    except WireProblem as problem:
        return broken(problem)
    finally:
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING):
                    await session.close()
        finally:
            session.client.exercised = counts
            session.client.reserve = 0
    return ""
