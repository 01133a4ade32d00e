"""Line charts as small SVG files, for pages of the documentation."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Final

Line = Sequence[tuple[float, float]]
COLOURS: Final = ("#00796b", "#d84315", "#5e35b1", "#f9a825", "#1565c0", "#6d4c41", "#ad1457")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 320, 64, 28, 150, 44


def chart(title: str, across: str, up: str, lines: Mapping[str, Line], *, log: bool = False) -> str:
    """A chart with axes from 0, or logarithmic ones."""
    points = [point for line in lines.values() for point in line]
    bounds = [_ticks([point[axis] for point in points], log) for axis in (0, 1)]

    def place(value: float, axis: int) -> float:
        low, high = bounds[axis][0], bounds[axis][-1]
        share = log10(value / low) / log10(high / low) if log else (value - low) / (high - low)
        if axis == 0:
            return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="17" font-weight="bold">{title}</text>',
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{across}</text>',
        f'<text transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)" '
        f'text-anchor="middle">{up}</text>',
    ]
    for tick in bounds[0]:
        x = place(tick, 0)
        parts.append(f'<path d="M{x} {TOP}V{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for tick in bounds[1]:
        y = place(tick, 1)
        parts.append(f'<path d="M{LEFT} {y}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = "L".join(f"{place(x, 0)} {place(y, 1)}" for x, y in line)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.extend(
            f'<circle cx="{place(x, 0)}" cy="{place(y, 1)}" r="2.5" fill="{colour}"/>'
            for x, y in line
        )
        y = TOP + 12 + 18 * number
        parts.append(f'<path d="M{right + 10} {y - 4}h18" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{right + 33}" y="{y}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _ticks(values: Sequence[float], log: bool) -> list[float]:
    """Round numbers from below the least value, or 0, to above the greatest."""
    if log:
        first, last = floor(log10(min(values))), ceil(log10(max(values)))
        return [10.0**power for power in range(first, max(last, first + 1) + 1)]
    rough = (max(values) or 1) / 5
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough)
    return [round(step * n, 10) for n in range(ceil(max(values) / step) + 1)]
