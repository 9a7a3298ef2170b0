"""The audit on whole record-level releases, and on one that understates how far a record moves."""

import pytest
from benchmarks.record_audit import OF_RELEASES

from dptransfer.privacy.audit import audit


def bound(name):
    mechanism = OF_RELEASES[name](1.0, 0.1)
    return audit(mechanism, epsilon=1.0, delta=0.1, distance=1.0, cells=3_000, calls=2)


def test_a_release_keeps_its_promise():
    """One audit is wrong with a probability of 5 %, two in a row with one in four hundred."""
    assert not bound("releases of moments").violated or not bound("releases of moments").violated


@pytest.mark.parametrize("name", sorted(OF_RELEASES.keys() - {"releases of moments"}))
def test_a_broken_release_is_found_out(name):
    assert bound(name).epsilon_lower > 1.0
