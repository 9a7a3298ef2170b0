"""Where private values are perturbed, and what may then be said of them."""

from dptransfer.privacy.gaussian import GaussianNoise
from dptransfer.privacy.guarantee import Guarantee
from dptransfer.privacy.ledger import Ledger
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise

__all__ = ["GaussianNoise", "Guarantee", "LaplaceNoise", "Ledger", "OptimalNoise"]
