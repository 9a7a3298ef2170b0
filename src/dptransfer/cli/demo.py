"""`dptransfer demo`: both people play their part on real data, with the commands of every day.

Every step is a command line. What is printed is what is run, word for word, in a folder that stays,
so that whoever watches can repeat it; what is said of a step comes from what the command reports to
a program (`--json`).
"""

from __future__ import annotations

import io
import json
import shlex
import shutil
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dptransfer.cli.inspect import pair
from dptransfer.cli.output import print_facts, print_json
from dptransfer.errors import DataError

if TYPE_CHECKING:
    from dptransfer.cli.demo_sites import Sites

__all__ = ["demo"]

WIDTH = 96
INIT = "dptransfer ledger init releases.ledger"
BUDGET = (
    "dptransfer ledger budget releases.ledger digits --unit element --epsilon 2 --delta 1e-4 "
    "--bounds bounds.json"
)
RELEASE = (
    "dptransfer release owner.csv --label digit --drop image --classes {classes} "
    "--bounds bounds.json --epsilon 1 --delta 1e-5 --ledger releases.ledger --name digits "
    "--out digits.release"
)
INSPECT = "dptransfer inspect digits.release"
ADAPT = (
    "dptransfer adapt ours.csv --label digit --id image --source digits.release --out ours.model"
)
ALONE = "dptransfer adapt ours.csv --label digit --id image --out alone.model"
PREDICT = "dptransfer predict ours.model checked.csv --id image --out labels.csv"
EVALUATE = "dptransfer evaluate ours.model checked.csv --label digit"
EVALUATE_ALONE = "dptransfer evaluate alone.model checked.csv --label digit"


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="A folder to make; by default one for temporary files."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """Play both people on scikit-learn's digits: an owner's release, an adopter's few labels.

    Makes two sites' tables, releases one under a budget, learns from the other
    with the release and without it, and tests both on rows that nobody learned
    from. Every step is a command, shown as it is run; the folder stays, so that
    each can be repeated there. Needs no data and no network, and takes under a
    minute.

    Examples:
      dptransfer demo
      dptransfer demo --out digits-demo
      dptransfer demo --json
    """
    from dptransfer.cli.demo_sites import write_sites  # noqa: PLC0415 - slow to import

    start = time.perf_counter()
    with _fresh(out) as folder, chdir(folder):
        sites = write_sites(Path())
        if not as_json:
            _show_sites(sites, folder)
        told = {"folder": str(folder), **sites._asdict(), **_play(sites, quiet=as_json)}
    told["seconds"] = time.perf_counter() - start
    if as_json:
        print_json(told)
    else:
        _show_end(told)


@contextmanager
def _fresh(out: Path | None) -> Iterator[Path]:
    """Make a folder of our own; it is gone again if the demo does not come to its end."""
    try:
        if out is None:
            folder = Path(tempfile.mkdtemp(prefix="dptransfer-demo-"))
        else:
            folder = out.absolute()
            folder.mkdir()
    except FileExistsError:
        raise DataError(f"{out} is there already; name a folder that --out can make") from None
    except OSError as error:
        raise DataError(f"cannot make the folder {out or ''}: {error.strerror}") from error
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _run(line: str) -> Any:
    """Run a command line within this process; what it reports to a program, if it does."""
    from dptransfer.cli.app import app  # noqa: PLC0415 - it imports us

    name, *words = shlex.split(line)
    command = typer.main.get_command(app)
    said = io.StringIO()
    if line in (INIT, BUDGET):
        with redirect_stderr(said), command.make_context(name, words) as context:
            command.invoke(context)
        return None
    with redirect_stdout(said), command.make_context(name, [*words, "--json"]) as context:
        command.invoke(context)
    return json.loads(said.getvalue())


class _Step(NamedTuple):
    """What somebody does, with which command lines, and what is said of the reports."""

    what: str
    lines: Sequence[str]
    say: Callable[..., None] | None = None


def _play(sites: Sites, *, quiet: bool) -> dict[str, Any]:
    """All steps, each of them shown, run and told of; the figures that they gave."""
    release = RELEASE.format(classes=",".join(map(str, sites.classes)))
    check = (ALONE, EVALUATE, EVALUATE_ALONE)
    steps = [
        _Step("The owner says how much may ever be released of them.", (INIT, BUDGET)),
        _Step("The owner makes one file, which is entered in the ledger.", [release], _promise),
        _Step("The adopter checks what came: every byte, and the promise.", [INSPECT], _seen),
        _Step("The adopter learns from it, few labels, and rows without.", [ADAPT], _worth),
        _Step("The model labels rows that it never saw.", [PREDICT], _labels),
        _Step("Their true labels are known here; was that better than alone?", check, _checked),
    ]
    reports: dict[str, Any] = {}
    for step in steps:
        if not quiet:
            _show_lines(step)
        for line in step.lines:
            reports[line] = _run(line)
        if not quiet and step.say is not None:
            step.say(*(reports[line] for line in step.lines))
    manifest, adapted = reports[release]["manifest"], reports[ADAPT]
    return {
        "commands": list(reports),
        "guarantee": manifest["guarantee"],
        "per_record": manifest["per_record"],
        "strategy": adapted["strategy"],
        "gain": adapted["gain"],
        "verdict": adapted["verdict"],
        "held_out": {
            "with_source": reports[EVALUATE]["accuracy"],
            "without_source": reports[EVALUATE_ALONE]["accuracy"],
        },
    }


