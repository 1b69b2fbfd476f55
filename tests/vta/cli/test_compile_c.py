"""``vta compile --c``: a network as C."""

from pathlib import Path

from typer.testing import CliRunner

from vta.cli.app import app

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "networks" / "fashion_mnist.int8.onnx"
FLOAT = EXAMPLE.with_name("fashion_mnist.float.onnx")


def vta(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "300"})
    return result.exit_code, result.output


def test_sources_are_written_and_described(tmp_path: Path) -> None:
    code, text = vta("compile", EXAMPLE, "--c", tmp_path / "board")
    assert code == 0, text
    files = {"vta_runtime.h", "vta_runtime.c", "fashion_mnist.h", "fashion_mnist.c"}
    assert {path.name for path in (tmp_path / "board").iterdir()} == files
    assert "vta_runtime.h, vta_runtime.c, fashion_mnist.h, fashion_mnist.c; " in text
    assert "bytes of memory shared with the accelerator" in text
    assert not EXAMPLE.with_suffix(".vtam").exists()
    code, text = vta("compile", EXAMPLE, "--c", tmp_path / "board", "-o", tmp_path / "fashion.vtam")
    assert code == 0, text
    assert (tmp_path / "fashion.vtam").exists()


def test_a_file_in_the_place_of_the_folder_and_float_networks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, text = vta("compile", EXAMPLE, "--c", tmp_path / "file")
    assert code == 1
    assert f"--c {tmp_path / 'file'}: this is a file; name a folder" in text
    code, text = vta("compile", FLOAT, "--c", tmp_path / "float")
    assert code == 1
    assert "step 'stem' (nn.conv2d) is computed by the host with numpy, and there is no C for it" in text
    assert not (tmp_path / "float").exists()
