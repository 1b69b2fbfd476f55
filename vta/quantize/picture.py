"""The report as a picture: for every layer its signal to noise ratio and its share of the error, as SVG.

Tests: tests/vta/quantize/test_picture.py.
"""

import math
from html import escape

from isa.printable import in_one_line
from vta.quantize.report import LayerReport, Report

__all__ = ["svg"]

_ROW, _NAME, _BAR, _GAP, _HEAD = 18, 260, 260, 30, 56
_MOST_DB = 60.0


def svg(report: Report) -> str:
    """Return the picture of a report; a bar of the left column is better the longer it is, one of the right worse."""
    width, height = _NAME + 2 * _BAR + 3 * _GAP + 60, _HEAD + _ROW * len(report.layers) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14">{escape(_headline(report))}</text>',
        f'<text x="{_NAME}" y="44" fill="#555555">signal to noise, dB</text>',
        f'<text x="{_NAME + _BAR + _GAP + 40}" y="44" fill="#555555">share of the outputs\' error</text>',
    ]
    largest = max((row.error_share for row in report.layers), default=0.0) or 1.0
    for number, row in enumerate(report.layers):
        lines += _row(row, _HEAD + number * _ROW, largest)
    return "\n".join([*lines, "</svg>", ""])


def _headline(report: Report) -> str:
    return (
        f"int8 against float: cosine {report.score.cosine:.4f}, {report.score.sqnr_db:.1f} dB, {report.samples} samples"
    )


def _row(row: LayerReport, top: int, largest: float) -> list[str]:
    quality = _MOST_DB if math.isinf(row.sqnr_db) else min(max(row.sqnr_db, 0.0), _MOST_DB)
    name = in_one_line(row.name)
    shown = name if len(name) <= 36 else f"{name[:17]}…{name[-17:]}"
    right = _NAME + _BAR + _GAP + 40
    label = f'<text x="{_NAME - 8}" y="{top + 12}" text-anchor="end">{escape(shown)}</text>'
    return [
        label,
        _bar(_NAME, top, _BAR * quality / _MOST_DB, "#4c78a8" if quality >= 20 else "#c44e52"),
        f'<text x="{_NAME + _BAR + 4}" y="{top + 12}">{row.sqnr_db:.1f}</text>',
        _bar(right, top, _BAR * row.error_share / largest, "#dd8452"),
        f'<text x="{right + _BAR + 4}" y="{top + 12}">{100 * row.error_share:.1f} %</text>',
    ]


def _bar(left: int, top: int, length: float, colour: str) -> str:
    return f'<rect x="{left}" y="{top + 2}" width="{length:.1f}" height="{_ROW - 5}" fill="{colour}"/>'