def _show_sites(sites: Sites, folder: Path) -> None:
    facts = [
        ("owner.csv", f"{sites.owned:,} digits, every one labelled: private"),
        ("bounds.json", "what the owner declares: between which values each pixel can lie"),
        ("ours.csv", f"{sites.ours:,} others, of which {sites.labelled:,} are labelled"),
        ("checked.csv", f"{sites.checked:,} more, all labelled: to test on, never learned from"),
    ]
    print_facts("Two sites that hold scikit-learn's digits, 8 x 8 pixels a row:", facts)
    typer.echo(f"$ cd {shlex.quote(str(folder))}\n")


def _show_lines(step: _Step) -> None:
    typer.echo(f"# {step.what}")
    for line in step.lines:
        first, *options = line.split(" --")
        folded = [f"$ {first}"]
        for option in options:
            if len(folded[-1]) + len(option) > WIDTH - len(" -- \\"):
                folded.append("   ")
            folded[-1] += f" --{option}"
        typer.echo(" \\\n".join(folded))
    typer.echo()


def _say(text: str) -> None:
    typer.echo(textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False) + "\n")


def _promise(made: dict[str, Any]) -> None:
    from dptransfer.privacy.guarantee import Guarantee  # noqa: PLC0415
    from dptransfer.privacy.words import in_words  # noqa: PLC0415

    manifest = made["manifest"]
    cell, row = (Guarantee.from_dict(manifest[name]) for name in ("guarantee", "per_record"))
    words = in_words(cell)
    _say(
        f"{words.protected[:-1]}, at {pair(cell)}: whoever sees the file, whatever else they know, "
        f"guesses which of two values a cell had rightly at most {words.best_guess} of the time."
    )
    _say(
        f"What is not: {'; '.join(cell.not_covered)}. All cells of one row together are at "
        f"{pair(row)}, where that guess is right at most {in_words(row).best_guess} of the time."
    )
    sizes = manifest["class_sizes"]
    _say(
        f"Epsilon is {cell.epsilon:g} because classes are small here, {min(sizes)} to {max(sizes)} "
        "rows: at 0.1 the noise would drown them. With thousands of rows a class it can be less."
    )


def _seen(seen: dict[str, Any]) -> None:
    manifest = seen["manifest"]
    _say(
        f"{seen['file']} is whole: {seen['bytes']:,} bytes, learned from {manifest['n_rows']:,} "
        f"perturbed rows of {len(manifest['columns'])} columns; "
        f"{'signed' if seen['signed'] else 'not signed'}; digest {seen['digest'][:16]}..."
    )


def _worth(adapted: dict[str, Any]) -> None:
    from dptransfer.transfer.gain import TransferGain  # noqa: PLC0415

    if adapted["gain"] is None:  # a strategy that takes nothing from the source
        _say(adapted["verdict"])
        return
    gain = TransferGain.from_dict(adapted["gain"])
    print_facts(
        f"{gain.rows} labelled rows, held out in turn {gain.repeats} times, are right",
        [
            ("with the release", str(gain.with_source)),
            ("without it", str(gain.without_source)),
            ("with pure noise in its place", f"{gain.with_noise}    (95 % intervals)"),
        ],
    )
    _say(f"{gain.verdict()} (Strategy: {adapted['strategy']}.)")


def _labels(labelled: dict[str, Any]) -> None:
    with Path(labelled["file"]).open(encoding="utf-8") as stream:
        typer.echo(next(stream) + next(stream) + "...")
    deciders = ", ".join(f"{name} ({n})" for name, n in labelled["decided_by"].items())
    _say(f"{labelled['rows']} rows, decided by: {deciders}.")


def _checked(_: object, checked: dict[str, Any], alone: dict[str, Any]) -> None:
    from dptransfer.transfer.gain import Interval  # noqa: PLC0415

    print_facts(
        f"{checked['rows']} rows that nothing was learned from are right",
        [
            ("with the release", str(Interval(**checked["accuracy"]))),
            ("without it", f"{Interval(**alone['accuracy'])}    (95 % intervals)"),
        ],
    )
    _say(
        "Whether it is what the release knows that made a difference, only the comparison with "
        "pure noise above can say."
    )


def _show_end(told: dict[str, Any]) -> None:
    folder = told["folder"]
    _say(
        f"All of it lies in {folder}; only digits.release goes from the owner to the "
        "adopter. Nothing is written over: to repeat a step, name another file with --out. "
        "docs/guide.md goes through all of it with a table of patients. "
        f"That took {told['seconds']:.0f} seconds."
    )
