"""Who made a file: Ed25519 signatures, and the PEM files that keys come in.

A digest tells that a file is whole; anybody can make a new one. A signature tells that the holder
of a private key made it, to a reader who has the public key **from elsewhere**: the copy that a
file carries proves nothing about who that is. Keys are made with OpenSSL (the private one stays
with its owner, readable by nobody else):

    openssl genpkey -algorithm ed25519 -out key.pem
    openssl pkey -in key.pem -pubout -out pub.pem
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_pem_public_key,
)

from dptransfer.errors import DPTransferError

__all__ = ["holds", "load_private_key", "load_public_key", "public_text", "signature_text"]

LARGEST_KEY = 2**16  # bytes; a PEM file of an Ed25519 key has some 120


def load_private_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Read the key that signs: a PEM file with an Ed25519 private key, not encrypted."""
    text = _key_file(path)
    try:
        key = load_pem_private_key(text, password=None)
    except TypeError:
        raise DPTransferError(
            f"the key {path} is encrypted; give it without a passphrase: "
            f"openssl pkey -in {path} -out plain.pem"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise DPTransferError(
            f"{path} is not a PEM file with an Ed25519 private key; make one: "
            "openssl genpkey -algorithm ed25519 -out key.pem"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise DPTransferError(
            f"the key {path} is of another kind than Ed25519; make one: "
            "openssl genpkey -algorithm ed25519 -out key.pem"
        )
    return key


def load_public_key(path: str | os.PathLike[str]) -> Ed25519PublicKey:
    """Read the key that a signature is checked with: a PEM file with an Ed25519 public key."""
    text = _key_file(path)
    try:
        key = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        raise DPTransferError(
            f"{path} is not a PEM file with an Ed25519 public key; the owner makes one from the "
            "private key: openssl pkey -in key.pem -pubout -out pub.pem"
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise DPTransferError(f"the key {path} is of another kind than Ed25519")
    return key


def public_text(key: Ed25519PublicKey) -> str:
    """The public key as 64 hexadecimal digits."""
    return key.public_bytes_raw().hex()


def signature_text(key: Ed25519PrivateKey, text: str) -> str:
    """The signature of a text as 128 hexadecimal digits."""
    return key.sign(text.encode("ascii")).hex()


def holds(public_key: str, signature: str, text: str) -> bool:
    """Whether the holder of the key signed this text; key and signature in hexadecimal digits."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), text.encode("ascii"))
    except (InvalidSignature, ValueError):
        return False
    return True


def _key_file(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST_KEY)
    except FileNotFoundError:
        raise DPTransferError(f"there is no key at {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DPTransferError(f"the key {path} cannot be read: {reason}") from error
