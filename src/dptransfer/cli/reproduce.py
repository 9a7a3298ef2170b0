"""`dptransfer reproduce`: the paper's tables and figures, made anew and set beside its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dptransfer.cli.output import listening, long_work, print_json, print_table, progress
from dptransfer.errors import DataError, DPTransferError
from dptransfer.experiments.catalogue import ALL, EXPERIMENTS, make

if TYPE_CHECKING:
    from dptransfer.experiments.experiment import Experiment
    from dptransfer.experiments.store import Store
    from dptransfer.report.results import Figure

__all__ = ["reproduce"]

reproduce = typer.Typer(
    help="Make the paper's tables and figures anew, and set them beside its own.\n\n"
    "Example: dptransfer reproduce mnist-usps --quick --out reproduced",
    no_args_is_help=True,
)

RESULTS = Path("reproduced")
NAMES = {name: entry.help for name, entry in EXPERIMENTS.items()} | {
    ALL: "Every table of the paper's Section 5 (about an hour on two cores)."
}


class Form(StrEnum):
    """How results are printed."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


Out = Annotated[Path, typer.Option(help="The folder where finished trials are kept.")]
As = Annotated[Form, typer.Option("--format", help="How to print the results.")]
Report = Annotated[
    Path | None, typer.Option(metavar="HTML", help="Write the results as one HTML page too.")
]


def _command(name: str) -> Callable[..., None]:
    def command(
        out: Out = RESULTS,
        runs: Annotated[
            int | None, typer.Option(min=1, help="Draws of each task; by default the paper's.")
        ] = None,
        jobs: Annotated[
            int | None,
            typer.Option(min=1, help="Workers, by default one a core; figures do not change."),
        ] = None,
        quick: Annotated[
            bool, typer.Option("--quick", help="One trial of each, at the paper's ε only.")
        ] = False,
        form: As = Form.TABLE,
        report: Report = None,
    ) -> None:
        from dptransfer.experiments.runner import perform, plan  # noqa: PLC0415
        from dptransfer.experiments.store import Store  # noqa: PLC0415

        experiments = make(name, quick=quick)
        store = Store(_folder(out, quick))
        steps = plan(experiments, store, runs)
        with listening():
            for experiment in dict.fromkeys(each for each, _ in steps):
                experiment.get_ready()
        workers = jobs or _cores()
        seconds = sum(each.seconds(trial) for each, todo in steps for trial in todo)
        number, trials = 0, sum(len(todo) for _, todo in steps)
        with long_work(seconds, seconds / workers) as done:
            for experiment, trial, _ in perform(steps, store, workers):
                number += 1
                done(experiment.seconds(trial), f"{number} of {trials} trials, {experiment.name}")
        _show(experiments, store, form, report)

    command.__doc__ = (
        f"{NAMES[name]}\n\nEvery finished trial is kept in --out at once: stop when you like, and "
        "the same command goes on where it was.\n\n"
        f"Example: dptransfer reproduce {name} --quick --out reproduced"
    )
    return command


for _name in NAMES:
    reproduce.command(_name)(_command(_name))


@reproduce.command("show")
def show(
    out: Out = RESULTS,
    quick: Annotated[bool, typer.Option("--quick", help="Of quick trials.")] = False,
    form: As = Form.TABLE,
    report: Report = None,
) -> None:
    """Print what has been measured so far, without running anything.

    Example: dptransfer reproduce show --out reproduced --report results.html
    """
    from dptransfer.experiments.store import Store  # noqa: PLC0415

    _show(make(quick=quick), Store(_folder(out, quick)), form, report)


@reproduce.command("page")
def page(
    to: Annotated[Path, typer.Argument(help="The Markdown file to write.")],
    out: Out = RESULTS,
) -> None:
    """Write the page of results from the finished trials.

    Example: dptransfer reproduce page docs/results.md --out benchmarks/results/reproduce
    """
    from dptransfer.experiments.pages import whole_page  # noqa: PLC0415
    from dptransfer.experiments.store import Store  # noqa: PLC0415

    text = whole_page(_measured(make(), Store(out)))
    try:
        unfinished = to.with_name(to.name + ".part")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(to)
    except OSError as error:
        raise DataError(f"cannot write to {to}: {error.strerror}") from error


