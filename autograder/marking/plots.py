"""Plots of a class as SVG: plain markup in the colours of the page, without scripts.

The page also shows the data of each plot in a table; for screen readers a plot is one image with a title.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from markupsafe import Markup
from msgspec import Struct

_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 14, 36
_FRAME = Markup(
    '<svg class="plot" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}" '
    'font-size="12" font-family="inherit" fill="currentColor">{}</svg>'
)
_TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
_LINE = Markup(
    '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="currentColor" stroke-opacity="{}"{}/>'
)
_DASHED = Markup(' stroke-dasharray="3 3"')
_BAR = Markup('<rect class="plot-bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
_CURVE = Markup(
    '<polyline class="plot-line" points="{}" fill="none" stroke="currentColor" stroke-width="2"/>'
)
_DOT = Markup('<circle class="plot-dot" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>')


class Axes(Struct, frozen=True):
    """Labels of a plot."""

    title: str
    """Text alternative for screen readers."""
    across: str
    up: str


class Dot(Struct, frozen=True):
    """A point of a plot, with its title."""

    across: float
    up: float
    title: str


def draw_histogram(bars: Sequence[int], axes: Axes) -> Markup:
    """Draw students by tenths of the possible points, as bars."""
    # At least 1, because heights are divided by it.
    most = max((*bars, 1))
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(bars))
    parts = [*_draw_grid(most), *_draw_labels(axes)]
    for index, number in enumerate(bars):
        left, top = _LEFT + index * wide, _scale_up(number / most)
        parts.append(_BAR.format(left + 2, top, wide - 4, _HEIGHT - _BOTTOM - top))
        if number:
            parts.append(_TEXT.format(left + wide / 2, top - 3, "middle", number))
        parts.append(_TEXT.format(left, _HEIGHT - _BOTTOM + 14, "middle", index * 100 // len(bars)))
    parts.append(_TEXT.format(_WIDTH - _RIGHT, _HEIGHT - _BOTTOM + 14, "middle", 100))
    return _make_frame(parts, axes)


def draw_curve(
    totals: Sequence[Decimal], possible: Decimal, boundaries: Iterable[tuple[str, Decimal]], axes: Axes
) -> Markup:
    """Draw how many students have at least a number of points, with the boundaries of grades.

    Args:
        totals: the points of all students.
        possible: all points; larger totals are drawn at the right edge.
        boundaries: grade and least points.
        axes: labels.
    """
    ordered, students = sorted(totals), max(1, len(totals))
    whole = float(possible) or 1.0
    parts = [*_draw_grid(students), *_draw_labels(axes)]
    for index, (grade, least) in enumerate(boundaries):
        x_position = _scale_across(float(least) / whole)
        parts.append(_LINE.format(x_position, _TOP, x_position, _HEIGHT - _BOTTOM, 0.45, _DASHED))
        # Alternate between two heights, because labels of close boundaries would overlap.
        parts.append(_TEXT.format(x_position + 2, _TOP + 9 + 11 * (index % 2), "start", grade))
    # A step curve: each total adds a horizontal and a vertical segment.
    corners = [(float(_LEFT), _scale_up(len(ordered) / students))]
    for index, points in enumerate(ordered):
        x_position = _scale_across(float(points) / whole)
        corners += [
            (x_position, corners[-1][1]),
            (x_position, _scale_up((len(ordered) - index - 1) / students)),
        ]
    parts.append(_CURVE.format(" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)))
    for tenth in range(0, 11, 2):
        points = Decimal(tenth) / 10 * possible
        parts.append(
            _TEXT.format(
                _scale_across(tenth / 10), _HEIGHT - _BOTTOM + 14, "middle", f"{points.normalize():f}"
            )
        )
    return _make_frame(parts, axes)


def draw_scatter(dots: Iterable[Dot], axes: Axes) -> Markup:
    """Draw items by difficulty (across, from 0 to 1) and discrimination (up, from -1 to 1)."""
    parts = _draw_labels(axes)
    for value in (-1.0, -0.5, 0.0, 0.5, 1.0):
        y_position = _scale_up((value + 1) / 2)
        parts.append(
            _LINE.format(_LEFT, y_position, _WIDTH - _RIGHT, y_position, 0.5 if value == 0 else 0.15, "")
        )
        parts.append(_TEXT.format(_LEFT - 5, y_position + 4, "end", f"{value:g}".replace("-", "−")))
    for tenth in range(0, 11, 2):
        parts.append(
            _TEXT.format(_scale_across(tenth / 10), _HEIGHT - _BOTTOM + 14, "middle", f"{tenth / 10:g}")
        )
    parts += [_DOT.format(_scale_across(dot.across), _scale_up((dot.up + 1) / 2), dot.title) for dot in dots]
    return _make_frame(parts, axes)


def _scale_across(share: float) -> float:
    return _LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - _RIGHT)


def _scale_up(share: float) -> float:
    return _HEIGHT - _BOTTOM - min(1.0, max(0.0, share)) * (_HEIGHT - _BOTTOM - _TOP)


def _draw_grid(most: int) -> list[Markup]:
    """Return horizontal lines at zero, half and full height."""
    parts = []
    for value in sorted({0, most // 2, most}):
        y_position = _scale_up(value / most)
        parts.append(
            _LINE.format(_LEFT, y_position, _WIDTH - _RIGHT, y_position, 0.5 if value == 0 else 0.15, "")
        )
        parts.append(_TEXT.format(_LEFT - 5, y_position + 4, "end", value))
    return parts


def _draw_labels(axes: Axes) -> list[Markup]:
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    turned = Markup(
        '<text x="12" y="{0:.1f}" text-anchor="middle" transform="rotate(-90 12 {0:.1f})">{1}</text>'
    )
    return [
        _TEXT.format((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 5, "middle", axes.across),
        turned.format(middle, axes.up),
    ]


def _make_frame(parts: Iterable[Markup], axes: Axes) -> Markup:
    return _FRAME.format(_WIDTH, _HEIGHT, _WIDTH, _HEIGHT, axes.title, Markup("").join(parts))
