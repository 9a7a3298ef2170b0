"""One thread a worker, and afterwards as many as before; in processes that are sure to have two."""

import os
import subprocess
import sys

import pytest

COMMON = """
import threading
from threadpoolctl import threadpool_info
from dptransfer.models.threads import one_blas_thread

def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

before = blas_threads()
"""
MAIN_BEGINS_AND_ENDS_FIRST = """
begun, may_end = threading.Event(), threading.Event()
def other():
    with one_blas_thread():
        begun.set()
        may_end.wait(10)
thread = threading.Thread(target=other)
with one_blas_thread():
    assert blas_threads() == {1}
    thread.start()
    begun.wait(10)
may_end.set()
thread.join(10)
assert blas_threads() == before, blas_threads()
"""
OTHER_BEGINS_AND_ENDS_FIRST = """
begun, may_end = threading.Event(), threading.Event()
def other():
    with one_blas_thread():
        begun.set()
        may_end.wait(10)
thread = threading.Thread(target=other)
thread.start()
begun.wait(10)
with one_blas_thread():
    may_end.set()
    thread.join(10)
    assert blas_threads() == {1}
assert blas_threads() == before, blas_threads()
"""
LEARNING_AND_LABELLING = """
from sklearn.datasets import load_digits
from dptransfer import DeepMembershipAutoencoder, MembershipClassifier, MembershipMapping
seen = []
Deep = DeepMembershipAutoencoder
for kind, name in ((Deep, "learn"), (Deep, "least_error"), (MembershipMapping, "learn")):
    def spy(self, *arguments, method=getattr(kind, name)):
        seen.append(blas_threads())
        return method(self, *arguments)
    setattr(kind, name, spy)
X, y = load_digits(return_X_y=True)
for n_jobs in (None, 2):
    MembershipClassifier(5, 2, n_jobs=n_jobs, random_state=0).fit(X[:500], y[:500]).predict(X)
DeepMembershipAutoencoder(5, 2).fit(X[:200]).residuals(X)
MembershipMapping().fit(X[:200], y[:200])
assert len(seen) > 50
assert all(threads == {1} for threads in seen), seen
assert blas_threads() == before
"""


@pytest.mark.parametrize(
    "story", [MAIN_BEGINS_AND_ENDS_FIRST, OTHER_BEGINS_AND_ENDS_FIRST, LEARNING_AND_LABELLING]
)
def test_threads(story):
    env = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    script = COMMON + "if before == {1}:\n    raise SystemExit('one thread only')\n" + story
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    if "one thread only" in done.stderr:
        pytest.skip("the linear algebra library here has one thread only")
    assert done.returncode == 0, done.stderr
