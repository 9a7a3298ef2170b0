"""Membership-mappings, autoencoders and the classifier, as scikit-learn estimators."""

from dptransfer.models.autoencoder import DeepMembershipAutoencoder
from dptransfer.models.classifier import MembershipClassifier
from dptransfer.models.mapping import MembershipMapping
from dptransfer.models.wide import WideMembershipAutoencoder

__all__ = [
    "DeepMembershipAutoencoder",
    "MembershipClassifier",
    "MembershipMapping",
    "WideMembershipAutoencoder",
]
