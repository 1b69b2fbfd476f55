"""Who may import whom: the table of docs/architecture.md, checked on every import statement of the packages."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("isa", "hw", "runtime", "vta")

FOR_ALL = "isa.errors"
"""The base of all errors: every unit may import it."""

EXCEPTIONS = {
    ("vta.__init__", unit)
    for unit in (
        "vta.auto_scheduler",
        "vta.autotvm",
        "vta.cost",
        "vta.topi",
        "vta.top",
        "vta.relay",
        "vta.relay.backend",
        "vta.relay.front",
    )
}
"""(module, unit): the front names the operators, and imports them when they are first used."""

MOST_MODULES = 26
"""Modules that one folder may hold, its ``__init__`` included."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A row of the table: what a unit may import, itself aside, of ours and of others."""

    units: frozenset[str]
    distributions: frozenset[str]


def table(page: str) -> dict[str, Unit]:
    """Return the rows of the page's table "Who may import whom"."""
    section = page.split("## Who may import whom", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    names = [[re.findall(r"`([\w.]+)`", cell) for cell in row] for row in rows]
    return {unit: Unit(frozenset(ours), frozenset(theirs)) for [unit], ours, theirs in names}


UNITS = table((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
DISTRIBUTIONS = {name for unit in UNITS.values() for name in unit.distributions}


def unit_of(module: str) -> str:
    """Return the unit that a module belongs to: the longest row that it is, or lies below."""
    parts = module.split(".")
    prefixes = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next(prefix for prefix in prefixes if prefix in UNITS)


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, imported module) of every import in a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.lineno, node.module or ""
            if (node.module or "").split(".")[0] in PACKAGES:
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    if (ROOT / name.replace(".", "/")).is_dir():
                        yield node.lineno, name


def source_files(package: str) -> list[Path]:
    """Return every Python file of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def verdict(module: str, imported: str) -> str | None:
    """Return why ``module`` may not import ``imported``, or None if it may."""
    importer, top = unit_of(module), imported.split(".")[0]
    if top == "tests":
        return "nothing imports tests"
    if top in DISTRIBUTIONS and top not in UNITS[importer].distributions:
        return f"{importer} may not import {top}"
    if top not in PACKAGES or imported in PACKAGES:  # `from vta import x` is judged by x
        return None
    target = unit_of(imported)
    if target in (importer, FOR_ALL) or target in UNITS[importer].units or (module, target) in EXCEPTIONS:
        return None
    return f"{importer} may not import {imported}, which is in {target}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_import_follows_the_table(package: str) -> None:
    found = []
    for path in source_files(package):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for line, imported in imports_of(path):
            if (sentence := verdict(module, imported)) is not None:
                found.append(f"{path.relative_to(ROOT)}:{line}: {sentence}")
    assert found == []


def test_every_permission_of_the_table_is_used() -> None:
    used = set()
    for package in PACKAGES:
        for path in source_files(package):
            importer = unit_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for _, imported in imports_of(path):
                top = imported.split(".")[0]
                used.add((importer, unit_of(imported) if top in PACKAGES else top))
    allowed = {(name, other) for name, unit in UNITS.items() for other in unit.units | unit.distributions}
    assert sorted(allowed - used) == [], "a permission that nobody needs: take it out of the table"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_is_a_hall(package: str) -> None:
    folders = {path.parent for path in source_files(package)}
    sizes = {folder.relative_to(ROOT).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: size for name, size in sizes.items() if size > MOST_MODULES} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_says_what_belongs_there(package: str) -> None:
    for folder in {path.parent for path in source_files(package)}:
        init = folder / "__init__.py"
        assert init.is_file(), f"{folder.relative_to(ROOT)} has no __init__.py"
        assert len(ast.get_docstring(ast.parse(init.read_text())) or "") > 60, (
            f"{init.relative_to(ROOT)} says too little"
        )


@pytest.mark.parametrize(
    ("module", "imported", "sentence"),
    [
        ("isa.config", "runtime.session", "isa may not import runtime.session, which is in runtime"),
        ("isa.config", "llvmlite.ir", "isa may not import llvmlite"),
        ("isa.machine.register_map", "amaranth.hdl", "isa may not import amaranth"),
        ("runtime.session", "vta.te", "runtime may not import vta.te, which is in vta.te"),
        ("runtime.session", "hw.core", "runtime may not import hw.core, which is in hw"),
        ("hw.sim.run.design", "isa.config", "hw.sim may not import isa.config, which is in isa"),
        ("runtime.native.target", "isa.config", "runtime.native may not import isa.config, which is in isa"),
        (
            "vta.te.schedule",
            "vta.passes.pipelines",
            "vta.te may not import vta.passes.pipelines, which is in vta.passes",
        ),
        ("vta.build_module", "vta.cli.main", "vta may not import vta.cli.main, which is in vta.cli"),
        ("vta.nd", "tests.support.golden.golden", "nothing imports tests"),
    ],
)
def test_a_forbidden_import_is_seen(module: str, imported: str, sentence: str) -> None:
    assert verdict(module, imported) == sentence


def test_the_tsim_device_alone_may_import_the_hardware() -> None:
    assert verdict("runtime.devices.tsim.core", "hw.core") is None
    assert [name for name in UNITS if name.startswith("runtime") and "hw" in UNITS[name].units] == [
        "runtime.devices.tsim"
    ]
