"""Every file that a docstring, a comment or a page names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("isa", "hw", "runtime", "vta", "tests", "docs", "examples", "bench", "config", "spec")
NAMED = re.compile(rf"(?<![\w/.-])((?:{'|'.join(FOLDERS)})/[\w./*{{}},-]*[\w}}*](?:\.py|\.md|\.json|\.vta))(?![\w/])")
READ = (
    "isa",
    "hw",
    "runtime",
    "vta",
    "examples",
    "tests/isa",
    "tests/hw",
    "tests/runtime",
    "tests/vta",
    "tests/integration",
)
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/configuration.md",
    "docs/errors.md",
    "docs/isa.md",
    "docs/runtime.md",
    "docs/inspection.md",
    "docs/hardware.md",
    "docs/hw-sim.md",
    "docs/operators.md",
    "docs/remote.md",
    "docs/trust.md",
)
FILES = sorted(
    [
        *(path for folder in READ for path in (ROOT / folder).rglob("*.py")),
        *(ROOT / page for page in PAGES),
    ]
)


def missing(text: str) -> list[str]:
    """Return the paths in ``text`` that name no file; ``a/{b,c}.py`` names two, ``a/b_*.py`` at least one."""
    named = [name.replace("{{", "{").replace("}}", "}") for name in NAMED.findall(text)]
    return [name for name in named if not all(list(ROOT.glob(each)) for each in expanded(name))]


def expanded(name: str) -> list[str]:
    match = re.search(r"\{([^{}]*)\}", name)
    if match is None:
        return [name]
    return [f"{name[: match.start()]}{part}{name[match.end() :]}" for part in match.group(1).split(",")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_named_files_exist(path: Path) -> None:
    assert missing(path.read_text(encoding="utf-8")) == []


def test_a_name_of_no_file_is_found() -> None:
    assert missing(
        "see `isa/config.py`, tests/isa/{test_config,test_nothing}.py, tests/isa/test_none_*.py and ``docs/none.md``"
    ) == [
        "tests/isa/{test_config,test_nothing}.py",
        "tests/isa/test_none_*.py",
        "docs/none.md",
    ]
