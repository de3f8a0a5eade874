"""Requirements on a server that no request of a client's can judge by themselves, with the reason.

Each is judged under another name, or shows nothing on the wire that a lawful server could not show as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["NOT_OF_2025", "UNJUDGED"]

UNJUDGED: Final[Mapping[str, str]] = {
    "tasks.status.legal-transitions": "between two reads a task may have been in any status that is not final: only "
    "leaving a final one can be seen, and is judged as tasks.status.terminal-final",
    "tasks.err.internal": "nothing that a client may send makes a sound server fail inside; a request that breaks "
    "the server is judged as rpc.internal-error",
    "tasks.update.ignore-superseded": "no tool of any profile takes a question back; answers to keys that are no "
    "longer asked are judged as tasks.update.ignore-answered",
    "tasks.update.key-unique": "a key that stands for a second request is judged as tasks.update.no-reuse once it was "
    "answered, and as tasks.update.no-two-meanings before",
    "http.post-endpoint": "a server without it cannot be asked anything, and is unusable",
    "http.disconnect-cancels-request": "what becomes of a request that its client gave up does not show, and whether "
    "a task just made stays is open (ambiguity AMB-10)",
    "tasks25.list.pagination": "a page of any size is lawful, one that holds all tasks as well: which it is shows as a "
    "choice, and what is wrong with pages is judged as tasks25.list.next-cursor",
}
"""By id: why there is no verdict of its own; in reports the requirement is not applicable for that reason."""

NOT_OF_2025: Final[Mapping[str, str]] = {
    "rpc.internal-error": "a request that breaks the server is judged as tasks25.err.internal",
    "rpc.server-no-requests": "of 2026-07-28 alone: a server of 2025-11-25 may send requests",
}
"""By id: why a requirement that both revisions share is not judged on a server of 2025-11-25."""
