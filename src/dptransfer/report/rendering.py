"""One page, whole: nothing is fetched, nothing is sent.

Style and script stand in the page, and its policy names their hashes: whatever else might get in
is not run. Everything that comes from data is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dptransfer.data.writing import whole_file, writing_to
from dptransfer.errors import DPTransferError
from dptransfer.transfer.gain import Interval

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from dptransfer.report.page import AdaptationPage
    from dptransfer.report.results import ResultsPage

__all__ = ["Scale", "render", "templates", "write_page"]

TEMPLATES = Path(__file__).parent / "templates"


class Scale(NamedTuple):
    """From where to where a strip of intervals goes, and what is written under it."""

    low: float
    high: float

    @property
    def ticks(self) -> tuple[float, float, float]:
        """The ends and the middle."""
        return self.low, (self.low + self.high) / 2, self.high

    def place(self, value: float) -> float:
        """Where a value stands, from 0 to 100."""
        return round(100 * (min(max(value, self.low), self.high) - self.low) / self.width, 2)

    @property
    def width(self) -> float:
        """From one end to the other."""
        return self.high - self.low

    @classmethod
    def of_shares(cls, intervals: Iterable[Interval | None]) -> Scale:
        """Up to 1, from a round share that leaves no interval out.

        >>> Scale.of_shares([Interval(0.9, 0.83, 0.95)])
        Scale(low=0.8, high=1.0)
        """
        low = min((each.low for each in intervals if each is not None), default=0.0)
        return cls(min(0.8, math.floor(low * 5) / 5), 1.0)

    @classmethod
    def of_differences(cls, intervals: Iterable[Interval | None]) -> Scale:
        """As far to the left of 0 as to the right.

        >>> Scale.of_differences([Interval(0.01, -0.03, 0.06)])
        Scale(low=-0.1, high=0.1)
        """
        reach = max((max(abs(each.low), abs(each.high)) for each in intervals if each), default=0)
        reach = max(0.1, math.ceil(reach * 10) / 10)
        return cls(-reach, reach)


def templates() -> Environment:
    """The templates, or an error that says how to come by jinja2."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise DPTransferError(
            "a report needs jinja2: install it with pip install 'dptransfer[report]'"
        ) from None
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": _percent,
        "points": _points,
        "marked_up": _marked_up,
    }
    environment.globals["Scale"] = Scale
    return environment


def render(page: AdaptationPage | ResultsPage) -> str:
    """The page as one HTML file.

    Raises
    ------
    DPTransferError
        Where jinja2 is not installed.
    """
    style, script = (_read(name) for name in ("page.css", "page.js"))
    return (
        templates()
        .get_template(page.template)
        .render(
            page=page,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
    )


def write_page(page: AdaptationPage | ResultsPage, path: Path, *, overwrite: bool = True) -> Path:
    """Render a page into a file, which appears whole or not at all."""
    text = render(page)
    with whole_file(path, "w", overwrite=overwrite) as stream, writing_to(path):
        stream.write(text)
    return path


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _marked_up(text: str) -> Markup:
    """The little of Markdown that paragraphs need: code and strong words; all else is text.

    >>> _marked_up("**no** <b> `x < 1`")
    Markup('<strong>no</strong> &lt;b&gt; <code>x &lt; 1</code>')
    """
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with jinja2

    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked))


def _percent(share: float, digits: int = 1) -> str:
    """A share as a percentage, its unit on the same line.

    >>> _percent(0.955).replace(chr(0xA0), " ")
    '95.5 %'
    """
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def _points(difference: float) -> str:
    """A difference of shares with its sign, in points.

    >>> _points(0.005), _points(-0.05)
    ('+0.5', '−5.0')
    """
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in {"+0.0", "-0.0"} else text.replace("-", "−")
