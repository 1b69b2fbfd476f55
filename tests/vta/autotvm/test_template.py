"""Templates of scripts: they are tuned, and make the best schedule that is known."""

from pathlib import Path

import numpy as np
import pytest

import vta
from vta import autotvm, te
from vta.autotvm import TuningError, TuningWarning
from vta.autotvm.callback import log_to_file
from vta.autotvm.record import encode, load_from_file
from vta.autotvm.space import ConfigSpace, SplitEntity
from vta.autotvm.task import create

Made = tuple[te.Schedule, list[te.Tensor]]


@autotvm.template("test_template.add")
def add(blocks: int, other: te.Tensor) -> Made:
    """Add one to int32 numbers on the accelerator, in tiles."""
    env, cfg = vta.get_env(), autotvm.get_config()
    a = te.placeholder((blocks, env.BATCH, env.BLOCK_OUT), name="a", dtype=env.acc_dtype)
    loaded = te.compute(a.shape, lambda *i: a(*i), name="loaded")
    added = te.compute(a.shape, lambda *i: loaded(*i) + 1, name="added")
    stored = te.compute(a.shape, lambda *i: added(*i).astype(env.out_dtype), name="stored")
    s = te.create_schedule(stored.op)
    cfg.define_split("tile", s[stored].op.axis[0])
    cfg.define_knob("unused", ["x", "y"])
    outer, inner = cfg["tile"].apply(s, stored, s[stored].op.axis[0])
    for tensor in (loaded, added):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].compute_at(s[stored], outer)
    s[loaded].pragma(s[loaded].op.axis[0], env.dma_copy)
    s[added].pragma(s[added].op.axis[0], env.alu)
    s[stored].pragma(inner, env.dma_copy)
    return s, [a, stored]


OTHER = ("TENSOR", (3,), "int8")


def test_a_template_of_a_script_is_tuned_and_its_best_is_applied(tmp_path: Path) -> None:
    env, log = vta.get_env(), tmp_path / "log"
    task = create("test_template.add", (6, te.placeholder((3,), dtype="int8")))
    assert task.config_space.dims == (4, 2)
    assert (task.operator, task.flop) == (None, 0)
    option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner())
    tuner = autotvm.tuner.GridSearchTuner(task)
    tuner.tune(4, option, callbacks=[log_to_file(log)])
    costs = [result.cost for _, result in load_from_file(log)]
    assert all(1e-7 < cost < 1e-4 for cost in costs)  # all right, and some cycles each
    assert tuner.best_config == task.config_space.get(3)  # a single tile
    with autotvm.apply_history_best(log):
        s, [a, b] = add(6, te.placeholder((3,), dtype="int8"))
    split = next(relation for relation in s[b].relations)
    assert "6" in str(split)
    module = vta.build(s, [a, b])
    values = np.arange(-48, 48, dtype=np.int32).reshape(6, 1, 16)
    place = vta.nd.ext_dev(0)
    out = vta.nd.empty((6, 1, 16), env.out_dtype, place)
    module(vta.nd.array(values, place), out)
    np.testing.assert_array_equal(out.numpy(), values + 1)


def test_without_records_the_plainest_choice_is_taken_and_said() -> None:
    with pytest.warns(TuningWarning) as told:
        s, [_, b] = add(6, te.placeholder((3,), dtype="int8"))
    assert str(told[0].message) == (
        "template 'test_template.add' was not tuned for these arguments: it takes the first value of each knob; tune "
        "it, or give its records to autotvm.apply_history_best"
    )
    assert len(s[b].leaf_iter_vars) == 4


def test_the_config_is_the_space_while_it_is_defined_and_the_choice_afterwards() -> None:
    seen: list[object] = []

    @autotvm.template("test_template.seen")
    def noted(size: int) -> Made:
        cfg = autotvm.get_config()
        cfg.define_split("tile", size)
        seen.append(cfg)
        a = te.placeholder((size,), name="a")
        b = te.compute((size,), lambda i: a(i) + 1, name="b")
        return te.create_schedule(b.op), [a, b]

    task = create("test_template.seen", (6,))
    task.instantiate(task.config_space.get(2))
    assert isinstance(seen[0], ConfigSpace)
    assert seen[1] == task.config_space.get(2)
    assert noted.__name__ == "noted"
    assert task.config_space["tile"] == SplitEntity((-1, 1))


def test_outside_of_a_template_there_is_no_config() -> None:
    with pytest.raises(TuningError) as caught:
        autotvm.get_config()
    assert str(caught.value) == "autotvm.get_config() is for the inside of a template that a task or a tuner runs"


def test_a_name_has_one_template() -> None:
    for name, owner in (("dense_packed.vta", "the library"), ("test_template.add", f"{add.__module__}.add")):
        with pytest.raises(TuningError) as caught:
            autotvm.template(name)(lambda: None)  # type: ignore[arg-type,return-value]  # it is not run
        assert str(caught.value) == f"template {name!r}: {owner} has one of that name; call it otherwise"


def test_records_are_for_the_arguments_that_they_name(tmp_path: Path) -> None:
    task, log = create("test_template.add", (6, OTHER)), tmp_path / "log"
    result = autotvm.MeasureResult((1e-6,))
    log.write_text(encode(task.input(task.config_space.get(3)), result) + "\n")
    with autotvm.apply_history_best(log), pytest.warns(TuningWarning, match=r"'test_template\.add' was not tuned"):
        add(4, te.placeholder((3,), dtype="int8"))
