"""The audit on totals of records: on the true mechanism, and on those that break its promise."""

import numpy as np
import pytest
from benchmarks.record_audit import BROKEN, released

from dptransfer.privacy.audit import audit


@pytest.mark.parametrize("name", BROKEN)
def test_broken_totals_are_found_out(name):
    report = audit(
        BROKEN[name](1.0, 0.1), epsilon=1.0, delta=0.1, distance=1.0, cells=40_000, calls=10
    )
    assert report.epsilon_lower > 1.0


def test_true_totals_stay_below():
    """As in `test_audit.py`, of the whole record-level release; the benchmark does a hundred."""
    reports = [
        audit(released(1.0, 0.1), epsilon=1.0, delta=0.1, distance=1.0, cells=8_000, calls=10)
        for _ in range(25)
    ]
    assert sum(not report.violated for report in reports) >= 23
    assert np.median([report.epsilon_lower for report in reports]) > 0.7
