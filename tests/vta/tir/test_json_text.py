"""Programs as JSON: read back they are equal, and hostile text ends in a sentence."""

import contextlib
import json
import math
import random
from typing import Any

import pytest

from tests.vta.tir.test_structural import program
from vta import te
from vta.build_module import lower_generic
from vta.tir.buffer import decl_buffer
from vta.tir.expr import FloatImm, IntImm, SizeVar, Var
from vta.tir.func import IRModule
from vta.tir.json_text import JsonError, load_json, save_json
from vta.tir.stmt import BufferStore, seq
from vta.tir.structural import first_difference, structural_hash


def test_a_function_with_everything_in_it_is_read_back() -> None:
    func = program()
    text = save_json(func)
    again = load_json(text)
    assert first_difference(func, again) is None
    assert save_json(again) == text
    assert structural_hash(func) == structural_hash(again)


def test_a_lowered_module_keeps_its_configuration() -> None:
    a = te.placeholder((10,), name="A")
    b = te.compute((10,), lambda i: a[i] * 2.5 + te.exp(a[i]), name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], 4)
    module = lower_generic(s, [a, b])
    again = load_json(save_json(module))
    assert isinstance(again, IRModule)
    assert again.config == module.config
    assert str(again) == str(module)


def test_what_is_shared_stays_shared_and_numbers_keep_every_bit() -> None:
    x = Var("x")
    pair: Any = load_json(save_json([x + 1, x * 2]))
    a, b = pair
    assert a.a is b.a
    for value in (0.1, -0.0, math.inf, math.nan, 5e-324):
        number = load_json(save_json(FloatImm(value, "float64")))
        assert first_difference(number, FloatImm(value, "float64")) is None


def test_long_sums_are_written_term_by_term() -> None:
    a, x = decl_buffer((8,), "int32", "A"), Var("x")
    total = x + 0
    for _ in range(300):
        total = total + x
    stmts = seq(BufferStore(a, total, (x,)) for _ in range(2))
    assert len(json.loads(save_json(stmts))["nodes"]) > 300
    load_json(save_json(stmts))


def test_containers_and_texts_have_json() -> None:
    x, y = SizeVar("x"), Var("y")
    again = load_json(save_json({x: x + 2, y: IntImm(3)}))
    assert [(type(key).__name__, key.name, str(value)) for key, value in again.items()] == [
        ("SizeVar", "x", "(x + 2)"), ("Var", "y", "3"),
    ]  # fmt: skip
    assert load_json(save_json("a text")) == "a text"
    assert load_json(save_json([IntImm(1), "b", 2.5])) == (IntImm(1), "b", 2.5)  # type: ignore[list-item]


def test_tensors_have_no_json() -> None:
    a = te.placeholder((10,), name="A")
    b = te.compute((10,), lambda i: a[i] + 1, name="B")
    with pytest.raises(JsonError) as error:
        save_json(b.op.body[0])
    assert str(error.value) == "ProducerLoad has no JSON; lower the schedule first, and save what comes out"
    with pytest.raises(JsonError) as error:
        save_json(object())  # type: ignore[arg-type]
    assert str(error.value).endswith("is not part of a program")


def changed(**fields: object) -> str:
    document = json.loads(save_json(Var("x") + 1))
    document.update(fields)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "not a program as JSON: Expecting property name"),
        ("[" * 100000, "not a program as JSON: "),
        ("[]", 'not a program as JSON: expected an object with "format": "vta-tir"'),
        (changed(version=9), "a program as JSON, version 9; this toolchain reads 1"),
        (changed(nodes=3), 'a program as JSON: expected a list of "nodes"'),
        (changed(nodes=[3]), 'node 0: expected an object with a "class"'),
        (changed(nodes=[{"class": "Module"}]), "node 0: there is no class 'Module'"),
        (changed(nodes=[{"class": "Var", "name": {"text": "x"}}]), "node 0: Var has the fields name, dtype, pointer"),
        (
            changed(nodes=[{"class": "IntImm", "value": {"text": "x"}, "dtype": {"dtype": "int8"}}]),
            "node 0 (IntImm.value): expected int, got str",
        ),
        (
            changed(nodes=[{"class": "IntImm", "value": 300, "dtype": {"dtype": "int8"}}]),
            "node 0: constant 300 does not fit int8",
        ),
        (
            changed(nodes=[{"class": "IntImm", "value": 3, "dtype": {"dtype": "int99"}}]),
            "node 0 (IntImm.dtype): unknown dtype 'int99'",
        ),
        (
            changed(nodes=[{"class": "Not", "a": {"node": 0}}]),
            "node 0 (Not.a): {'node': 0} is no value of a program, or names a node that comes later",
        ),
        (changed(root=3), "root: expected Program, got int"),
    ],
)  # fmt: skip
def test_text_that_is_no_program_ends_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(JsonError) as error:
        load_json(text)
    assert str(error.value).startswith(sentence)


def test_random_damage_never_ends_in_anything_but_a_sentence() -> None:
    rng = random.Random(5)
    text = save_json(program())
    for _ in range(400):
        at = rng.randrange(len(text))
        damaged = (
            text[:at] + rng.choice(["", "0", "-1", "[", "}", '"', "null", "1e999"]) + text[at + rng.randrange(4) :]
        )
        with contextlib.suppress(JsonError):
            load_json(damaged)
