"""Mutants of source: one change each, all of them valid; whose tests a module's docstring names."""

import ast

from bench.source_mutants import ROOT, mutants_of, named_tests

SOURCE = '''"""A module."""

LIMIT: int | None = 3


def f(a: int, b: int | None = None) -> int:
    """Return something."""
    if not a < LIMIT and b is None:
        raise ValueError("x")
    return a + 1
'''


def test_every_mutant_has_one_change_and_compiles() -> None:
    found = mutants_of(SOURCE, count=100, seed=1)
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in found:
        compile(mutant.source, "m", "exec")
        lines = mutant.source.splitlines()
        assert sum(before != after for before, after in zip(plain, lines, strict=True)) == 1
    assert {(mutant.before, mutant.after) for mutant in found} == {
        ("3", "4"), ("not a < LIMIT", "a < LIMIT"), ("a < LIMIT", "a <= LIMIT"),
        ("not a < LIMIT and b is None", "not a < LIMIT or b is None"), ("b is None", "b is not None"),
        ("raise ValueError('x')", "pass"), ("a + 1", "a - 1"), ("1", "2"),
    }  # fmt: skip


def test_mutants_are_drawn_by_seed() -> None:
    assert mutants_of(SOURCE, count=3, seed=1) == mutants_of(SOURCE, count=3, seed=1)
    assert mutants_of(SOURCE, count=3, seed=1) != mutants_of(SOURCE, count=3, seed=2)


def test_tests_are_those_that_the_docstring_names() -> None:
    assert named_tests(ROOT / "isa" / "limits.py") == ["tests/isa/test_limits.py"]
