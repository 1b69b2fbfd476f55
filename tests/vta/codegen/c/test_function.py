"""C functions compute what TIR says: the interpreter and numpy are the judges."""

from random import Random

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.c_functions import CCalls
from tests.support.compiler.host_programs import lowered_step_by_step, random_function, widened
from tests.support.compiler.random_loops import random_loops
from tests.support.hw.c_board import missing_compiler
from vta.codegen.c import emit_c
from vta.codegen.llvm_types import CodegenError
from vta.tir.buffer import decl_buffer
from vta.tir.expr import IntImm, Ramp, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import Allocate, AssertStmt, BufferStore, Evaluate, For, LetStmt, seq

needs_compiler = pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler())


@needs_compiler
def test_random_loop_nests_give_the_numbers_of_the_interpreter() -> None:
    programs = [random_loops(Random(f"C {number}")) for number in range(60)]
    call = CCalls([emit_c(program.func, f"f{number}") for number, program in enumerate(programs)])
    for number, program in enumerate(programs):
        expected, found = program.output.copy(), program.output.copy()
        run_func(program.func, [*program.inputs, expected, program.unknown])
        call(number, *program.inputs, found, program.unknown)
        np.testing.assert_array_equal(found, expected, err_msg=str(program.func))


@needs_compiler
def test_random_te_programs_give_numpys_numbers() -> None:
    programs, functions = [], []
    for number in range(16):
        rng = Random(f"C te {number}")
        program, func = random_function(rng)
        *_, (_, func) = lowered_step_by_step(widened(rng, func), VTAConfig())
        programs.append(program)
        functions.append(emit_c(func, f"f{number}"))
    call = CCalls(functions)
    for number, program in enumerate(programs):
        found = np.full(program.expected.shape, 12345, np.int32)
        call(number, *(np.ascontiguousarray(value) for _, value in program.inputs), found)
        np.testing.assert_array_equal(found, program.expected, err_msg=functions[number].text)


def test_what_has_been_loaded_is_loaded_again_after_a_store() -> None:
    a = decl_buffer((4,), "int32", name="A")
    i = Var("i")
    body = For(i, 0, 3, seq([BufferStore(a, a[i] + 1, (i + 1,)), BufferStore(a, a[i] + a[i + 1], (i,))]))
    text = emit_c(PrimFunc("f", (a,), body), "f").text  # type: ignore[arg-type]
    loop = text[text.index("for") :]
    assert loop.count("A[i]") == 3  # loaded twice, stored once
    head = "static void f(int32_t *restrict A, unsigned char *workspace)"
    assert text.startswith(head + "\n{\n    (void)workspace;\n    for")


def test_temporaries_share_the_workspace_where_they_do_not_meet() -> None:
    a = decl_buffer((1,), "float32", name="A")

    def temporary(extent: int) -> Allocate:
        t = decl_buffer((extent,), "float32", name="T")
        stores = seq([BufferStore(t, const(1.5), (IntImm(0),)), BufferStore(a, t[0], (IntImm(0),))])
        return Allocate(t.data, t.dtype, (IntImm(extent),), stores, "global")

    made = emit_c(PrimFunc("f", (a,), seq([temporary(20), temporary(3)])), "f")  # type: ignore[arg-type]
    assert made.workspace == 128
    assert made.text.count("(float *)(workspace + 0)") == 2
    assert "0x1.8000000000000p+0f" in made.text


def test_names_are_those_of_tir_unless_c_has_them() -> None:
    a, switch = decl_buffer((2,), "int32", name="A.b"), Var("switch")
    body = LetStmt(switch, const(3), BufferStore(a, switch + 1, (IntImm(0),)))
    text = emit_c(PrimFunc("f", (a,), body), "f").text  # type: ignore[arg-type]
    assert "const int32_t v_switch = 3;" in text
    assert "A_b[0]" in text


def test_what_has_no_c_code_is_refused_by_name() -> None:
    a, n = decl_buffer((8,), "int32", name="A"), Var("n")

    def refusal(func: PrimFunc) -> str:
        with pytest.raises(CodegenError) as caught:
            emit_c(func, "f")
        return str(caught.value)

    store = BufferStore(a, const(1), (IntImm(0),))
    checked = PrimFunc("f", (n, a), AssertStmt(n > 0, "no", store))  # type: ignore[arg-type]
    assert refusal(checked) == "function 'f': AssertStmt has no C code, which is for the CPU alone"
    vector = PrimFunc("f", (a,), BufferStore(a, Ramp(IntImm(0), IntImm(1), 4), (Ramp(IntImm(0), IntImm(1), 4),)))  # type: ignore[arg-type]
    assert refusal(vector) == "function 'f': Ramp has no C code; lower it for a CPU without vectors"
    stray = PrimFunc("f", (a,), BufferStore(a, Var("k"), (IntImm(0),)))  # type: ignore[arg-type]
    assert refusal(stray) == "function 'f': variable 'k' is not defined here"
    t = decl_buffer((n,), "int32", name="T")
    sized = PrimFunc("f", (n, a), Allocate(t.data, t.dtype, (n,), Evaluate(IntImm(0)), "global"))  # type: ignore[arg-type]
    assert refusal(sized) == (
        "function 'f': temporary 'T' has no C code; temporaries are of constant size, and in the host's memory"
    )
