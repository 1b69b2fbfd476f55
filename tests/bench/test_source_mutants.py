"""Mutants of source: one change each, all of them valid; tried in forks, and then in processes of their own."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bench import source_mutants
from bench.source_mutants import ROOT, first_tests, main, named_tests
from bench.source_mutation.changes import Mutant, drawn, mutant, places
from bench.source_mutation.swap import swap_in

SOURCE = '''"""A module."""

from functools import cache

LIMIT: int | None = 3


class Thing:
    @property
    def size(self) -> int:
        return 1


@cache  # what decorators take is left alone
def f(a: int, b: int | None = None) -> int:
    """Return something."""
    assert a < 100
    if not a < LIMIT and b is None:
        raise ValueError("x")
    for _ in zip([], [], strict=True):
        raise AssertionError("cannot happen")

    def within() -> int:
        return a + 1  # says: f"{a}"

    return within()
'''


def every_mutant() -> list[Mutant]:
    return [mutant(SOURCE, place.number) for place in places(SOURCE)]


def test_every_mutant_has_one_change_and_keeps_the_other_lines() -> None:
    lines = SOURCE.splitlines()
    for made in every_mutant():
        compile(made.tree, "m", "exec")
        changed = made.source.splitlines()
        assert [n for n, pair in enumerate(zip(lines, changed, strict=True), 1) if pair[0] != pair[1]] == [made.line]
        assert ast.dump(ast.parse(made.source)) == ast.dump(made.tree)


def test_behaviour_is_changed_and_nothing_else() -> None:
    assert {(made.before, made.after) for made in every_mutant()} == {
        ("3", "4"), ("1", "2"), ("not a < LIMIT", "a < LIMIT"), ("a < LIMIT", "a <= LIMIT"),
        ("not a < LIMIT and b is None", "not a < LIMIT or b is None"), ("b is None", "b is not None"),
        ("raise ValueError('x')", "pass"), ("a + 1", "a - 1"),
    }  # fmt: skip


def test_a_place_knows_its_function() -> None:
    found = {mutant(SOURCE, place.number).before: place.function for place in places(SOURCE)}
    assert found["3"] is None
    assert found["a < LIMIT"] == ("f", SOURCE.splitlines().index("@cache  # what decorators take is left alone") + 1)
    assert found["a + 1"] == ("f.<locals>.within", SOURCE.splitlines().index("    def within() -> int:") + 1)


def test_mutants_are_drawn_by_seed_from_all_modules(tmp_path: Path) -> None:
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in paths:
        path.write_text(SOURCE)
    many = 2 * len(places(SOURCE))
    assert drawn(paths, count=3, seed=1) == drawn(paths, count=3, seed=1)
    assert drawn(paths, count=3, seed=1) != drawn(paths, count=3, seed=2)
    assert len(set(drawn(paths, count=1000, seed=1))) == many


def loaded(path: Path) -> ModuleType:
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("swapped", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_loaded_module_takes_a_mutant_s_code(tmp_path: Path) -> None:
    results = {"1": ("size", 2), "a + 1": ("f", 1)}
    for number, made in enumerate(every_mutant()):
        path = tmp_path / f"swapped{number}.py"
        module = loaded(path)
        kept, thing = module.f, module.Thing()
        assert swap_in(made, str(path)) == (0 if made.before == "3" else 1)
        match results.get(made.before):
            case "size", value if made.line == 11:
                assert thing.size == value
            case "f", value:
                assert kept(2, 5) == value
            case _:
                continue


def test_code_that_runs_at_import_is_not_swapped(tmp_path: Path) -> None:
    path = tmp_path / "swapped.py"
    module = loaded(path)
    [made] = [each for each in every_mutant() if each.before == "3"]
    assert swap_in(made, str(path)) == 0
    assert module.LIMIT == 3


def test_tests_are_those_that_the_docstring_names_or_the_mirror() -> None:
    assert named_tests(ROOT / "isa" / "limits.py") == ["tests/isa/test_limits.py"]
    assert first_tests("isa/limits.py") == ["tests/isa/test_limits.py"]
    assert first_tests("isa/check") == ["tests/isa/check"]
    assert first_tests("isa/__init__.py") == ["tests/isa"]
    assert first_tests("isa/reference.py") == named_tests(ROOT / "isa" / "reference.py")
    assert [name for name in first_tests("isa/reference.py") if name.endswith("_alu.py")] == [
        "tests/isa/test_reference_alu.py"
    ]


PACKAGE = '''"""Sums. Tests: tests/test_sums.py."""

START = 0


def total(numbers: list[int]) -> int:
    result = START
    for number in numbers:
        result = result + number
    return result


def spare(number: int) -> int:
    return number + 0
'''
TESTS = """from isa.sums import spare, total


def test_total() -> None:
    assert total([2, 3]) == 5


def test_spare() -> None:
    assert spare(7) == 7
"""
OTHERS = (("tests/sub/conftest.py", ""), ("tests/sub/test_nothing.py", "def test_nothing() -> None:\n    pass\n"))
"""Files of tests in a folder with a conftest of its own, which pytest asks its plugins about."""


@pytest.mark.skipif(sys.platform != "linux", reason="mutants are tried in forks")
@pytest.mark.parametrize("mode", [["--tests", "tests"], ["--named"]], ids=["measured", "named"])
def test_survivors_are_told_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mode: list[str]
) -> None:
    for name, text in (("isa/sums.py", PACKAGE), ("tests/test_sums.py", TESTS), ("isa/__init__.py", ""), *OTHERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for folder in ("source_mutation/changes.py", "source_mutation/swap.py", "source_mutation/nursery.py"):
        (tmp_path / "bench" / folder).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bench" / folder).write_text((ROOT / "bench" / folder).read_text())
    monkeypatch.setattr(source_mutants, "ROOT", tmp_path)
    monkeypatch.setattr(source_mutants, "COPIED", ("isa", "tests", "bench"))
    assert main(["isa/sums.py", "--count", "100", *mode]) == 1
    said = capsys.readouterr().out.splitlines()
    assert sorted(said) == [
        "  isa/sums.py:14: 'number + 0' became 'number - 0' (#0), and no test of it fails",
        "3 of 4 killed (75.0 %), seed 1",
        "isa/sums.py                                            3 of   4",
    ]
