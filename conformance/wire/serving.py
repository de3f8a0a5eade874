"""The harness over a task store as a process: ``python -m mcptasks.conformance.wire.serving MODULE:ATTR``.

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

    try:
        source, _ = load_source(arguments[0])
        serve(source, on_ready=lambda url: print(url, flush=True))
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
