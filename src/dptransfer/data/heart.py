"""Heart disease at four hospitals: the same 13 measurements, asked and recorded differently.

Collected from 1981 to 1987 in Cleveland, Budapest, Zurich with Basel, and Long Beach [Detrano et
al., 1989]; given away by the UCI machine learning repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dptransfer.data.published import Arrays, Published, load, numbers

__all__ = ["HEART", "HEART_COLUMNS", "HOSPITALS", "HeartColumn", "heart_bounds", "load_heart"]

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")


class HeartColumn(NamedTuple):
    """A measurement, and the values that it may take."""

    name: str
    lowest: float
    highest: float
    meaning: str


# Declared: from what the measurement is, not from what these patients had. Codes have the ends of
# their code; a clinical measurement has the range in which an adult patient can be found.
HEART_COLUMNS = (
    HeartColumn("age", 18, 100, "years; adults"),
    HeartColumn("sex", 0, 1, "1 male, 0 female"),
    HeartColumn("cp", 1, 4, "chest pain: typical, atypical, not anginal, none"),
    HeartColumn("trestbps", 0, 300, "resting blood pressure in mmHg; 0 where it was not taken"),
    HeartColumn("chol", 0, 700, "serum cholesterol in mg/dl; 0 where it was not taken"),
    HeartColumn("fbs", 0, 1, "fasting blood sugar above 120 mg/dl"),
    HeartColumn("restecg", 0, 2, "resting electrocardiogram: normal, ST-T, hypertrophy"),
    HeartColumn("thalach", 40, 220, "highest heart rate reached, a minute"),
    HeartColumn("exang", 0, 1, "angina when exercising"),
    HeartColumn("oldpeak", -10, 10, "ST depression by exercise, in mm; negative is elevation"),
    HeartColumn("slope", 1, 3, "ST segment at peak exercise: up, flat, down"),
    HeartColumn("ca", 0, 3, "major vessels that fluoroscopy coloured"),
    HeartColumn("thal", 3, 7, "thallium scan: 3 normal, 6 fixed, 7 reversible defect"),
)


def heart_bounds() -> list[tuple[float, float]]:
    """The declared bounds, a pair for each of the 13 columns."""
    return [(column.lowest, column.highest) for column in HEART_COLUMNS]


def _decode(files: Sequence[bytes]) -> Arrays:
    """Arrays from the hospitals' tables; their last column is how ill, 0 for healthy."""
    arrays: Arrays = {}
    for hospital, raw in zip(HOSPITALS, files, strict=True):
        table = numbers(raw)
        arrays[f"{hospital}_x"] = table[:, :-1].astype(np.float32)
        arrays[f"{hospital}_y"] = (table[:, -1] > 0).astype(np.uint8)
    return arrays


PATIENTS = (303, 294, 123, 200)
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease"

HEART = Published(
    what="heart disease",
    file="heart.npz",
    addresses=tuple(f"{UCI}/processed.{hospital}.data" for hospital in HOSPITALS),
    shapes={
        f"{hospital}_{which}": shape
        for hospital, n in zip(HOSPITALS, PATIENTS, strict=True)
        for which, shape in (("x", (n, len(HEART_COLUMNS))), ("y", (n,)))
    },
    grid=1000,
    sha256="b0e272c81f4a513ea9037a34f27d3ba589f9ed00629673807a10739edd7dff86",
    decode=_decode,
)


def load_heart() -> dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
    """The four hospitals' patients: 13 measurements, NaN where missing, and 1 for the ill.

    The zeros of `chol` and `trestbps` are left as published, though they stand for measurements
    that were not taken: in Switzerland all of `chol`.
    """
    arrays = load(HEART)
    return {
        hospital: (
            arrays[f"{hospital}_x"].astype(np.float64),
            arrays[f"{hospital}_y"].astype(np.int64),
        )
        for hospital in HOSPITALS
    }
