"""The one family of exceptions.

Every error that a user can cause is a :class:`DPTransferError`. Its message says what was wrong,
where, and what to do; on the command line it becomes one line and the exit code of its class.
Those about arguments are ``ValueError`` too, as scikit-learn's users expect.

| class              | exit code | when                                                        |
|--------------------|-----------|-------------------------------------------------------------|
| (done)             | 0         | all went well                                               |
| `DPTransferError`  | 1         | anything else of ours                                       |
| (usage)            | 2         | the command line itself is malformed                        |
| `BudgetExceeded`   | 3         | the ledger refuses to spend                                 |
| `ReleaseError`     | 4         | a release or model file that cannot be trusted or read      |
| `DeclarationError` | 5         | bounds, classes or distance are missing or broken           |
| `DataError`        | 6         | a table or data set that cannot be found, read or used      |
| `ParameterError`   | 7         | a parameter outside its range                               |
| `LedgerError`      | 8         | a ledger file that cannot be read, written or trusted       |
| (audit)            | 9         | `dptransfer audit` found a violation; no exception of ours  |
| (interrupted)      | 130       | ctrl-C; nothing was left half-written                       |
"""

from __future__ import annotations

__all__ = [
    "BudgetExceeded",
    "DPTransferError",
    "DataError",
    "DeclarationError",
    "LedgerError",
    "OutsideBoundsError",
    "ParameterError",
    "ReleaseError",
]


class DPTransferError(Exception):
    """Anything that a user can cause and mend."""

    exit_code = 1


class BudgetExceeded(DPTransferError):  # noqa: N818 - the name is part of the public contract
    """The ledger refuses: with this release the declared budget would be passed."""

    exit_code = 3


class ReleaseError(DPTransferError):
    """A release or model file that cannot be trusted or read."""

    exit_code = 4


class DeclarationError(DPTransferError, ValueError):
    """Bounds, classes or distance are missing or broken; they are declared, never measured."""

    exit_code = 5


class DataError(DPTransferError, ValueError):
    """A table or data set that cannot be found, read or used."""

    exit_code = 6


class OutsideBoundsError(DataError):
    """Values lie outside the declared bounds.

    How many do is private: it is the attribute `count`, for the owner's eyes, and in no message.
    """

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count

    def __reduce__(self) -> tuple[type[OutsideBoundsError], tuple[str, int]]:
        """Come whole through pickling, as between worker processes."""
        return type(self), (str(self), self.count)


class ParameterError(DPTransferError, ValueError):
    """A parameter outside its range."""

    exit_code = 7


class LedgerError(DPTransferError):
    """A ledger file that cannot be read, written or trusted; nothing was entered."""

    exit_code = 8
