"""Learn from private labelled data that you may not see."""

from dptransfer.models import (
    DeepMembershipAutoencoder,
    MembershipClassifier,
    MembershipMapping,
    WideMembershipAutoencoder,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "DeepMembershipAutoencoder",
    "MembershipClassifier",
    "MembershipMapping",
    "WideMembershipAutoencoder",
]
