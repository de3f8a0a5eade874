"""Checks a built source distribution and wheel: what is in them, and that the wheel works where it is installed alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

NEEDED = (
    "mcptasks/conformance/py.typed",
    "mcptasks/conformance/catalogue/data/catalogue.yaml",
    "mcptasks/conformance/catalogue/data/store_2026-07-28.yaml",
    "mcptasks/strategies/py.typed",
    "mcptasks/fixtures/py.typed",
    "mcptasks/reports/py.typed",
    "mcptasks/reports/report.schema.json",
)
FOLDERS = ("conformance", "fixtures", "reports", "strategies")
DATA = (".j2", ".json", ".toml", ".yaml", ".typed", ".py")


def sources(root: Path) -> set[str]:
    """Every file of the four folders that must be installed, as its name in the wheel."""
    return {
        f"mcptasks/{path.relative_to(root).as_posix()}"
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in DATA or path.name == "py.typed"
        if not {"__pycache__", "node_modules", "target"} & set(path.parts)
    }


def check_wheel(wheel: Path, root: Path) -> list[str]:
    """What is wrong with the content of the wheel."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    tops = {name.partition("/")[0] for name in names}
    problems = [f"top level of the wheel holds {top}" for top in tops if top != "mcptasks" and ".dist-info" not in top]
    # Worked bridges are copied out of the source, never imported.
    installed = {name for name in sources(root) if not name.startswith("mcptasks/fixtures/bridges/")}
    problems += [f"wheel lacks {name}" for name in sorted((installed | set(NEEDED)) - names)]
    if "mcptasks/__init__.py" in names:
        problems.append("mcptasks is a package in the wheel; it must be a namespace")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        problems.append("wheel lacks the licence")
    return problems


def check_sdist(sdist: Path, root: Path) -> list[str]:
    """What is wrong with the content of the source distribution."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {name.removeprefix("mcptasks/") for name in sources(root)} | {"pyproject.toml", "LICENSE", "README.md"}
    wanted |= {f"fixtures/bridges/{name}" for name in ("typescript/bridge.ts", "rust/src/main.rs", "rust/Cargo.lock")}
    return [f"source distribution lacks {name}" for name in sorted(wanted - names)]


def run_installed(wheel: Path, folder: Path) -> list[str]:
    """Install the wheel in an environment of its own and use it there."""
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    empty = folder / "elsewhere"
    empty.mkdir()
    # Nothing of the tree or of this environment may be found by chance.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for command in (
        [binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
        [binaries / "mcptasks", "--version"],
        [binaries / "mcptasks", "run", "--budget", "2000", "--seed", "1"],
    ):
        print("$", *command, flush=True)
        done = subprocess.run([str(part) for part in command], cwd=empty, env=clean, check=False, timeout=600)
        if done.returncode != 0:
            return [f"{command[0]} exited {done.returncode}"]
    return []


def main() -> int:
    """Check the one wheel and the one source distribution in the folder that the command line names."""
    dist, root = Path(sys.argv[1]), Path(__file__).resolve().parents[1]
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        problems = check_wheel(wheel, root) + check_sdist(sdist, root) + run_installed(wheel, Path(folder))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