@reproduce.command("figures")
def figures(
    out: Annotated[Path, typer.Option(help="The folder for the pictures.")] = Path("figures"),
    results: Annotated[
        Path, typer.Option(help="The folder of finished trials, for the curves.")
    ] = RESULTS,
) -> None:
    """Draw the paper's four pictures, and from finished trials three that it lacks.

    The pictures of digits use MNIST if it is at hand, and scikit-learn's small digits otherwise.

    Example: dptransfer reproduce figures --out figures --results reproduced
    """
    from dptransfer.data.at_hand import file_at_hand  # noqa: PLC0415
    from dptransfer.data.datasets import load_digits, load_mnist  # noqa: PLC0415
    from dptransfer.experiments.curves import CURVES, draw_curves  # noqa: PLC0415
    from dptransfer.experiments.figures import FIGURES, draw_figures  # noqa: PLC0415
    from dptransfer.experiments.store import Store  # noqa: PLC0415
    from dptransfer.report.layers import save  # noqa: PLC0415

    images = load_mnist() if file_at_hand("mnist.npz") else load_digits()
    typer.echo(f"drawing on {images.name}")
    try:
        for path in progress(draw_figures(images, out), len(FIGURES), "drawing"):
            typer.echo(str(path))
        curves = draw_curves(make(), Store(results))
        for each in curves:
            typer.echo(str(save(each.figure, out / f"{each.name}.png")))
    except OSError as error:
        raise DataError(f"cannot write to {out}: {error.strerror}") from error
    if missing := sorted(set(CURVES) - {each.name for each in curves}):
        typer.echo(
            f"not drawn for want of finished trials in {results}: {', '.join(missing)}; run "
            "dptransfer reproduce all",
            err=True,
        )


def _folder(out: Path, quick: bool) -> Path:
    # what is quick is not comparable, and must never be taken for a run of the table
    return out / "quick" if quick else out


def _cores() -> int:
    return os.cpu_count() or 1


def _measured(experiments: Sequence[Experiment], store: Store) -> list[dict[str, Any]]:
    from dptransfer.experiments.pages import digest  # noqa: PLC0415

    found = digest(experiments, store)
    if not found:
        raise DataError(
            f"no finished trial is kept in {store.folder}; run one with dptransfer reproduce"
        )
    return found


def _drawings(experiments: Sequence[Experiment], store: Store) -> list[Figure]:
    """The curves for the page; without matplotlib the page is written without them."""
    from dptransfer.experiments.curves import draw_curves  # noqa: PLC0415

    try:
        return [each.drawing() for each in draw_curves(experiments, store)]
    except DPTransferError as error:
        typer.echo(f"the report has no figures: {error}", err=True)
        return []


def _show(experiments: Sequence[Experiment], store: Store, form: Form, report: Path | None) -> None:
    from dptransfer.experiments.pages import (  # noqa: PLC0415
        markdown,
        to_csv,
        two_tables,
    )

    found = _measured(experiments, store)
    if report is not None:
        from dptransfer.experiments.report_page import results_page  # noqa: PLC0415
        from dptransfer.report.rendering import write_page  # noqa: PLC0415

        kept = {"finished trials kept in": str(store.folder)}
        write_page(results_page(found, kept, _drawings(experiments, store)), report)
    if form is Form.JSON:
        print_json(found)
    elif form is Form.MARKDOWN:
        typer.echo(markdown(found))
    elif form is Form.CSV:
        typer.echo(to_csv(found), nl=False)
    else:
        for experiment in found:
            for table in experiment["tables"]:
                for number, (headings, rows) in enumerate(two_tables(table)):
                    print_table("" if number else table["title"], headings, rows)
                if table["text"]:
                    typer.echo(table["text"] + "\n")
