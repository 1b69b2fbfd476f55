"""The recorded spine cases, computed and scheduled with our own ``te``; every size comes from the configuration."""

from collections.abc import Callable
from dataclasses import dataclass

import vta
from tests.support.golden.golden import Case
from vta import te, topi
from vta.tir.expr import Expr, IterVar

__all__ = ["Scheduled", "schedule_case"]


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A schedule and the arguments of the function that it becomes."""

    schedule: te.Schedule
    args: list[te.Tensor]


def schedule_case(case: Case, env: vta.Environment) -> Scheduled:
    """Return the schedule of a recorded case for its environment."""
    constants = immediates(case)
    match case.name.split("."):
        case ["tut", "vta_get_started"]:
            return vector_add(env)
        case ["tut", "matrix_multiply"]:
            return matrix_multiply(env)
        case ["tut", "matrix_multiply_opt"]:
            return blocked_matrix_multiply(env)
        case ["benchmark_gemm", size, mode]:
            return gemm_benchmark(env, int(size), mode)
        case ["insn", "test_gemm", mode]:
            return gemm_instruction(env, threads=mode == "smt")
        case ["insn", "test_save_load_out"]:
            return elementwise(env, (6, 6), [lambda x: x >> 0])
        case ["insn", "test_padded_load", variant]:
            return padded_load(env, variant)
        case ["insn", "test_relu"]:
            return elementwise(env, (8, 10), [lambda x: te.max(x, 0), lambda x: te.min(x, 127)])
        case ["insn", "test_shift_and_scale"]:
            scale, shift = constants
            return elementwise(env, (2, 8), [lambda x: x + scale, lambda x: x >> shift])
        case ["insn", "test_alu", operation]:
            return alu_instruction(env, operation, constants)
        case _:
            raise ValueError(f"{case.name} is not a spine case")


def immediates(case: Case) -> list[int]:
    """Return the immediates of the recorded ALU kernels, in order."""
    return [kernel["imm"] for kernel in case.record["kernels"] if kernel["use_imm"]]


Operation = Callable[[Expr], Expr]
"""What an ALU stage does to one element."""


def copy_of(tensor: te.Tensor, name: str) -> te.Tensor:
    """Return an identity stage."""
    return te.compute(tensor.shape, lambda *i: tensor(*i), name)


def elementwise(
    env: vta.Environment,
    rows: tuple[int, int],
    operations: list[Operation],
    load: Callable[[te.Tensor], te.Tensor] | None = None,
) -> Scheduled:
    """Load, some ALU stages one after the other, store: everything whole."""
    x = te.placeholder((*rows, env.BATCH, env.BLOCK_OUT), name="x", dtype=env.acc_dtype)
    loaded = load(x) if load is not None else copy_of(x, "x_buf")
    stages = [loaded]
    for number, operation in enumerate(operations):
        source = stages[-1]
        stages.append(te.compute(source.shape, _apply(operation, source), name=f"alu{number}"))
    y = te.compute(stages[-1].shape, lambda *i: stages[-1](*i).astype(env.inp_dtype), name="y")
    return load_compute_store(env, [x], [loaded], stages[1:], y)


def _apply(operation: Operation, source: te.Tensor) -> Callable[..., Expr]:
    return lambda *i: operation(source(*i))


def load_compute_store(
    env: vta.Environment, inputs: list[te.Tensor], loads: list[te.Tensor], stages: list[te.Tensor], output: te.Tensor
) -> Scheduled:
    """Everything in the accumulator, DMA and ALU pragmas on the outermost axes."""
    s = te.create_schedule(output.op)
    for tensor in loads:
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], env.dma_copy)
    for tensor in stages:
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], env.alu)
    s[output].pragma(s[output].op.axis[0], env.dma_copy)
    return Scheduled(s, [*inputs, output])


def padded_load(env: vta.Environment, variant: str) -> Scheduled:
    """A load with zeros around it."""
    before, after = {
        "Y0": ([2, 0, 0, 0], [0, 0, 0, 0]),
        "Y1": ([0, 2, 0, 0], [0, 0, 0, 0]),
        "X0": ([0, 0, 0, 0], [2, 0, 0, 0]),
        "X1": ([0, 0, 0, 0], [0, 2, 0, 0]),
        "all": ([1, 1, 0, 0], [1, 1, 0, 0]),
    }[variant]
    return elementwise(env, (3, 5), [lambda x: x >> 0], lambda x: topi.nn.pad(x, before, after, name="x_buf"))


def alu_instruction(env: vta.Environment, operation: str, constants: list[int]) -> Scheduled:
    """One ALU operation, with an immediate or with a second tensor."""
    if operation.endswith("_imm"):
        (c,) = constants
        calls: dict[str, Operation] = {
            "SHL_imm": lambda x: x << -c,
            "SHR_imm": lambda x: x >> c,
            "MAX_imm": lambda x: te.max(x, c),
            "ADD_imm": lambda x: x + c,
        }
        return elementwise(env, (8, 8), [calls[operation]])
    shape = (8, 8, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="a", dtype=env.acc_dtype)
    b = te.placeholder(shape, name="b", dtype=env.acc_dtype)
    a_buf, b_buf = copy_of(a, "a_buf"), copy_of(b, "b_buf")
    if operation == "MAX":
        both = te.compute(shape, lambda *i: te.max(a_buf(*i), b_buf(*i)), "res_buf")
    else:
        both = te.compute(shape, lambda *i: a_buf(*i) + b_buf(*i), "res_buf")
    res = te.compute(shape, lambda *i: both(*i).astype(env.inp_dtype), "res")
    return load_compute_store(env, [a, b], [a_buf, b_buf], [both], res)


def vector_add(env: vta.Environment) -> Scheduled:
    """The first tutorial."""
    shape = (1, 64, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
    b = te.placeholder(shape, name="B", dtype=env.acc_dtype)
    a_buf, b_buf = copy_of(a, "A_buf"), copy_of(b, "B_buf")
    c_buf = te.compute(shape, lambda *i: a_buf(*i).astype(env.acc_dtype) + b_buf(*i).astype(env.acc_dtype), "C_buf")
    c = te.compute(shape, lambda *i: c_buf(*i).astype(env.inp_dtype), name="C")
    return load_compute_store(env, [a, b], [a_buf, b_buf], [c_buf], c)


@dataclass(frozen=True, slots=True)
class Product:
    """A tiled matrix product and what surrounds it."""

    x: te.Tensor
    w: te.Tensor
    x_buf: te.Tensor
    w_buf: te.Tensor
    gemm: te.Tensor
    ko: IterVar
    ki: IterVar


def product(env: vta.Environment, batch: int, inner: int, outer: int) -> Product:
    """Return the product of (batch, inner) and (outer, inner) tiles, as in the tutorials."""
    x = te.placeholder((batch, inner, env.BATCH, env.BLOCK_IN), name="x", dtype=env.inp_dtype)
    w = te.placeholder((outer, inner, env.BLOCK_OUT, env.BLOCK_IN), name="w", dtype=env.wgt_dtype)
    x_buf, w_buf = copy_of(x, "x_buf"), copy_of(w, "w_buf")
    ko = te.reduce_axis((0, inner), name="ko")
    ki = te.reduce_axis((0, env.BLOCK_IN), name="ki")
    gemm = te.compute(
        (batch, outer, env.BATCH, env.BLOCK_OUT),
        lambda bo, co, bi, ci: te.sum(
            x_buf[bo, ko, bi, ki].astype(env.acc_dtype) * w_buf[co, ko, ci, ki].astype(env.acc_dtype), axis=[ko, ki]
        ),
        name="gemm",
    )
    return Product(x, w, x_buf, w_buf, gemm, ko, ki)


def epilogue(env: vta.Environment, source: te.Tensor, shift: int) -> list[te.Tensor]:
    """Return shift, lower clip, upper clip and cast, one stage each."""
    shr = te.compute(source.shape, lambda *i: source(*i) >> shift, name="shr")
    low = te.compute(source.shape, lambda *i: te.max(shr(*i), 0), name="max")
    high = te.compute(source.shape, lambda *i: te.min(low(*i), 127), name="min")
    res = te.compute(source.shape, lambda *i: high(*i).astype(env.inp_dtype), name="res")
    return [shr, low, high, res]


def place_operands(s: te.Schedule, env: vta.Environment, p: Product, at: IterVar, dma: str) -> None:
    """Load the operands inside the product's loop ``at``."""
    for tensor, scope in ((p.x_buf, env.inp_scope), (p.w_buf, env.wgt_scope)):
        s[tensor].set_scope(scope)
        s[tensor].compute_at(s[p.gemm], at)
        s[tensor].pragma(s[tensor].op.axis[0], dma)
    s[p.gemm].set_scope(env.acc_scope)


