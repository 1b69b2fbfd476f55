"""The example of docs/operators.md runs, and its table is the benchmark's."""

import re
from pathlib import Path

from bench import products
from bench.layers import LAYERS, UPSTREAM

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "operators.md").read_text()


def test_the_example_runs() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/operators.md", "exec"), {})


def test_the_table_has_every_layer_and_adds_up() -> None:
    rows = re.findall(r"^\| (C\d+) \| ([\d,]+) \| ([\d.]+) % .* \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    assert [row[0] for row in rows] == [*LAYERS]
    for name, cycles, share, _ in rows:
        assert abs(LAYERS[name].macs / 256 / int(cycles.replace(",", "")) * 100 - float(share)) < 0.06
    sums = [sum(int(row[column].replace(",", "")) for row in rows) for column in (1, 3)]
    [found] = re.findall(r"^\| sum \| ([\d,]+) \| .* \| ([\d,]+) \(", PAGE, re.MULTILINE)
    assert [int(text.replace(",", "")) for text in found] == sums
    assert f"{UPSTREAM:,}" in PAGE


def test_the_table_of_products_has_every_layer() -> None:
    rows = re.findall(r"^\| ([\w-]+), [^|]+ \| ([\d,]+) \| ([\d.]+) % \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    assert [row[0] for row in rows] == [*products.LAYERS]
    assert all(f"{layer.upstream:,}" in PAGE for layer in products.LAYERS.values() if layer.upstream)
