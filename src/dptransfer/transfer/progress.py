"""Progress of the transfer's work, told as all progress is: see :mod:`dptransfer.progress`."""

from __future__ import annotations

from dptransfer.progress import Listener, report, reporting_to

__all__ = ["Listener", "report", "reporting_to"]
