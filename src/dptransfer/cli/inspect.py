"""`dptransfer inspect`: what a release file says of itself, once it has passed every check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dptransfer.cli.output import listening, print_facts, print_json, print_table

if TYPE_CHECKING:
    from dptransfer.privacy.guarantee import Guarantee
    from dptransfer.transfer.columns import Column
    from dptransfer.transfer.release import Release

__all__ = ["facts", "inspect", "pair"]

COLUMNS_SHOWN = 20


def inspect(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A release.")],
    *,
    verify: Annotated[
        Path | None,
        typer.Option(
            help="A PEM file with the owner's Ed25519 public key, come by another way than the "
            "release: refuse what its owner did not sign."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """Check a release and say what is in it: whose, of what, under which guarantee.

    Every byte is checked, and no code from the file is run. Anything off is
    one line and exit code 4. That the noise was drawn as the file says, no
    file can prove: that is what its owner's signature vouches for.

    Examples:
      dptransfer inspect clinic-a.release
      dptransfer inspect clinic-a.release --verify pub.pem
      dptransfer inspect clinic-a.release --json
    """
    from dptransfer.transfer import container  # noqa: PLC0415 - `--help` starts without it
    from dptransfer.transfer.release_file import open_release  # noqa: PLC0415
    from dptransfer.transfer.signature import load_public_key  # noqa: PLC0415

    key = None if verify is None else load_public_key(verify)
    with listening():
        release, file = open_release(path)
    if key is not None:
        container.verify(file, key)
    size = path.stat().st_size
    if as_json:
        print_json(
            {
                "file": str(path),
                "bytes": size,
                "digest": file.digest,
                "signed": file.signed,
                "public_key": file.public_key or None,
                "verified": key is not None,
                "manifest": file.manifest,
            }
        )
        return
    signed = "no"
    if file.signed:
        signed = f"by {file.public_key}"
        signed += ", verified" if key else ", NOT verified (use --verify with the owner's key)"
    print_facts(
        str(path),
        [
            *facts(release, size),
            ("signed", signed),
            ("digest", file.digest),
            ("made by", release.manifest["software"]),
            ("format version", str(file.manifest["format_version"])),
        ],
    )
    print_table(
        "Columns",
        ["name", "declared", "missing cells"],
        [_column(column) for column in release.columns[:COLUMNS_SHOWN]],
    )
    more = len(release.columns) - COLUMNS_SHOWN
    if more > 0:
        typer.echo(f"... and {more} more; --json lists them all\n")
    typer.echo(release.guarantee.statement())
    if release.per_record != release.guarantee:
        typer.echo(f"\n{release.per_record.statement()}")


def facts(release: Release, size: int) -> list[tuple[str, str]]:
    """What a person asks first, a line each."""
    from dptransfer.transfer.moment_release import MomentRelease  # noqa: PLC0415
    from dptransfer.transfer.sample_release import SampleRelease  # noqa: PLC0415

    noise = release.manifest["noise"]
    counts = release.summary.counts
    about = "about " if isinstance(release, MomentRelease) else ""
    sizes = zip(release.classes, counts, strict=True)
    lines = [
        ("data set", release.name),
        ("rows", f"{about}{max(0, counts.sum()):,.0f}"),
        ("columns", f"{len(release.columns):,} ({release.n_features:,} features)"),
        ("classes", ", ".join(f"{label} ({about}{max(0, rows):,.0f})" for label, rows in sizes)),
    ]
    if isinstance(release, SampleRelease):
        lines += [
            ("protects one cell", pair(release.guarantee)),
            ("so one whole row", pair(release.per_record)),
            ("perturbed rows", "in the file" if release.samples else "not in the file"),
        ]
    if isinstance(release, MomentRelease):
        spread = f"{len(release.summary.subspace)} directions"
        lines += [
            ("protects one whole row", f"{pair(release.guarantee)}, label and presence too"),
            ("radius", f"{release.radius:g} about the centre, as declared"),
            ("second moments", f"of every class, in {spread}"),
        ]
    return [
        *lines,
        ("noise", noise["mechanism"] + " INSECURE: seeded" * noise["insecure_seed"]),
        ("size", f"{size:,} bytes"),
    ]


def pair(guarantee: Guarantee) -> str:
    """The numbers of a guarantee."""
    from dptransfer.privacy.words import in_words  # noqa: PLC0415

    words = in_words(guarantee)
    return f"(epsilon, delta) = ({words.epsilon}, {words.delta})"


def _column(column: Column) -> tuple[str, str, str]:
    between = f"{column.low:g} to {column.high:g}" if column.categories is None else ""
    fill = "refused" if column.fill is None else f"count as {column.fill}"
    return column.name, between or "one of " + ", ".join(column.categories or ()), fill
