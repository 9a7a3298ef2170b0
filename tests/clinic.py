"""A small clinic's table to release, keys, and the command line as a process of its own."""

import csv
import json
import subprocess
import sys

import numpy as np
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

BOUNDS = {
    "age": {"low": 0, "high": 120, "fill": 50},
    "sex": {"categories": ["f", "m"]},
    "pain": {"categories": ["none", "some", "much"]},
}
CLASSES = ["ill", "well"]


def rows(n=200, seed=0):
    """Columns of a table, as lists of texts; some ages are missing."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    age = [f"{a:.1f}" for a in rng.normal(45 + 15 * ill, 8).clip(0, 120)]
    for row in range(0, n, 17):
        age[row] = ""
    return {
        "age": age,
        "sex": rng.choice(["f", "m"], n).tolist(),
        "pain": np.where(rng.random(n) < 0.3 + 0.4 * ill, "much", "none").tolist(),
        "diagnosis": np.where(ill, "ill", "well").tolist(),
    }


def write_csv(path, columns):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def clinic(folder, **changes):
    """A folder with clinic.csv and bounds.json; what to call the command with."""
    write_csv(folder / "clinic.csv", rows())
    (folder / "bounds.json").write_text(json.dumps(BOUNDS))
    return {
        "--label": "diagnosis",
        "--bounds": folder / "bounds.json",
        "--classes": "ill,well",
        "--epsilon": 1,
        "--delta": 1e-5,
        "--out": folder / "clinic.release",
    } | changes


def command(table, arguments, *flags):
    """The words of the command line."""
    return ["release", table, *(word for pair in arguments.items() for word in pair), *flags]


def key_files(folder, name="key"):
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def process(*words, **options):
    """The command line as a user runs it."""
    return subprocess.Popen(
        [sys.executable, "-c", "from dptransfer.cli import main; main()", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
