"""Where private values are perturbed, and what may then be said of them."""

from dptransfer.privacy.gaussian import GaussianNoise
from dptransfer.privacy.gaussian_budget import GaussianBudget
from dptransfer.privacy.guarantee import Guarantee
from dptransfer.privacy.ledger import Ledger
from dptransfer.privacy.noise import LaplaceNoise, OptimalNoise

__all__ = ["GaussianBudget", "GaussianNoise", "Guarantee", "LaplaceNoise", "Ledger", "OptimalNoise"]
