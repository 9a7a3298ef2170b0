"""What an adaptation came to, as plain values for a program and in words for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from dptransfer.cli.inspect import pair
from dptransfer.cli.output import print_facts

if TYPE_CHECKING:
    from dptransfer import Release, TransferClassifier
    from dptransfer.transfer.container import Container
    from dptransfer.transfer.gain import Interval

__all__ = ["outcome", "print_outcome"]


def outcome(
    model: TransferClassifier,
    used: Sequence[tuple[Release, Container]],
    labels: Sequence[object],
) -> dict[str, Any]:
    """All that there is to say of a fitted model, the releases that it used and its labels."""
    gain, accuracy = model.transfer_gain_, _accuracy(model)
    columns = model.columns_
    return {
        "rows": len(labels),
        "labelled": sum(label is not None for label in labels),
        "classes": model.classes_.tolist(),
        "columns": [] if columns is None else columns.names,
        "features": model.n_features_in_,
        "strategy": model.strategy_,
        "sources": [
            {
                "file": str(file.path),
                "name": release.name,
                "digest": file.digest,
                "public_key": file.public_key or None,
                "guarantee": release.guarantee.to_dict(),
                "per_record": release.per_record.to_dict(),
            }
            for release, file in used
        ],
        "accuracy": None if accuracy is None else accuracy._asdict(),
        "gain": None if gain is None else gain.to_dict(),
        "verdict": _alone(model, accuracy) if gain is None else gain.summary(),
        "calibration": model.calibration_,
        "notes": model.notes_,
    }


def print_outcome(
    told: Mapping[str, Any], releases: Sequence[Release], files: Mapping[str, Any]
) -> None:
    """The same in words, the guarantee before what came of it."""
    wrote = files["file"] + ("" if files["report"] is None else f" and {files['report']}")
    print_facts(
        f"wrote {wrote}",
        [
            ("rows", f"{told['rows']:,}, {told['labelled']:,} of them labelled"),
            ("columns", f"{len(told['columns']):,} ({told['features']:,} features)"),
            ("classes", ", ".join(map(str, told["classes"]))),
            ("sources", ", ".join(release.name for release in releases) or "none"),
            ("strategy", told["strategy"]),
        ],
    )
    for release in releases:
        typer.echo(f"{release.name}: {_promise(release)}\n")
    typer.echo(told["verdict"])
    for note in told["notes"]:
        typer.echo(f"\nNote: {note}.")
    typer.echo(
        f"\nThe model in {files['file']} was learned from your rows without any noise: keep it as "
        "private as they are."
    )


def _accuracy(model: TransferClassifier) -> Interval | None:
    """On labelled rows held out, repetitions averaged."""
    from dptransfer.transfer.gain import wilson  # noqa: PLC0415 - `--help` starts without it

    held_out = model.held_out_
    if held_out is None:
        return None
    right = held_out.errors.argmin(axis=2) == held_out.numbers
    return wilson(float(right.sum()) / len(right), len(held_out.rows))


def _alone(model: TransferClassifier, accuracy: Interval | None) -> str:
    """What to say where no source was used."""
    said = "It was learned from your rows alone, without a release."
    if accuracy is None or model.held_out_ is None:
        return f"{said} How good it is cannot be said: no class has two labelled rows."
    return (
        f"{said} Of {len(model.held_out_.rows)} labelled rows, held out in turn, {accuracy} were "
        "right (95 % interval)."
    )


def _promise(release: Release) -> str:
    """A release's guarantee in a sentence, and what it comes to for a whole row."""
    from dptransfer.privacy.words import in_words  # noqa: PLC0415

    promise = f"{in_words(release.guarantee).protected[:-1]}, at {pair(release.guarantee)}"
    if release.guarantee.unit == "element":
        promise += f"; one whole row at {pair(release.per_record)}"
    if release.manifest.get("noise", {}).get("insecure_seed", False):
        promise += ". INSECURE: its noise was seeded, so this does not hold"
    return f"{promise}."
