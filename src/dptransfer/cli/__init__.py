"""The command line: one file a command, one place where errors become a line and an exit code."""

from dptransfer.cli.app import main

__all__ = ["main"]
