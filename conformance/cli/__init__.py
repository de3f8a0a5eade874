"""The command ``mcptasks``."""

from mcptasks.conformance.cli.entry import main

__all__ = ["main"]
