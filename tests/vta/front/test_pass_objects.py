"""Passes as objects: called alone, in sequence, and as part of lowering."""

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic, lower_generic, schedule_to_module
from vta.instrument import PassInfo, PassInstrument, PassTimingInstrument, pass_instrument
from vta.pass_objects import ModulePass, PassError, PrintIR, Sequential, module_pass, prim_func_pass
from vta.tir import expr as tir
from vta.tir import stmt_functor
from vta.tir.expr import IntImm
from vta.tir.func import IRModule, PrimFunc
from vta.tir.traverse import TirNode
from vta.tir_passes import RemoveNoOp, Simplify, StorageFlatten
from vta.transform import OptionError, PassContext


def program() -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((8,), name="A", dtype="int32")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    return te.create_schedule(b.op), [a, b]


def bigger(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Add a hundred where one was added."""

    def hundred(node: TirNode) -> TirNode | None:
        return tir.Add(node.a, IntImm(101)) if isinstance(node, tir.Add) and isinstance(node.b, IntImm) else None

    return func.with_body(stmt_functor.ir_transform(func.body, None, hundred, ["tir.Add"]))


def test_a_sequence_of_passes_makes_a_program_of_a_schedule() -> None:
    s, args = program()
    module = Sequential([StorageFlatten(64), Simplify(), RemoveNoOp()])(schedule_to_module(s, args))
    assert "B_2[i]" in str(module) or "B[i]" in str(module)
    assert isinstance(module["main"], PrimFunc)


@pytest.mark.parametrize("phase", [0, 1, 2, 3])
def test_a_pass_of_ones_own_runs_in_every_phase(phase: int) -> None:
    s, args = program()
    with PassContext(config={"tir.add_lower_pass": [(phase, prim_func_pass(bigger, opt_level=0))]}):
        module = build_generic(s, args)
    out = vta.nd.array(np.zeros(8, np.int32))
    module(vta.nd.array(np.arange(8, dtype=np.int32)), out)
    assert out.numpy().tolist() == [i + 101 for i in range(8)]


def test_classes_and_functions_become_passes() -> None:
    @prim_func_pass(opt_level=1, name="renamer")
    class Renamer:
        def __init__(self, suffix: str) -> None:
            self.suffix = suffix

        def transform_function(self, func: PrimFunc, _mod: IRModule, _ctx: PassContext) -> PrimFunc:
            return func.with_attr("global_symbol", func.name + self.suffix)

    @module_pass(opt_level=0)
    class Doubler:
        def transform_module(self, mod: IRModule, _ctx: PassContext) -> IRModule:
            return IRModule({**mod.functions, "twin": mod["main"]}, mod.config)

    s, args = program()
    module = schedule_to_module(s, args)
    renamed = Renamer("_x")(module)
    assert renamed["main"].name == "main_x"
    assert repr(Renamer("_x")) == "FunctionPass('renamer', opt_level=1)"
    assert list(Doubler()(module).functions) == ["main", "twin"]
    assert list(module.functions) == ["main"]


def test_the_context_says_which_passes_of_a_sequence_run() -> None:
    ran: list[str] = []

    def noting(name: str, level: int) -> ModulePass:
        def note(mod: IRModule, ctx: PassContext) -> IRModule:
            ran.append(name)
            return mod

        return ModulePass(note, PassInfo(level, name))

    sequence = Sequential([noting("a", 0), noting("b", 2), noting("c", 3), noting("d", 3)])
    with PassContext(opt_level=2, disabled_pass=["tir.a"], required_pass=["d"]):
        sequence(IRModule())
    assert ran == ["b", "d"]


def test_instruments_hear_of_every_pass_and_may_leave_some_out(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []

    @pass_instrument
    class Watcher:
        def enter_pass_ctx(self) -> None:
            heard.append("enter")

        def exit_pass_ctx(self) -> None:
            heard.append("exit")

        def should_run(self, _mod: IRModule, info: PassInfo) -> bool:
            return info.name != "tir.Simplify"

        def run_before_pass(self, _mod: IRModule, info: PassInfo) -> None:
            heard.append(f"before {info.name}")

        def run_after_pass(self, _mod: IRModule, info: PassInfo) -> None:
            heard.append(f"after {info.name}")

    watcher = Watcher()
    assert isinstance(watcher, PassInstrument)
    timing = PassTimingInstrument()
    s, args = program()
    with PassContext(instruments=[watcher, timing]):
        Sequential([Simplify(), RemoveNoOp(), PrintIR("now")])(schedule_to_module(s, args))
        lower_generic(s, args)
    assert heard[:3] == ["enter", "before sequential", "before tir.RemoveNoOp"]
    assert heard[-1] == "exit"
    assert "before tir.Simplify" not in heard
    assert "after tir.StorageFlatten" in heard
    assert heard.count("before tir.UnrollLoop") == heard.count("after tir.UnrollLoop") == 1
    lines = timing.render().splitlines()
    assert "tir.RemoveNoOp" in [line.split(":")[0] for line in lines]
    assert all(line.endswith("%)") for line in lines)
    assert capsys.readouterr().out.startswith("now\n@main = primfn(")


def test_a_function_is_an_instrument_of_objects_too() -> None:
    seen: list[tuple[str, str]] = []
    s, args = program()
    with PassContext(instruments=[lambda name, func: seen.append((name, func.name))]):  # type: ignore[attr-defined]
        Simplify()(schedule_to_module(s, args))
    assert seen == [("tir.Simplify", "main")]


def test_what_is_no_pass_or_returns_no_module_is_refused() -> None:
    s, args = program()
    module = schedule_to_module(s, args)
    with pytest.raises(PassError) as error:
        Sequential([bigger])  # type: ignore[list-item]
    assert str(error.value).startswith(
        "Sequential takes passes, such as tir.transform.Simplify(), not <function bigger"
    )
    with pytest.raises(PassError) as error:
        Simplify()(s)  # type: ignore[arg-type]
    assert str(error.value) == "pass 'tir.Simplify' takes an IRModule, not Schedule"
    with pytest.raises(PassError) as error:
        prim_func_pass(lambda _func, _mod, _ctx: None, opt_level=0, name="p")(module)  # type: ignore[arg-type, return-value]
    assert str(error.value) == "pass 'p' must return PrimFunc, and returned NoneType"
    with pytest.raises(PassError) as error:
        prim_func_pass(bigger)
    assert str(error.value) == "a pass needs its opt_level, for example opt_level=0"
    with pytest.raises(OptionError) as option:
        PassContext(instruments=[3])  # type: ignore[list-item]
    assert str(option.value) == "instruments are objects of vta.instrument or functions, not 3"

    @module_pass(opt_level=0, name="twins")
    def twins(mod: IRModule, ctx: PassContext) -> IRModule:
        return IRModule({**mod.functions, "twin": mod["main"]}, mod.config)

    with PassContext(config={"tir.add_lower_pass": [(1, twins)]}), pytest.raises(PassError) as error:
        lower_generic(s, args)
    assert str(error.value) == "pass 'twins' made 2 functions of one; it cannot stand in a phase"
