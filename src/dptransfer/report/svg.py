"""Drawings made elsewhere, fit to stand in a page.

A page runs no foreign script, fetches nothing and lets no element carry a style of its own, so a
drawing is taken apart and only what draws is kept; styles become attributes, names are made unlike
those of other drawings, black becomes the colour of the text and white lets the page through, so
that a drawing is seen in the dark.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from dptransfer.errors import DataError

__all__ = ["inline_svg"]

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"

DRAWS = frozenset(
    re.findall(
        r"\w+",
        "svg g path line polyline polygon rect circle ellipse text tspan use defs clipPath "
        "linearGradient radialGradient stop marker image",
    )
)
STYLES = frozenset(
    re.findall(
        r"[\w-]+",
        "clip-path clip-rule fill fill-opacity fill-rule font-family font-size font-style "
        "font-weight opacity stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset "
        "stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor "
        "visibility",
    )
)
PLACES = frozenset(
    re.findall(
        r"[\w-]+",
        "id d x y x1 y1 x2 y2 cx cy r rx ry dx dy fx fy width height points transform viewBox "
        "offset gradientUnits gradientTransform clipPathUnits markerWidth markerHeight refX refY "
        "orient preserveAspectRatio vector-effect",
    )
)
THEMED = dict.fromkeys(("#000", "#000000", "black"), "currentColor") | dict.fromkeys(
    ("#fff", "#ffffff", "white"), "none"
)
OWN = re.compile(r"url\(['\"]?#([^)'\"]*)['\"]?\)")


def inline_svg(text: str, name: str, description: str) -> str:
    """The drawing, harmless, under a name of its own; `description` is for who does not see it.

    >>> inline_svg('<svg viewBox="0 0 1 1" onload="x()"><script>x()</script></svg>', "a", "nothing")
    '<svg viewBox="0 0 1 1" role="img" aria-label="nothing" focusable="false" />'
    """
    try:
        root = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^\[>]*>", "", text))
    except ElementTree.ParseError as error:
        raise DataError(f"the figure {name!r} is not SVG: {error}") from error
    if _plain(root.tag) != "svg":
        raise DataError(f"the figure {name!r} is not SVG; its first element is not <svg>")
    drawn = _keep(root, name)
    if "viewBox" not in drawn.attrib and {"width", "height"} <= set(drawn.attrib):
        width, height = (re.sub(r"[a-z]+$", "", drawn.attrib[a]) for a in ("width", "height"))
        drawn.set("viewBox", f"0 0 {width} {height}")
    for size in ("width", "height"):  # it is as wide as the page
        drawn.attrib.pop(size, None)
    drawn.attrib |= {"role": "img", "aria-label": description, "focusable": "false"}
    return ElementTree.tostring(drawn, encoding="unicode")


def _plain(tag: object) -> str:
    return tag.removeprefix(SVG) if isinstance(tag, str) else ""  # a comment's tag is no text


def _keep(element: ElementTree.Element, name: str) -> ElementTree.Element:
    """A copy of what draws."""
    kept = ElementTree.Element(_plain(element.tag))
    given = dict(element.attrib)
    for declaration in given.pop("style", "").split(";"):
        style, _, value = declaration.partition(":")
        given[style.strip()] = value.strip()
    for attribute, value in given.items():
        if attribute in {"href", XLINK}:
            if value.startswith("#"):
                kept.set("href", f"#{name}-{value[1:]}")
            elif element.tag == f"{SVG}image" and value.startswith("data:image/png;base64,"):
                kept.set("href", value)
        elif attribute == "id":
            kept.set("id", f"{name}-{value}")
        elif attribute in STYLES | PLACES:
            own = OWN.sub(rf"url(#{name}-\1)", value)
            if "url(" not in OWN.sub("", value):
                kept.set(attribute, THEMED.get(value, own))
    if kept.tag in {"text", "tspan"}:
        kept.text = element.text
    for child in element:
        if _plain(child.tag) in DRAWS:
            copy = _keep(child, name)
            if copy.tag != "image" or "href" in copy.attrib:
                kept.append(copy)
    if kept.tag == "text":
        for copy, child in zip(kept, [c for c in element if _plain(c.tag) in DRAWS], strict=True):
            copy.tail = child.tail
    return kept