def matrix_multiply(env: vta.Environment) -> Scheduled:
    """The second tutorial."""
    p = product(env, 1, 16, 16)
    c = te.compute(p.gemm.shape, lambda *i: p.gemm(*i).astype(env.inp_dtype), name="C")
    s = te.create_schedule(c.op)
    place_operands(s, env, p, p.ko, env.dma_copy)
    s[c].pragma(s[c].op.axis[0], env.dma_copy)
    s[p.gemm].reorder(p.ko, *s[p.gemm].op.axis, p.ki)
    s[p.gemm].tensorize(s[p.gemm].op.axis[2], env.gemm)
    return Scheduled(s, [p.x, p.w, c])


def gemm_instruction(env: vta.Environment, *, threads: bool) -> Scheduled:
    """Four rows by four output tiles, one reduction tile; with two virtual threads over the rows if asked for."""
    p = product(env, 4, 1, 4)
    shr, low, high, res = epilogue(env, p.gemm, 8)
    s = te.create_schedule(res.op)
    place_operands(s, env, p, p.ko, env.dma_copy)
    if threads:
        outer, inner = s[res].split(s[res].op.axis[0], nparts=2)
        s[res].bind(outer, te.thread_axis("cthread"))
    else:
        outer, inner = None, s[res].op.axis[0]
    for tensor in (shr, low, high):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].pragma(s[tensor].op.axis[0], env.alu)
    if outer is not None:
        for tensor in (p.gemm, shr, low, high):
            s[tensor].compute_at(s[res], outer)
    bo, co, bi, ci = s[p.gemm].op.axis
    s[p.gemm].reorder(p.ko, bo, co, bi, ci, p.ki)
    s[p.gemm].tensorize(bi, env.gemm)
    s[res].pragma(inner, env.dma_copy)
    return Scheduled(s, [p.x, p.w, res])


