"""A campaign against a server in this process, for tests that need many of them."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.errors import ConformanceError
from mcptasks.conformance.runner.job import Job
from mcptasks.conformance.runner.server_job import ServerWork
from mcptasks.conformance.wire.secrets import HeaderLine
from mcptasks.conformance.wire.spec import ServerSpec

Message = dict[str, Any]
OTHER = HeaderLine("Authorization", "Bearer mcptasks-other")


async def _nothing() -> None:
    pass


def campaign(
    url: str,
    requests: int = 700,
    *,
    seed: int = 0,
    settle: float = 0.2,
    probes: bool = True,
    timeout: float = 4.0,
) -> list[Message]:
    """The messages of a campaign; how it failed, if it did, as a message of kind ``failed``.

    Without ``probes`` only sequences of operations run.
    """
    settings = Settings(seed=seed, budget=Budget(calls=requests), hypothesis=False, timeout=timeout)
    out: list[Message] = []
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder:
        beat = Beat(Path(folder) / "beat", create=True)
        work = ServerWork(
            Job("campaign", ServerSpec(url, other_headers=(OTHER,), settle=settle), settings), out.append, beat
        )
        try:
            run = loop.run_until_complete(work.open())
            assert run is not None
            if not probes:
                run._probes = _nothing  # type: ignore[method-assign]
            run.run(loop)
        except ConformanceError as error:
            out.append({"kind": "failed", "exit_code": error.exit_code, "message": str(error)})
        finally:
            loop.run_until_complete(work.close())
            loop.close()
            beat.close()
    return out


def findings(messages: list[Message]) -> list[Message]:
    """The findings among messages."""
    return [message for message in messages if message["kind"] == "finding"]
