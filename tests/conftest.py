"""What the tests share: the large data, where it is, and the setting of hypothesis."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

os.environ["DPTRANSFER_OFFLINE"] = "1"  # no test asks a public host for anything

threadpool_limits(1)  # the literal transcription has small matrices too

settings.register_profile("dptransfer", deadline=None, max_examples=60)
settings.load_profile("dptransfer")


def load(name: str):
    folder = os.environ.get("DPTRANSFER_DATA")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"set DPTRANSFER_DATA to a folder with {name} to run this")
    with np.load(Path(folder) / name) as file:
        return {key: file[key] for key in file.files}


@pytest.fixture(scope="session")
def mnist():
    return load("mnist.npz")


@pytest.fixture(scope="session")
def usps():
    return load("usps.npz")
