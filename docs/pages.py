"""Run what the pages show, and write into them what came out: `make pages`.

In the guide, a block marked ``console`` holds command lines after ``$`` and what each of them
printed, in which a line ``...`` stands for lines left out; one marked ``python`` is a program, and
one marked ``text`` after it is what that printed; one marked ``json`` after the name of a file is
that file. They are run in their order in one folder. In the README, the block marked ``text`` is
what `dptransfer demo` prints.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from dptransfer.cli import main as dptransfer

__all__ = ["DOCS", "Shown", "command_line", "renewed", "run"]

DOCS = Path(__file__).parent
BLOCK = re.compile(
    r"(?:`(?P<file>[\w-]+\.json)`:\n\n)?```(?P<kind>console|python|text|json)\n(?P<body>.*?)```",
    re.DOTALL,
)
LEFT_OUT = "..."


class Shown(NamedTuple):
    """Something that was run, what the page shows of it, and what it printed."""

    command: str
    shown: str
    printed: str
    place: slice
    """Where on the page that stands."""

    @property
    def new(self) -> str:
        """What was printed, as much of it as the page shows."""
        if not self.shown.strip():
            return self.shown  # what the page keeps quiet about
        lines = [line.rstrip() for line in self.printed.strip().split("\n")]
        shown = self.shown.strip().split("\n")
        if LEFT_OUT in shown:
            first = shown.index(LEFT_OUT)
            lines = [*lines[:first], LEFT_OUT, *lines[len(lines) - len(shown) + first + 1 :]]
        gap = "\n" * self.shown.endswith("\n\n")
        return "".join(f"{line}\n" for line in lines) + gap


def run(page: str) -> Iterator[Shown]:
    """Run all blocks of a page in the current folder; all that it shows as printed, in order."""
    names: dict[str, Any] = {}
    said = ""
    for block in BLOCK.finditer(page):
        kind, body, start = block["kind"], block["body"], block.start("body")
        if kind == "json" and block["file"]:
            Path(block["file"]).write_text(body, encoding="utf-8")
        elif kind == "python":
            caught = io.StringIO()
            with redirect_stdout(caught):
                exec(compile(body, f"page, from character {start}", "exec"), names)
            said = caught.getvalue()
        elif kind == "text":
            yield Shown("python", body, said, slice(start, start + len(body)))
        elif kind == "console":
            # a command, the lines that it goes on over, and all until the next
            for part in re.finditer(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                line = part[1].replace("\\\n", " ").strip()
                place = slice(start + part.start(2), start + part.end(2))
                yield Shown(line, part[2], command_line(line), place)


def command_line(line: str) -> str:
    """What a command line prints, on standard output and error together."""
    if not line.startswith("dptransfer "):
        done = subprocess.run(
            line,
            shell=True,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done.stdout
    caught = io.StringIO()
    with (
        patch.object(sys, "argv", shlex.split(line)),
        redirect_stdout(caught),
        redirect_stderr(caught),
        suppress(SystemExit),
    ):
        dptransfer()
    return caught.getvalue()


def renewed(page: str, shown: list[Shown]) -> str:
    """The page with what was printed in the place of what it showed."""
    for one in reversed(shown):
        page = page[: one.place.start] + one.new + page[one.place.stop :]
    return page


def main() -> None:
    """Renew the guide and the README."""
    guide, readme = DOCS / "guide.md", DOCS.parent / "README.md"
    text = guide.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        text = renewed(text, list(run(text)))
    guide.write_text(text, encoding="utf-8")
    text = readme.read_text(encoding="utf-8")
    (block,) = (block for block in BLOCK.finditer(text) if block["kind"] == "text")
    said = command_line("dptransfer demo")
    clean = re.sub(r"[ \t]+$", "", said, flags=re.MULTILINE).strip() + "\n"
    readme.write_text(text[: block.start("body")] + clean + text[block.end("body") :], "utf-8")


if __name__ == "__main__":
    main()
