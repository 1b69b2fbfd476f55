"""Capsules that cannot be read or run here: one sentence says why, whatever is wrong with the file."""

import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isa.limits import Limits, nbytes_text
from vta.cli.app import app
from vta.inspect.capsule import CapsuleError, load_capsule, replay

RECORDED = Path(__file__).resolve().parent / "recorded"
WHOLE = (RECORDED / "product.tsim.capsule").read_bytes()

Head = dict[str, Any]


def entries() -> dict[str, bytes]:
    with zipfile.ZipFile(RECORDED / "product.tsim.capsule") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(folder: Path, contents: dict[str, bytes]) -> Path:
    path = folder / "c"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def with_head(folder: Path, change: Callable[[Head], object]) -> Path:
    contents = entries()
    head = json.loads(contents["capsule.json"])
    change(head)
    return packed(folder, contents | {"capsule.json": json.dumps(head).encode()})


def refusal(path: Path) -> str:
    with pytest.raises(CapsuleError) as caught:
        load_capsule(path)
    return str(caught.value).removeprefix(f"{path}: ")


def damage(path: Path) -> str:
    text = refusal(path)
    assert text.startswith("this is no capsule, or a damaged one: ")
    return text.removeprefix("this is no capsule, or a damaged one: ")


def test_a_changed_byte_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    path, whole, refused = tmp_path / "c", load_capsule(RECORDED / "product.tsim.capsule"), 0
    for at in range(len(WHOLE)):
        path.write_bytes(WHOLE[:at] + bytes([WHOLE[at] ^ (1 + at % 255)]) + WHOLE[at + 1 :])
        try:
            assert load_capsule(path) == whole  # a date, an attribute: nothing that a capsule has
        except CapsuleError as error:
            assert str(error).startswith(f"{path}: this is no capsule, or a damaged one: ")  # noqa: PT017
            refused += 1
    assert refused > 0.9 * len(WHOLE)


def test_a_file_that_ends_early_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    for length in range(0, len(WHOLE), 7):
        path.write_bytes(WHOLE[:length])
        assert damage(path)


def test_another_format_is_named(tmp_path: Path) -> None:
    for number in (2, 0, "1", None):
        assert refusal(with_head(tmp_path, lambda head, number=number: head.update(format=number))) == (  # type: ignore[misc]
            f"the capsule has format {number!r}, and this version reads format 1; replay it with the version that "
            "wrote it, or pack it again"
        )
    later = with_head(tmp_path, lambda head: (head.update(format=2), head.pop("machine")))
    assert refusal(later).startswith("the capsule has format 2, and ")  # whatever else it has


def test_a_head_with_other_contents_is_refused(tmp_path: Path) -> None:
    cases: dict[str, Callable[[Head], object]] = {
        "capsule.json needs exactly format, machine, name, outcomes, versions": lambda head: head.pop("name"),
        "'outcomes' of capsule.json cannot be 3": lambda head: head.update(outcomes=3),
        "its machine needs exactly device, hardware, latency, stall_seed": lambda head: head["machine"].update(x=1),
        "'latency' of its machine cannot be '32'": lambda head: head["machine"].update(latency="32"),
        "an outcome needs exactly cycles, digest, kind, message": lambda head: head["outcomes"].append([]),
        "'digest' of an outcome cannot be 7": lambda head: head["outcomes"][0].update(digest=7),
        "it holds no launch-1.vtab": lambda head: head["outcomes"].append(head["outcomes"][0]),
    }
    for sentence, change in cases.items():
        assert damage(with_head(tmp_path, change)) == sentence
    assert refusal(with_head(tmp_path, lambda head: head["outcomes"].clear())) == "the capsule has no launch"


def test_an_archive_with_other_contents_is_refused(tmp_path: Path) -> None:
    contents = entries()
    program = contents["launch-0.vtab"]
    assert damage(packed(tmp_path, {"a": b"b"})) == "it holds no capsule.json"
    assert damage(packed(tmp_path, contents | {"capsule.json": b"{"})) == "capsule.json is not JSON"
    assert damage(packed(tmp_path, contents | {"capsule.json": b"[" * 100_000})) == "capsule.json is not JSON"
    assert damage(packed(tmp_path, contents | {"capsule.json": b"[1]"})) == "capsule.json is not a JSON object"
    assert damage(packed(tmp_path, contents | {"x": b""})) == (
        "it has outcomes of 1 launches, and holds capsule.json, launch-0.vtab, x"
    )
    assert damage(packed(tmp_path, contents | {"launch-0.vtab": program[:-1]})) == (
        "launch-0.vtab: the file is cut off or damaged (its checksum does not match)"
    )


