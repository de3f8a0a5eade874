"""Builds what is not Python for the interop tests: npm packages and crates, as their lock files say.

They go into the folder that ``MCPTASKS_INTEROP_DIR`` names (tox sets it) and stay there for the next
run; tests that run beside one another wait for each other here.  Where the folder or a tool is missing the test is skipped, loudly; with ``CI`` set it fails.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SECONDS = 2400
"""A first build of the crates takes some minutes on two idle cores, and many on busy ones."""


def folder_for(*tools: str) -> Path:
    """The folder to build in; without it, or without one of the tools, the test ends here."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    reason = ""
    if missing:
        reason = f"{' and '.join(missing)} not installed"
    elif not os.environ.get("MCPTASKS_INTEROP_DIR"):
        reason = "MCPTASKS_INTEROP_DIR names no folder to build in"
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    folder = Path(os.environ["MCPTASKS_INTEROP_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def npm_package(source: Path, *, build: bool = False) -> Path:
    """A copy of a folder with a package.json, its dependencies installed beside it, its own build run if asked for."""
    builds = folder_for("node", "npm")
    folder = builds / f"{source.parent.name}-{source.name}"
    with (builds / f"{folder.name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
        lock = (source / "package-lock.json").read_text()
        installed = folder / "installed.lock"
        if not installed.is_file() or installed.read_text() != lock:
            _run([shutil.which("npm") or "npm", "ci", "--no-audit", "--no-fund"], folder)
            installed.write_text(lock)
        if build:
            _run([shutil.which("npm") or "npm", "run", "--silent", "build"], folder)
    return folder


def cargo_binary(source: Path, name: str) -> Path:
    """The program of that name, from a folder with a Cargo.toml; all crates share what they can of one build."""
    target = folder_for("cargo") / "cargo"
    _run([shutil.which("cargo") or "cargo", "build", "--locked", "--quiet", "--target-dir", str(target)], source)
    return target / "debug" / name


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"{' '.join(command)} in {folder}:\n{done.stdout}{done.stderr}"
