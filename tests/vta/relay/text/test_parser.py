"""Printing, parsing and printing again gives the same text; everything else is refused by its line."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.types import AnyDim, RelayError, TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.random_integers import random_network
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Function, Var
from vta.relay.ir.structural import first_difference
from vta.relay.text.lexer import TextError
from vta.relay.text.parser import parse_function, parse_module
from vta.relay.text.printer import text_and_constants, to_text

SEEDS = st.integers(0, 2**32)


def assert_round_trip(function: Function) -> None:
    text, constants = text_and_constants(function)
    parsed = parse_function(text, constants)
    assert text_and_constants(parsed)[0] == text
    assert first_difference(parsed, function) is None
    module = IRModule({"main": function, "a b": function})
    text, constants = text_and_constants(module)
    assert text_and_constants(parse_module(text, constants))[0] == text


@given(seed=SEEDS, with_lets=st.booleans())
@settings(max_examples=60)
def test_printing_and_parsing_is_the_identity_on_float_graphs(seed: int, with_lets: bool) -> None:
    assert_round_trip(random_graph(seed, with_lets=with_lets).function)


@given(seed=SEEDS)
@settings(max_examples=30)
def test_printing_and_parsing_is_the_identity_on_integer_graphs(seed: int) -> None:
    assert_round_trip(random_network(seed, nodes=6).function)


def test_constants_come_back_with_their_names_and_stay_shared() -> None:
    weight = 'const<int8[9]>(#0, "w")'
    text = f"fn () -> Tensor[(9,), int8] {{ %0: Tensor[(9,), int8] = add({weight}, {weight}); %0 }}"
    function = parse_function(text, [np.arange(9, dtype=np.int8)])
    lhs, rhs = function.body.args  # type: ignore[union-attr]
    assert lhs is rhs
    assert (lhs.name, lhs.value.tolist()) == ("w", list(range(9)))


def test_unknown_dimensions_come_back() -> None:
    batch = Var("data", TensorType((AnyDim("N"), AnyDim(), 3), "int8"))
    function = Function((batch,), batch)
    assert to_text(parse_function(to_text(function))) == to_text(function)


T = "Tensor[(2,), int8]"


def body(lines: str) -> str:
    return f"fn (%x: {T}) -> {T} {{\n{lines}\n}}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def @f()", "line 1: expected 'fn', got def"),
        (body("%x"), None),
        (body("%x") + " %x", "line 3: expected nothing behind the function, got %"),
        (body("%y"), "line 2: the variable %y is not defined before"),
        (body("%0"), "line 2: %0 is not defined before"),
        (body(f"%0: {T} = nn.rely(%x);\n%0"), "line 2: there is no operator nn.rely"),
        (body(f"%0: {T} = nn.relu(%x)\n%0"), "line 3: expected ';', got %"),
        (body(f"%0: {T} = nn.relu(%x, %x);\n%0"), "line 2: nn.relu: expected data, got 2 inputs"),
        (body(f"%0: {T} = nn.relu(%x, axis=1);\n%0"), "line 2: there is no attribute 'axis'; there are none"),
        (
            body(f"%0: {T} = clip(%x, a_mim=1);\n%0"),
            "line 2: there is no attribute 'a_mim'; there are a_min, a_max",
        ),
        (body(f"%0: {T} = clip(%x, a_min=\"1\");\n%0"), "line 2: attribute 'a_min' is not '1'"),
        (body(f"%0: {T} = clip(%x, a_min=True);\n%0"), "line 2: attribute 'a_min' is not True"),
        (body(f"%0: {T} = tile(%x, reps=2);\n%0"), "line 2: attribute 'reps' is not 2"),
        (body(f"%0: {T} = tile(%x, reps=(2, \"a\"));\n%0"), "line 2: attribute 'reps' is not (2, 'a')"),
        (body(f"%0: {T} = tile(%x);\n%0"), "line 2: the attribute 'reps' is not given"),
        (
            body(f"%0: {T} = nn.pad(%x, pad_width=((0, 0, 0),));\n%0"),
            "line 2: attribute 'pad_width' is not ((0, 0, 0),)",
        ),
        (
            body(f"%0: {T} = nn.pad(%x, pad_width=((0, 0),), pad_mode=\"none\");\n%0"),
            "line 2: attribute 'pad_mode' is not 'none'",
        ),
        (body(f"%0: {T} = cast(%x, dtype=\"int4\");\n%0"),
         "line 2: a tensor's elements are one of bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, "
         "float16, float32, float64, not 'int4'"),
        (
            body("%0: Tensor[(3,), int8] = nn.relu(%x);\n%0"),
            "line 2: the type is Tensor[(2,), int8], and the text says Tensor[(3,), int8]",
        ),
        (body(f"%0: {T} = nn.relu(%x);\n%0: {T} = nn.relu(%x);\n%0"), "line 3: %0 is defined twice"),
        (body(f"let %x: {T} = %x;\n%x"), "line 2: the variable %x is defined twice"),
        (body("let %y: Tensor[(), int8] = %x;\n%x"),
         "line 2: the type is Tensor[(2,), int8], and the text says Tensor[(), int8]"),
        (body(f"%0: {T} = %x[0];\n%0"), "line 2: value 0 of a tuple was asked for, and it is a Tensor[(2,), int8]"),
        (body(f"%0: {T} = @g(%x);\n%0"), "line 2: there is no function @g"),
        (body(f"%0: {T} = nn.relu(const<int8[2]>([1]));\n%0"),
         "line 2: a constant Tensor[(2,), int8] has 2 numbers, not 1"),
        (body(f"%0: {T} = nn.relu(const<int8[2]>([1, 1.5]));\n%0"),
         "line 2: a constant Tensor[(2,), int8] has other elements than int8"),
        (body(f"%0: {T} = nn.relu(const<int8[2]>([1, True]));\n%0"),
         "line 2: a constant Tensor[(2,), int8] has other elements than int8"),
        (body(f"%0: {T} = nn.relu(const<int8[2]>([1, 128]));\n%0"), "line 2: 128 is not from -128 to 127"),
        (body(f"%0: {T} = nn.relu(const<int8[2]>(#0));\n%0"),
         "line 2: constant #0 is not in the text, and 0 were given beside it"),
        (body(f"%0: {T} = nn.relu(const<int9[2]>(#0));\n%0"),
         "line 2: a tensor's elements are one of bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, "
         "float16, float32, float64, not 'int9'"),
        (f"fn (%x: {T}, %x: {T}) -> {T} {{\n%x\n}}", "line 1: the variable %x is defined twice"),
        (f"fn (%x: {T}) -> Tensor[(), int8] {{\n%x\n}}",
         "line 1: the type is Tensor[(2,), int8], and the text says Tensor[(), int8]"),
        (f"fn [primitive=1](%x: {T}) -> {T} {{\n%x\n}}", "line 1: attribute 'primitive' is not 1"),
        ("fn (%x: Tensor[(-2,), int8]) -> ",
         "line 1: a dimension is an integer from 0, or unknown, not -2 (in (-2,))"),
        ("fn (%x: Tensor[(2.5,), int8]) -> ", "line 1: expected an integer, got ,"),
        ("fn (%x: Tensor[(" + "9" * 65 + ",), int8]) -> ",
         f"line 1: expected a number of at most 64 characters, got {'9' * 65}"),
        ("fn (%x: int8) -> ", "line 1: expected a type, got int8"),
        ("fn (%x: " + "(" * 60, "line 1: more than 50 levels within each other"),
        (f"fn (%x: {T}", "line 1: expected ')', got the end of the text"),
        ("fn (%3: ", "line 1: expected the name of a variable, got 3"),
        (body(f"%0: {T} = nn.relu(%x) from 3;\n%0"),
         "line 2: expected the operator or the name of an origin, got 3"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_function_is_refused_by_its_line(text: str, sentence: str | None) -> None:
    if sentence is None:
        assert parse_function(text).body is not None
        return
    with pytest.raises(TextError) as error:
        parse_function(text)
    assert str(error.value) == sentence


def test_a_constant_of_another_type_beside_the_text_is_refused() -> None:
    with pytest.raises(TextError) as error:
        parse_function(body(f"%0: {T} = nn.relu(const<int8[2]>(#0));\n%0"), [np.zeros(3, np.int8)])
    assert str(error.value) == "line 2: constant #0 is Tensor[(2,), int8] in the text, and Tensor[(3,), int8] was given"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"def @f(%x: {T}) -> {T} {{ %x }}\ndef @f(%x: {T}) -> {T} {{ %x }}",
         "line 2: function @f is defined twice"),
        (f"def @f(%x: {T}) -> {T} {{\n%0: {T} = @g();\n%0 }} def @g(%x: {T}) -> {T} {{ %x }}",
         "line 2: a function: expected (Tensor[(2,), int8]), got ()"),
        (f"def @f(%x: {T}) -> {T} {{\n%0: {T} = @g(%x);\n%0 }}\n"
         f"def @g(%x: {T}) -> Tensor[(), int8] {{\nconst<int8>(1) }}",
         "line 2: the type is Tensor[(), int8], and the text says Tensor[(2,), int8]"),
        ("fn () -> ", "line 1: expected 'def', got fn"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_module_is_refused_by_its_line(text: str, sentence: str) -> None:
    with pytest.raises(TextError) as error:
        parse_module(text)
    assert str(error.value) == sentence


def test_a_string_with_a_broken_escape_is_refused() -> None:
    with pytest.raises(TextError, match=r'^line 1: "\\q" is no string$'):
        parse_function('fn (%"\\q": ')


@given(seed=SEEDS, changes=st.integers(1, 4))
@settings(max_examples=150)
def test_a_damaged_text_is_a_graph_or_one_sentence(seed: int, changes: int) -> None:
    rng = random.Random(seed)
    text, constants = text_and_constants(random_graph(seed, nodes=4, with_lets=True).function)
    for _ in range(changes):
        place = rng.randrange(len(text))
        piece = rng.choice(["", "(", ")", "9", '"', ",", " ", "%", "-1", "True", text[place : place + 9]])
        text = text[:place] + piece + text[place + rng.randrange(3) :]
    sentence = "nothing to say"
    try:
        parse_function(text, constants)
    except RelayError as error:
        sentence = str(error)
    assert len(sentence.splitlines()) == 1
