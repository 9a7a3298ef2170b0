"""An adopter beside the clinic: few labels, a model of them, and the commands that work on it."""

import numpy as np
from clinic import clinic, command, rows, write_csv
from typer.testing import CliRunner

from dptransfer import TransferClassifier
from dptransfer.cli.app import app
from dptransfer.transfer import trial

ROWS, LABELLED = 60, 20


def make_quick(patch):
    """Shallow models, one round, a trial of two fits: where the command runs in this process."""
    patch.setattr(trial, "FOLDS", 2)
    patch.setattr(trial, "REPEATS", 1)
    for name, value in (("schedule", (5,)), ("n_layers", 1)):
        patch.setitem(TransferClassifier.__init__.__kwdefaults__, name, value)


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def done(*words):
    result = run(*words)
    assert result.exit_code == 0, result.exception or result.output
    return result


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def ours(n=ROWS, labelled=LABELLED, seed=1):
    """Columns of the adopter's table, as lists of texts; most labels are missing."""
    columns = rows(n, seed)
    columns["diagnosis"] = columns["diagnosis"][:labelled] + [""] * (n - labelled)
    return {"patient": [f"{row:03d}" for row in range(n)], **columns}


def release(folder, **changes):
    arguments = clinic(folder, **changes)
    done(*command(folder / "clinic.csv", arguments))
    return arguments["--out"]


def adapt(table, source, out, *more):
    """The words of the command line."""
    given = [] if source is None else ["--source", source]
    words = ["adapt", table, "--label", "diagnosis", *given, "--out", out, *more]
    return words if "--id" in more else [*words, "--id", "patient"]


def adopter(folder):
    """A folder with a release, the adopter's table, a table to label, and a model."""
    source = release(folder)
    write_csv(folder / "ours.csv", ours())
    write_csv(folder / "new.csv", ours(50, 50, seed=2))
    done(*adapt(folder / "ours.csv", source, folder / "ours.model"))
    return folder


def write_parquet(path, columns):
    import pyarrow as pa
    import pyarrow.parquet

    age = [float(cell) if cell else None for cell in columns["age"]]
    labels = [cell or None for cell in columns["diagnosis"]]
    pa.parquet.write_table(pa.table(columns | {"age": age, "diagnosis": labels}), path)
    return path


def write_npz(path, columns):
    np.savez(path, **columns | {"age": np.array([float(cell or "nan") for cell in columns["age"]])})
    return path


WRITERS = {"csv": write_csv, "parquet": write_parquet, "npz": write_npz}