def blocked_matrix_multiply(env: vta.Environment) -> Scheduled:
    """The third tutorial: blocks of 256 channels."""
    p = product(env, 1 // env.BATCH, 1024 // env.BLOCK_IN, 1024 // env.BLOCK_OUT)
    shr, low, high, res = epilogue(env, p.gemm, env.INP_WIDTH)
    s = te.create_schedule(res.op)
    b, oc, _, _ = s[res].op.axis
    b_out, b_inn = s[res].split(b, 1 // env.BATCH)
    oc_out, oc_inn = s[res].split(oc, 256 // env.BLOCK_OUT)
    s[res].reorder(b_out, oc_out, b_inn, oc_inn)
    for tensor in (p.gemm, shr, low, high):
        s[tensor].compute_at(s[res], oc_out)
        s[tensor].set_scope(env.acc_scope)
    b_inn, oc_inn, b_tns, oc_tns = s[p.gemm].op.axis
    ko_out, ko_inn = s[p.gemm].split(p.ko, 256 // env.BLOCK_IN)
    s[p.gemm].reorder(ko_out, b_inn, oc_inn, ko_inn, b_tns, oc_tns, p.ki)
    place_operands(s, env, p, ko_out, env.dma_copy)
    s[res].pragma(s[res].op.axis[2], env.dma_copy)
    s[p.gemm].tensorize(b_tns, env.gemm)
    for tensor in (shr, high, low):
        s[tensor].pragma(s[tensor].op.axis[0], env.alu)
    return Scheduled(s, [p.x, p.w, res])


def gemm_benchmark(env: vta.Environment, size: int, mode: str) -> Scheduled:
    """A square product in blocks of its own size; two modes leave out all but one kind of instruction."""
    only_gemm, only_alu = mode == "gemm_unittest", mode == "alu_unittest"
    dma = env.mock.dma_copy if only_gemm or only_alu else env.dma_copy
    alu = env.mock.alu if only_gemm else env.alu
    gemm = env.mock.gemm if only_alu else env.gemm
    p = product(env, size // env.BATCH, size // env.BLOCK_IN, size // env.BLOCK_OUT)
    shr, low, high, res = epilogue(env, p.gemm, 8)
    s = te.create_schedule(res.op)
    block = size // env.BATCH, size // env.BLOCK_OUT
    _xb1, xco1, xb2, _xco2 = s[res].tile(s[res].op.axis[0], s[res].op.axis[1], *block)
    for tensor in (p.gemm, shr, low, high):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].compute_at(s[res], xco1)
    bo, co, bi, ci = s[p.gemm].op.axis
    ko1, ko2 = s[p.gemm].split(p.ko, size // env.BLOCK_IN)
    s[p.gemm].reorder(ko1, ko2, bo, co, bi, ci, p.ki)
    place_operands(s, env, p, ko1, dma)
    s[p.gemm].tensorize(bi, gemm)
    for tensor in (shr, low, high):
        s[tensor].pragma(s[tensor].op.axis[0], alu)
    s[res].pragma(xb2, dma)
    return Scheduled(s, [p.x, p.w, res])
