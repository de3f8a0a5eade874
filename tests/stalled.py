"""Runs a command on a machine that stalls: all of its processes stop now and then, at random, and go on.

    python tests/stalled.py python -m pytest -n 2 tests/test_wire_run.py

A test that fails only under this goes by the clock.  ``--one`` stops one process at a time, as where a single process
gets no turn; ``--seconds`` is how long a stall takes on average, ``--every`` how long there is none.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

import psutil


def stall(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Stop processes for a while."""
    stopped = []
    for process in processes:
        with suppress(psutil.Error):
            process.suspend()
            stopped.append(process)
    time.sleep(seconds)
    for process in stopped:
        with suppress(psutil.Error):
            process.resume()


def main() -> int:
    """Run the command; its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--one", action="store_true", help="stop one process at a time")
    parser.add_argument("--seconds", type=float, default=0.8, help="of a stall, on average")
    parser.add_argument("--every", type=float, default=3.0, help="seconds between stalls, on average")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    running = subprocess.Popen(given.command)
    root, known = psutil.Process(running.pid), dict[int, psutil.Process]()
    while running.poll() is None:
        time.sleep(random.expovariate(1 / given.every))
        with suppress(psutil.Error):
            # Those that have lost their parent are still of the run.
            known |= {process.pid: process for process in (root, *root.children(recursive=True))}
        known = {pid: process for pid, process in known.items() if process.is_running()}
        chosen = [random.choice(list(known.values()))] if given.one and known else list(known.values())
        stall(chosen, given.seconds * random.uniform(0.7, 1.3))
    return running.wait()


if __name__ == "__main__":
    sys.exit(main())
