"""The page about the instruction set is printed from the tables."""

from pathlib import Path

from docs.make_pages.isa_page import reference_page
from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.layout import instruction_layouts
from isa.text.syntax import MNEMONICS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "isa.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference_page(), "run: python -m docs.make_pages"


def test_br_005_the_table_in_the_page_agrees_with_the_encoder() -> None:
    page = PAGE.read_text()
    for name, layout in instruction_layouts(VTAConfig()).items():
        section = page.split(f"### {name} (opcode ")[1].split("###")[0]
        rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ") and "bits" not in line]
        covered: list[int] = []
        for bits, *_ in rows:
            top, _, bottom = bits.removeprefix("| ").partition(":")
            covered += range(int(bottom or top), int(top) + 1)
        assert covered == list(range(128))
        assert len(rows) == len(layout.fields)


def test_the_page_names_every_mnemonic_and_memory() -> None:
    page = reference_page()
    assert all(f"| `{name}` |" in page for name in MNEMONICS)
    assert all(f"| {memory.name} | {memory.value} |" in page for memory in MemoryId)