def test_hardware_that_this_version_does_not_know_is_named(tmp_path: Path) -> None:
    capsule = load_capsule(RECORDED / "product.tsim.capsule")
    hardware = dict(capsule.spec.hardware)
    odd = replace(capsule, spec=replace(capsule.spec, hardware=hardware | {"lanes": 2}))
    with pytest.raises(CapsuleError) as caught:
        replay(odd)
    assert str(caught.value) == (
        "the capsule's hardware has the unknown lanes; replay it with the version that wrote it, or pack it again"
    )
    hardware.pop("read_beats")  # as of a version that did not have it yet: the default
    assert replay(replace(capsule, spec=replace(capsule.spec, hardware=hardware))) == []


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(WHOLE[:-1])
    later = with_head(tmp_path, lambda head: head.update(format=2))
    for command in (["run"], ["check"], ["disasm"], ["reduce", "-o", str(tmp_path / "out")]):
        for path in (cut, later):
            result = CliRunner().invoke(app, [*command, str(path)])
            assert result.exit_code == 1
            assert result.stderr.startswith(f"error: {path}: th")
            assert result.stderr.count("\n") == 1
            assert result.stdout == ""


def test_an_archive_that_unpacks_to_much_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("capsule.json", "launch-0.vtab"):
            archive.writestr(name, bytes(150 << 20))
    size = path.stat().st_size
    assert size < 400 << 10
    assert refusal(path) == (
        "what is compressed in it would take 300 MiB of memory, and the limit is 256 MiB (for a file of "
        f"{nbytes_text(size)}); raise it (--max-memory) if you trust the file"
    )


def test_an_entry_is_no_longer_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("capsule.json", bytes(1 << 20))
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", 1 << 20), struct.pack("<I", 7)))
    assert "Bad CRC-32" in damage(path)
    path.write_bytes(data.replace(struct.pack("<I", 1 << 20), struct.pack("<I", 1 << 30)))
    assert damage(path) == "capsule.json is said to be larger than anything that is compressed can be"


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_another_compression_is_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "c"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("capsule.json", b"{}")
    assert damage(path) == "capsule.json is compressed in a way that capsules are not"


def test_the_launches_share_one_limit(tmp_path: Path) -> None:
    path = RECORDED / "product.tsim.capsule"
    with pytest.raises(CapsuleError, match=r": capsule\.json would take .* of memory, and the limit is "):
        load_capsule(path, limits=Limits(memory=6000))
    with pytest.raises(CapsuleError, match=r"launch-0\.vtab: .* would take .* of memory, and the limit is "):
        load_capsule(path, limits=Limits(memory=45_000))
    assert load_capsule(path, limits=Limits(memory=1 << 20)).programs


def test_heads_with_numbers_that_cannot_be_are_refused(tmp_path: Path) -> None:
    cases: dict[str, Callable[[Head], object]] = {
        "'latency' of its machine cannot be True": lambda head: head["machine"].update(latency=True),
        "'data_width' of the hardware cannot be '64'": lambda head: head["machine"]["hardware"].update(data_width="64"),
        "'data_width' of the hardware cannot be 64.5": lambda head: head["machine"]["hardware"].update(data_width=64.5),
        "'python' of the versions cannot be 3": lambda head: head["versions"].update(python=3),
        "'kind' of an outcome cannot be None": lambda head: head["outcomes"][0].update(kind=None),
    }
    for sentence, change in cases.items():
        assert damage(with_head(tmp_path, change)) == sentence


def test_names_in_an_archive_are_shown_as_a_terminal_may_have_them(tmp_path: Path) -> None:
    names = {f"\x1b[{number}m": b"" for number in range(20)}
    text = damage(packed(tmp_path, entries() | names))
    assert text.endswith(" and 14 more")
    assert "\\x1b[0m" in text
    assert text.isprintable()
