"""Where private values are perturbed, and what may then be said of them."""

from dptransfer.privacy.guarantee import Guarantee
from dptransfer.privacy.ledger import Ledger

__all__ = ["Guarantee", "Ledger"]
