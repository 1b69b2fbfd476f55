"""``vta compile``, ``run``, ``explain`` and ``diff`` of networks."""

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from vta.cli.app import app

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "networks" / "fashion_mnist.int8.onnx"


def vta(*arguments: object, columns: int = 200) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": str(columns)})
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("networks") / "fashion.vtam"
    code, text = vta("compile", EXAMPLE, "-o", place)
    assert code == 0, text
    assert "11 kernels on the accelerator, 9 steps of the host" in text
    return place


def test_a_compiled_network_runs_and_writes_its_outputs(compiled: Path, tmp_path: Path) -> None:
    picture = np.random.default_rng(3).standard_normal((1, 1, 28, 28)).astype(np.float32)
    np.save(tmp_path / "picture.npy", picture)
    np.savez(tmp_path / "picture.npz", image=picture)
    results = []
    for source in (compiled, EXAMPLE):
        for given in ("picture.npy", "picture.npz"):
            code, text = vta("run", source, "--input", tmp_path / given, "--save", tmp_path / "out.npz")
            assert code == 0, text
            assert text.startswith("logits: float32 of shape (1, 10); largest of the first row: ")
            with np.load(tmp_path / "out.npz") as data:
                results.append(data["logits"])
    assert all(np.array_equal(results[0], each) for each in results)


def test_statistics_and_the_sanitizer_see_every_node(compiled: Path) -> None:
    code, text = vta("run", compiled, "--stats", "--sanitize")
    assert code == 0, text
    assert "11 launches sanitized, no errors" in text
    assert "block3.conv2" in text
    assert "accelerator" in text


def test_explain_says_where_every_node_runs() -> None:
    code, text = vta("explain", EXAMPLE)
    assert code == 0, text
    assert "qnn.quantize" in text
    assert "int8 inputs" in text
    assert "2,636,672 of 2,636,672 multiplications on the accelerator (100.00 %)" in text
    assert "at one time; the accelerator's arena has" in text


def test_on_eighty_columns_numbers_are_a_table_and_reasons_are_lines() -> None:
    code, text = vta("explain", EXAMPLE, "--target", "tsim", columns=80)
    assert code == 0, text
    table, reasons = text.split("on the host:\n")
    assert max(map(len, table.splitlines())) <= 80
    [row] = [line for line in table.splitlines() if "block2.shortcut" in line]
    assert [cell.strip() for cell in row.split("│")][1:4] == ["block2.shortcut", "accelerator", "25,088"]
    assert "…" not in text
    assert "\n  features: the accelerator has no operator for reshape\n" in reasons
    assert (
        "\n  block2.shortcut: Conv2d with qnn.rescale in its epilogue; "
        "does the work of block2.shortcut_QuantizeLinear, too\n" in reasons
    )


def test_that_a_float_network_runs_on_the_host_alone_is_said(tmp_path: Path) -> None:
    model, place = EXAMPLE.with_name("fashion_mnist.float.onnx"), tmp_path / "float.vtam"
    code, text = vta("compile", model, "-o", place)
    assert code == 0, text
    note = f"note: {model}: the accelerator does nothing of this network, the host computes it; "
    hint = f"`vta explain {model}` says why; a float model runs there once `vta quantize {model} --data PATH` "
    assert f"{note}{hint}made it int8\n" in text
    code, text = vta("run", place)
    assert code == 0, text
    assert (
        f"note: {place}: the accelerator does nothing of this network, the host computes it; "
        "`vta explain` of its ONNX model says why\n" in text
    )


