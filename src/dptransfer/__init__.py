"""Learn from private labelled data that you may not see."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dptransfer.models import (
        DeepMembershipAutoencoder,
        MembershipClassifier,
        MembershipMapping,
        WideMembershipAutoencoder,
    )
    from dptransfer.transfer.adapter import TransferClassifier
    from dptransfer.transfer.release import Release

__version__ = "0.1.0.dev0"

__all__ = [
    "DeepMembershipAutoencoder",
    "MembershipClassifier",
    "MembershipMapping",
    "Release",
    "TransferClassifier",
    "WideMembershipAutoencoder",
]

_PLACES = {
    "Release": "dptransfer.transfer.release",
    "TransferClassifier": "dptransfer.transfer.adapter",
}


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, which a command that needs none of it should not wait
    if name in __all__:
        return getattr(import_module(_PLACES.get(name, "dptransfer.models")), name)
    raise AttributeError(f"module 'dptransfer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
