"""A tensor intrinsic for tests: a small product as loops of the host."""

from collections.abc import Callable

from vta import te
from vta.tir.buffer import Buffer
from vta.tir.expr import Var
from vta.tir.stmt import BufferStore, For, Stmt, seq

__all__ = ["gemm", "nest"]


def nest(sizes: tuple[int, ...], body: Callable[..., Stmt]) -> Stmt:
    """Return loops of the given sizes around ``body(variables)``."""
    variables = [te.var(f"t{i}") for i in range(len(sizes))]
    stmt = body(*variables)
    for var, size in zip(reversed(variables), reversed(sizes), strict=True):
        stmt = For(var, te.const(0), te.const(size), stmt)
    return stmt


def gemm(batch: int, block: int, *, without: str = "") -> te.TensorIntrin:
    """out[i, j] = sum over k of inp[i, k] * wgt[j, k], as loops."""
    inp, wgt = te.placeholder((batch, block), "int8", "inp"), te.placeholder((block, block), "int8", "wgt")
    k = te.reduce_axis((0, block), "k")
    out = te.compute(
        (batch, block), lambda i, j: te.sum(inp[i, k].astype("int32") * wgt[j, k].astype("int32"), axis=k), "out"
    )

    def parts(ins: list[Buffer], outs: list[Buffer]) -> list[Stmt | None]:
        (x, w), (o,) = ins, outs

        def step(i: Var, j: Var, k: Var) -> Stmt:
            return BufferStore(o, o.load(i, j) + x.load(i, k).astype("int32") * w.load(j, k).astype("int32"), (i, j))

        reset = nest((batch, block), lambda i, j: BufferStore(o, te.const(0), (i, j)))
        update = nest((batch, block, block), step)
        made = {"body": seq([reset, update]), "reset": reset, "update": update}
        return [None if name == without else stmt for name, stmt in made.items()]

    return te.decl_tensor_intrin(out.op, parts, name="gemm")
