"""Who may import whom: the table of docs/architecture.md, checked on every import statement of the packages."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("isa", "hw", "runtime", "vta")

FRONT = "vta front"
COMPILER = {"vta.tir", "vta.arith", "vta.te", "vta.passes", "vta.codegen"}

INSPECTION = {"vta.explain", "vta.trace", "vta.capsule", "vta.inspect"}

ALLOWED: dict[str, set[str]] = {
    "isa": set(),
    "hw": {"isa"},
    "hw.sim": {"isa", "hw"},
    "runtime": {"isa"},
    "vta.tir": {"isa"},
    "vta.arith": {"isa", "vta.tir"},
    "vta.te": {"isa", "vta.tir", "vta.arith"},
    "vta.passes": {"isa", "vta.tir", "vta.arith"},
    "vta.codegen": {"isa", "runtime", "vta.tir"},
    FRONT: {"isa", "runtime", *COMPILER},
    "vta.topi": {"isa", *COMPILER, FRONT},
    "vta.trace": {"isa", "runtime"},
    "vta.capsule": {"isa", "runtime"},
    "vta.explain": {"isa", "runtime", "vta.trace"},
    "vta.inspect": {"isa", "runtime", "vta.trace"},
    "vta.compat": {"isa", "runtime", *COMPILER, FRONT, "vta.topi"},
    "vta.cli": {"isa", "runtime", "hw", *COMPILER, FRONT, "vta.topi", "vta.compat", *INSPECTION},
}
"""Unit -> the units it may import, itself aside. Files directly in ``vta``, rpc and testing are the TVM-style front."""

THIRD_PARTY: dict[str, set[str]] = {
    "numpy": {"isa", "runtime", "hw", *ALLOWED},
    "llvmlite": {"runtime", "vta.codegen", "hw.sim"},
    "typer": {"vta.cli"},
    "rich": {"vta.cli"},
    "amaranth": {"hw", "hw.sim"},
    "vcd": {"hw.sim"},
}
"""Distribution -> the units that may import it."""

RTL = ("rtl", "rtl_core", "rtl_memories", "rtl_notes")

EXCEPTIONS = {
    *((f"runtime.devices.{name}", unit) for name in RTL for unit in ("hw", "hw.sim")),
    ("vta.__init__", "vta.topi"),
    ("vta.capsule.model", "hw"),
}
"""(module, unit): the device that is the hardware imports it when it is first used; the front names the operators."""


def unit_of(module: str) -> str:
    """Return the layering unit that a module belongs to."""
    parts = module.split(".")
    name = ".".join(parts[:2])
    if name in ALLOWED:
        return name
    return FRONT if parts[0] == "vta" else parts[0]


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, imported module) of every import in a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.lineno, node.module or ""
            if node.module == "vta":
                for alias in node.names:
                    yield node.lineno, f"vta.{alias.name}"


def source_files(package: str) -> list[Path]:
    """Return every Python file of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def verdict(module: str, imported: str) -> str | None:
    """Return why ``module`` may not import ``imported``, or None if it may."""
    importer, top = unit_of(module), imported.split(".")[0]
    if top == "tests":
        return "nothing imports tests"
    if top in THIRD_PARTY and importer not in THIRD_PARTY[top]:
        return f"{importer} may not import {top}"
    if top not in PACKAGES or imported == "vta":  # `from vta import x` is judged by x
        return None
    target = unit_of(imported)
    if target == importer or target in ALLOWED[importer] or (module, target) in EXCEPTIONS:
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


@pytest.mark.parametrize(
    ("module", "imported", "sentence"),
    [
        ("isa.config", "runtime.session", "isa may not import runtime.session, which is in runtime"),
        ("isa.config", "llvmlite.ir", "isa may not import llvmlite"),
        ("runtime.session", "vta.te", "runtime may not import vta.te, which is in vta.te"),
        ("runtime.session", "hw.core", "runtime may not import hw.core, which is in hw"),
        ("vta.te.schedule", "vta.passes.pipeline", "vta.te may not import vta.passes.pipeline, which is in vta.passes"),
        ("vta.build_module", "vta.cli.main", "vta front may not import vta.cli.main, which is in vta.cli"),
        ("vta.nd", "tests.support.golden", "nothing imports tests"),
    ],
)
def test_a_forbidden_import_is_seen(module: str, imported: str, sentence: str) -> None:
    assert verdict(module, imported) == sentence


def test_the_rtl_device_alone_may_import_the_hardware() -> None:
    assert verdict("runtime.devices.rtl", "hw.core") is None
