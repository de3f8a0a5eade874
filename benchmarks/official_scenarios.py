"""How long a run takes beside the ten tasks scenarios of the official suite, on one server: a ratio within one run.

    python benchmarks/official_scenarios.py FOLDER [--rounds 5]

``FOLDER`` is where ``tox -e peer`` has installed the official suite: ``.tox/peer/peer``.  Starts the reference server as a
process of its own.  In each round the ten scenarios are run one after the other, as that suite's command runs them, then
``mcptasks run --url`` with its defaults.  Prints the seconds of both and the median ratio.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIOS = (
    "capability-negotiation",
    "dispatch-and-envelope",
    "lifecycle",
    "mrtr-composition",
    "mrtr-input",
    "request-headers",
    "request-state-removal",
    "required-task-error",
    "status-notifications",
    "wire-fields",
)
OURS = [sys.executable, "-m", "mcptasks.conformance.cli"]


def seconds(commands: list[list[str]], folder: str) -> float:
    """Wall time of commands, one after the other; each must succeed."""
    started = time.perf_counter()
    for command in commands:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the official suite is installed")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    modules = given.folder.resolve() / "node_modules"
    official = [
        str(modules / "node/bin/node"),
        str(modules / "@modelcontextprotocol/conformance/dist/index.js"),
        "server",
    ]
    if not Path(official[1]).is_file():
        parser.error(f"{given.folder} holds no official suite: tox -e peer installs it in .tox/peer/peer")
    server = subprocess.Popen([*OURS, "serve"], stdout=subprocess.PIPE, text=True)
    ratios = []
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            for number in range(given.rounds):
                theirs = seconds(
                    [[*official, "--url", url, "--scenario", f"tasks-{name}"] for name in SCENARIOS], folder
                )
                ours = seconds([[*OURS, "run", "--url", url]], folder)
                ratios.append(ours / theirs)
                print(f"round {number + 1}: official {theirs:.1f} s, mcptasks {ours:.1f} s, ratio {ratios[-1]:.2f}")
    finally:
        server.terminate()
        server.wait()
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
