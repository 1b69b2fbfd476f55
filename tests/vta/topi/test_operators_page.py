"""The examples of docs/operators.md run, and its tables are the benchmarks'."""

import re
from pathlib import Path

from bench import alu_operators, products
from bench.layers import LAYERS, UPSTREAM
from tests.support.compiler.random_operators import KINDS, Draw, draw
from vta import topi
from vta.topi.core.operator import Operator

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "operators.md").read_text()


def test_the_examples_run_one_after_the_other() -> None:
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "docs/operators.md", "exec"), names)


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


def test_the_table_of_operators_has_all_that_the_library_has() -> None:
    table = PAGE[PAGE.index("## All operators") : PAGE.index("| steps of an epilogue")]
    named = re.findall(r"^\| ((?:`\w+(?:\(.*?\))?`(?:, )?)+) \|", table, re.MULTILINE)
    operators = {name for cell in named for name in re.findall(r"`(\w+)", cell)} - {"requantise"}
    assert all(issubclass(getattr(topi, name), Operator) for name in operators)
    choice = Draw(seed=1)
    drawn = {type(draw(choice, 5 * i).operator).__name__ for i in range(20 * len(KINDS))}
    assert operators == drawn


def test_the_table_of_alu_operators_is_the_benchmark_s() -> None:
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| (\d+) % \|$", PAGE, re.MULTILINE)
    assert [row[0] for row in rows] == [*alu_operators.OPERATORS]
    for name, *numbers, _ in rows:
        row = alu_operators.Row(name, *(int(number.replace(",", "")) for number in numbers))
        assert str(row) in PAGE
        assert row.bound <= row.cycles
