"""What can be explored: layers and networks by name, models by their file."""

from pathlib import Path

import pytest

from bench.layers import LAYERS
from vta.explore.sweep import ExploreError
from vta.explore.workload import workload_of


def test_resnet_18_has_the_layers_that_the_bench_has() -> None:
    assert dict(workload_of("resnet18").layers) == LAYERS


def test_layers_are_chosen_by_name() -> None:
    assert [name for name, _ in workload_of("C2,C11").layers] == ["C2", "C11"]


def test_a_model_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"")
    assert workload_of(str(tmp_path / "m.onnx")).model == (tmp_path / "m.onnx").resolve()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gone.onnx", "gone.onnx: no such file; expected an ONNX model"),
        (
            "resnet81",
            "'resnet81': expected resnet18, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11 or an ONNX file, found "
            "'resnet81'; did you mean 'resnet18'?",
        ),
        (
            "C2,zzzz",
            "'C2,zzzz': expected resnet18, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11 or an ONNX file, found 'zzzz'; "
            "name an ONNX file for a network of your own",
        ),
    ],
)
def test_what_is_unknown_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExploreError) as caught:
        workload_of(text)
    assert str(caught.value) == message
