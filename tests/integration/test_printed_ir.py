"""The printed IR of the blocked matrix multiply: after each schedule step, and after each pass.

Golden files, to be read beside a tutorial's listing; ``--update-golden`` writes them anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import vta
from tests.support.golden.golden_text import check_golden_text
from vta import te
from vta.build_module import lower_generic
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text

FOLDER = Path(__file__).resolve().parent / "printed_ir"
CHANNELS = 1024
BLOCK = 256


@dataclass
class Blocked:
    """The product with its epilogue, and the axes that the schedule steps hand on."""

    env: vta.Environment
    t: dict[str, te.Tensor] = field(init=False)
    s: te.Schedule = field(init=False)
    axes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        env = self.env
        tiles_in, tiles_out = CHANNELS // env.BLOCK_IN, CHANNELS // env.BLOCK_OUT
        data = te.placeholder((1, tiles_in, env.BATCH, env.BLOCK_IN), name="data", dtype=env.inp_dtype)
        weight = te.placeholder((tiles_out, tiles_in, env.BLOCK_OUT, env.BLOCK_IN), name="weight", dtype=env.wgt_dtype)
        data_buf = te.compute(data.shape, lambda *i: data(*i), "data_buf")
        weight_buf = te.compute(weight.shape, lambda *i: weight(*i), "weight_buf")
        ic = te.reduce_axis((0, tiles_in), name="ic")
        ic_tns = te.reduce_axis((0, env.BLOCK_IN), name="ic_tns")
        shape = (1, tiles_out, env.BATCH, env.BLOCK_OUT)
        res_gemm = te.compute(
            shape,
            lambda bo, co, bi, ci: te.sum(
                data_buf[bo, ic, bi, ic_tns].astype(env.acc_dtype)
                * weight_buf[co, ic, ci, ic_tns].astype(env.acc_dtype),
                axis=[ic, ic_tns],
            ),
            name="res_gem",
        )
        res_shr = te.compute(shape, lambda *i: res_gemm(*i) >> env.INP_WIDTH, name="res_shr")
        res_max = te.compute(shape, lambda *i: te.max(res_shr(*i), 0), name="res_max")
        res_min = te.compute(shape, lambda *i: te.min(res_max(*i), 127), name="res_min")
        res = te.compute(shape, lambda *i: res_min(*i).astype(env.inp_dtype), name="res")
        self.t = {
            "data": data, "weight": weight, "data_buf": data_buf, "weight_buf": weight_buf, "res_gemm": res_gemm,
            "res_shr": res_shr, "res_max": res_max, "res_min": res_min, "res": res,
        }  # fmt: skip
        self.s = te.create_schedule(res.op)

    @property
    def args(self) -> list[te.Tensor]:
        return [self.t["data"], self.t["weight"], self.t["res"]]


def original(_: Blocked) -> None:
    """Nothing yet."""


def tile_output(p: Blocked) -> None:
    stage = p.s[p.t["res"]]
    b, oc, _, _ = stage.op.axis
    b_out, b_inn = stage.split(b, 1)
    oc_out, oc_inn = stage.split(oc, BLOCK // p.env.BLOCK_OUT)
    stage.reorder(b_out, oc_out, b_inn, oc_inn)
    p.axes["oc_out"] = oc_out


def compute_inside(p: Blocked) -> None:
    for name in ("res_gemm", "res_shr", "res_max", "res_min"):
        p.s[p.t[name]].compute_at(p.s[p.t["res"]], p.axes["oc_out"])


def split_reduction(p: Blocked) -> None:
    stage = p.s[p.t["res_gemm"]]
    p.axes["ic_out"], p.axes["ic_inn"] = stage.split(stage.op.reduce_axis[0], BLOCK // p.env.BLOCK_IN)


def reorder(p: Blocked) -> None:
    stage = p.s[p.t["res_gemm"]]
    b_inn, oc_inn, b_tns, oc_tns = stage.op.axis
    stage.reorder(p.axes["ic_out"], b_inn, oc_inn, p.axes["ic_inn"], b_tns, oc_tns, stage.op.reduce_axis[1])


def scopes_and_loads(p: Blocked) -> None:
    env, s, t = p.env, p.s, p.t
    for name in ("res_gemm", "res_shr", "res_max", "res_min"):
        s[t[name]].set_scope(env.acc_scope)
    for name, scope in (("data_buf", env.inp_scope), ("weight_buf", env.wgt_scope)):
        s[t[name]].set_scope(scope)
        s[t[name]].compute_at(s[t["res_gemm"]], p.axes["ic_out"])
        s[t[name]].pragma(s[t[name]].op.axis[0], env.dma_copy)
    s[t["res"]].pragma(s[t["res"]].op.axis[2], env.dma_copy)


def tensorize(p: Blocked) -> None:
    s, t = p.s, p.t
    s[t["res_gemm"]].tensorize(s[t["res_gemm"]].op.axis[2], p.env.gemm)
    for name in ("res_shr", "res_min", "res_max"):
        s[t[name]].pragma(s[t[name]].op.axis[0], p.env.alu)


STEPS: tuple[Callable[[Blocked], None], ...] = (
    original,
    tile_output,
    compute_inside,
    split_reduction,
    reorder,
    scopes_and_loads,
    tensorize,
)


def scheduled(steps: int) -> Blocked:
    program = Blocked(vta.get_env())
    for step in STEPS[:steps]:
        step(program)
    return program


@pytest.mark.parametrize("number", range(1, len(STEPS)), ids=lambda n: STEPS[n - 1].__name__)
def test_the_loops_after_each_schedule_step(number: int, update_golden: bool) -> None:
    program = scheduled(number)
    with vta.build_config(disabled_pass={"tir.CommonSubexprElimTIR"}):  # indices as the schedule made them
        text = str(lower_generic(program.s, program.args, simple_mode=True))
    check_golden_text(text, FOLDER / f"step{number}_{STEPS[number - 1].__name__}.txt", update=update_golden)


def test_the_program_after_each_pass(update_golden: bool) -> None:
    program = scheduled(len(STEPS))
    shown: list[str] = []
    last = ""

    def after_pass(name: str, func: object) -> None:
        nonlocal last
        assert isinstance(func, PrimFunc)
        text = to_text(func)
        shown.append(f"=== after {name}" + (f"\n{text}\n" if text != last else " (no textual change)\n"))
        last = text

    with vta.build_config(), vta.transform.PassContext(instruments=(after_pass,)):
        final = vta.lower(program.s, program.args, name="blocked_gemm")
    check_golden_text("\n".join(shown), FOLDER / "passes.txt", update=update_golden)
    check_golden_text(str(final), FOLDER / "final.txt", update=update_golden)
