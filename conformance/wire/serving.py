"""The harness over a task store as a process: ``python -m mcptasks.conformance.wire.serving MODULE:ATTR REVISION``.

Prints the URL and serves until it is ended; used for the embedded reference server.
"""

from __future__ import annotations

import sys

from mcptasks.conformance.errors import ConformanceError

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Serve; the exit code."""
    from mcptasks.conformance.targets.loading import load_source
    from mcptasks.fixtures.server import serve
    from mcptasks.fixtures.server_2025 import serve as serve_2025

    store, revision = arguments
    earlier = revision == "2025-11-25"
    try:
        source, _ = load_source(store, revision="2025-11-25" if earlier else "2026-07-28")
        starting = serve_2025 if earlier else serve
        starting(source, on_ready=lambda url: print(url, flush=True))
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