def test_diff_compares_every_node() -> None:
    code, text = vta("diff", EXAMPLE, "--engines", "sim")
    assert code == 0, text
    assert "sim: 16 nodes have the bits of the integer graph" in text
    assert "numbers are equal, the others off by at most 1" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", EXAMPLE, "--input", "none.npy"], "error: none.npy: cannot be read: No such file or directory"),
        (["run", EXAMPLE, "--input", "y=none.npy"], "error: the network has inputs image, not 'y'"),
        (["run", EXAMPLE, "--shape", "m=2"],
         f"error: {EXAMPLE}: a size was given for 'm', which is neither an input nor one of their dimensions"),
        (["compile", "none.onnx"], "error: none.onnx: no such file; expected an ONNX model"),
        (["explain", "none.onnx"], "error: none.onnx: no such file; expected an ONNX model"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(arguments: list[object], text: str) -> None:
    code, found = vta(*arguments)
    assert code == 1
    assert text in found


def test_a_script_takes_no_inputs_of_networks(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("print(1)\n")
    code, text = vta("run", tmp_path / "s.py", "--save", tmp_path / "o.npz")
    assert code == 2
    assert "leave out --save" in text


def logits_of(network: Path, given: Path, out: Path, *options: str) -> np.ndarray:
    code, text = vta("run", network, "--input", given, "--save", out, *options)
    assert code == 0, text
    with np.load(out) as data:
        return data["logits"]


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1"])
def test_a_picture_of_any_kind_is_an_input(mode: str, compiled: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    grey = image.fromarray(np.random.default_rng(1).integers(0, 256, (56, 41), dtype=np.uint8))
    grey.convert(mode).save(tmp_path / "picture.png")
    reread = image.open(tmp_path / "picture.png").convert("L").resize((28, 28))
    np.save(tmp_path / "same.npy", (np.asarray(reread)[None, None] / 255).astype(np.float32))
    found = logits_of(compiled, tmp_path / "picture.png", tmp_path / "out.npz")
    assert np.array_equal(found, logits_of(compiled, tmp_path / "same.npy", tmp_path / "out.npz"))


def test_mean_and_std_are_taken_off_a_picture_that_is_run(compiled: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(2).integers(0, 256, (28, 28), dtype=np.uint8)
    image.fromarray(pixels).save(tmp_path / "picture.png")
    np.save(tmp_path / "same.npy", ((pixels[None, None].astype(np.float32) / 255 - 0.286) / 0.353).astype(np.float32))
    found = logits_of(compiled, tmp_path / "picture.png", tmp_path / "out.npz", "--mean", "0.286", "--std", "0.353")
    plain = logits_of(compiled, tmp_path / "picture.png", tmp_path / "out.npz")
    np.testing.assert_allclose(found, logits_of(compiled, tmp_path / "same.npy", tmp_path / "out.npz"), atol=0.3)
    assert not np.array_equal(found, plain)


def test_without_pillow_a_picture_names_the_extra(
    tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "a.png").write_bytes(b"")
    code, text = vta("run", compiled, "--input", tmp_path / "a.png")
    assert code == 1
    assert "pictures need Pillow: pip install 'vta-toolchain[pictures]'" in text


def test_a_numpy_file_of_the_other_kind_is_one_sentence(tmp_path: Path, compiled: Path) -> None:
    np.savez(tmp_path / "b.npz", image=np.zeros(3), other=np.zeros(3))
    (tmp_path / "b.npz").rename(tmp_path / "b.npy")
    code, text = vta("run", compiled, "--input", tmp_path / "b.npy")
    assert (code, text) == (1, f"error: {tmp_path}/b.npy: it holds several arrays, with names; call it .npz\n")
    np.save(tmp_path / "c.npy", np.zeros(3))
    (tmp_path / "c.npy").rename(tmp_path / "c.npz")
    code, text = vta("run", compiled, "--input", tmp_path / "c.npz")
    assert (code, text) == (1, f"error: {tmp_path}/c.npz: it holds one array without a name; call it .npy\n")


def test_damaged_inputs_are_one_sentence(tmp_path: Path, compiled: Path) -> None:
    pytest.importorskip("PIL")
    for name, data in (("a.npy", b"nothing"), ("a.npz", b"PK\x03\x04 nothing"), ("a.png", b"\x89PNG nothing")):
        (tmp_path / name).write_bytes(data)
        code, text = vta("run", compiled, "--input", tmp_path / name)
        assert code == 1
        assert text.startswith((f"error: {tmp_path / name}: no ", f"error: {tmp_path / name}: the archive is damaged"))
    broken = tmp_path / "b.vtam"
    broken.write_bytes(compiled.read_bytes()[:-1])
    code, text = vta("run", broken)
    assert (code, text) == (1, f"error: {broken}: the file is cut off or damaged (its checksum does not match)\n")


def test_a_network_takes_no_more_memory_than_it_may(tmp_path: Path, compiled: Path) -> None:
    for file in (compiled, EXAMPLE):
        code, text = vta("run", file, "--max-memory", "100K")
        assert code == 1
        assert text.startswith(f"error: {file}: ")
        assert "of memory, and the limit is 100 KiB" in text
        assert vta("run", file, "--max-memory", "1G")[0] == 0
    np.savez_compressed(tmp_path / "bomb.npz", image=np.zeros(200 << 20, np.int8))
    code, text = vta("run", compiled, "--input", tmp_path / "bomb.npz")
    assert code == 1
    assert "bomb.npz: array 'image' would take 400 MiB of memory" in text
