"""A file from the network: asked for again when the network fails, and whole or not at all.

What may pass by itself (no connection, a server that is overloaded, an answer that breaks off) is
tried again after growing pauses. What will not (no such file, a certificate that is not trusted)
ends at once. What arrives is kept in memory: whoever interrupts leaves nothing behind.
"""

from __future__ import annotations

import http.client
import os
import ssl
import time
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from dptransfer.errors import DataError
from dptransfer.progress import report

__all__ = ["fetch", "mirrored"]

PAUSES = (1.0, 3.0, 9.0)  # seconds before the second, third and fourth attempt
PATIENCE = 30.0  # seconds of silence before a connection counts as broken
LARGEST = 2**28  # bytes; MNIST as plain text has half of that
CHUNK = 2**16
PASSING = {408, 425, 429}  # with all from 500 on: what a server says when it may yet answer


class _MayPassError(Exception):
    """A failure that another attempt may not meet."""


def mirrored(address: str) -> str:
    """The same file at the mirror that ``DPTRANSFER_DOWNLOAD`` names, if it names one.

    A mirror has all files in one folder, under their own names.
    """
    mirror = os.environ.get("DPTRANSFER_DOWNLOAD")
    return f"{mirror.rstrip('/')}/{address.rpartition('/')[2]}" if mirror else address


def fetch(address: str, what: str) -> bytes:
    """The file at an address, or at the mirror.

    The answer may be compressed by gzip: the server is told that it may.

    Raises
    ------
    DataError
        What was asked for, how often, and how the last attempt failed.
    """
    address = mirrored(address)
    if urlsplit(address).scheme not in {"http", "https"}:
        raise DataError(f"{address} is no address that begins with http:// or https://")
    for pause in PAUSES:
        try:
            return _attempt(address, what)
        except _MayPassError:
            time.sleep(pause)
    try:
        return _attempt(address, what)
    except _MayPassError as error:
        raise DataError(f"{address} {error} (tried {len(PAUSES) + 1} times)") from error


def _attempt(address: str, what: str) -> bytes:
    request = Request(address, headers={"User-Agent": "dptransfer", "Accept-Encoding": "gzip"})
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            return _whole(address, answer, what)
    except HTTPError as error:
        error.close()
        said = f"answered {error.code} {error.reason}".rstrip()
        if error.code >= 500 or error.code in PASSING:
            raise _MayPassError(said) from error
        raise DataError(f"{address} {said}") from error
    except http.client.InvalidURL as error:
        raise DataError(f"{address} is no address") from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise DataError(f"{address} has a certificate that is not trusted") from error
        if isinstance(reason, TimeoutError):
            raise _MayPassError(f"was silent for {PATIENCE:.0f} seconds") from error
        words = getattr(reason, "strerror", None) or type(reason).__name__
        raise _MayPassError(f"could not be reached: {words}") from error


def _whole(address: str, answer: http.client.HTTPResponse, what: str) -> bytes:
    told = answer.headers.get("Content-Length", "")
    size = int(told) if told.isascii() and told.isdigit() else None
    parts: list[bytes] = []
    received = 0
    while chunk := answer.read(CHUNK):
        parts.append(chunk)
        received += len(chunk)
        if received > LARGEST:
            raise DataError(f"{address} is larger than {LARGEST} bytes, so it is something else")
        report(f"downloading {what}", received, size)
    # the standard library takes an answer that ends early for a whole one
    if size is not None and received < size:
        raise _MayPassError(f"broke off after {received} of {size} bytes")
    return b"".join(parts)
