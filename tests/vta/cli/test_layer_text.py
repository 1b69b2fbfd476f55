"""A layer's text: operators, steps and literals alone."""

import pytest

from vta.cli.layer_text import is_layer_text, layer_of
from vta.cli.reporting import UserError
from vta.topi import Binary, BinaryOperation, Conv2d, Dense
from vta.topi.core.epilogue import Clip, Fork, Joint, Relu, ShiftRight


def test_operators_are_written_as_in_python() -> None:
    text = "Conv2d(1, 16, 8, 8, 32, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8), Clip(-7, 127)), fold=None)"
    assert layer_of(text) == Conv2d(
        1, 16, 8, 8, 32, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8), Clip(-7, 127))
    )
    assert layer_of(" Binary(BinaryOperation.ADD, [1, 16]) ") == Binary(BinaryOperation.ADD, (1, 16))
    fork = layer_of("Dense(1, 16, 16, (Fork(Joint.ADD, (Relu(),), ()),))")
    assert fork == Dense(1, 16, 16, (Fork(Joint.ADD, (Relu(),), ()),))


def test_files_are_no_layers() -> None:
    assert [is_layer_text(text) for text in ("net.onnx", "Dense (1).onnx", "Dense(1, 2, 3)", "open('x')")] == [
        False, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Dense(1, 16", "layer 'Dense(1, 16': '(' was never closed"),
        ("Dense(1, 16)", "layer 'Dense(1, 16)': Dense() missing 1 required positional argument: 'out_channels'"),
        ("Dense(0, 16, 16)", "layer 'Dense(0, 16, 16)': Dense: rows takes a number from 1, not 0"),
        ("Relu()", "layer 'Relu()': expected an operator, one of "),
        ("Dense(1, 16, 16, (open('x'),))", "layer \"Dense(1, 16, 16, (open('x'),))\": \"open('x')\" is no number, "),
        ("Dense(1, 16, 1 + 1)", "layer 'Dense(1, 16, 1 + 1)': '1 + 1' is no number, text, tuple, step of an epilogue"),
        (
            "Dense(**{})",
            "layer 'Dense(**{})': 'Dense(**{})' is no number, text, tuple, step",
        ),
    ],
)
def test_anything_else_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        layer_of(text)
    assert str(caught.value).startswith(sentence)


def test_what_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(UserError, match=r"it is nested too deep|too many nested parentheses"):
        layer_of("Dense(1, 16, " + "(" * 5000 + "1" + ")" * 5000 + ")")
