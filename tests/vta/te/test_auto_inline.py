from collections.abc import Callable
from typing import Any

from vta import te
from vta.te.auto_inline import is_broadcast, is_elementwise, is_injective
from vta.te.schedule import AutoInlineBroadcast, AutoInlineElemWise, AutoInlineInjective


def kinds() -> dict[str, te.Tensor]:
    x = te.placeholder((4, 4), "int32", "x")
    row = te.placeholder((4,), "int32", "row")
    k = te.reduce_axis((0, 4), "k")
    made = {
        "elementwise": te.compute((4, 4), lambda i, j: x[i, j] + 1, "elementwise"),
        "broadcast": te.compute((4, 4), lambda i, j: x[i, j] + row[j], "broadcast"),
        "injective": te.compute((4, 4), lambda i, j: x[j, i], "injective"),
        "reduction": te.compute((4, 4), lambda i, _j: te.sum(x[i, k], axis=k), "reduction"),
    }
    made["all"] = te.compute(
        (4, 4), lambda i, j: sum((t[i, j] for t in list(made.values())[1:]), made["elementwise"][i, j])
    )
    return made


def test_operations_are_told_apart() -> None:
    made = kinds()
    names = ("elementwise", "broadcast", "injective", "reduction")
    assert [is_elementwise(made[n].op) for n in names] == [True, False, False, False]
    assert [is_broadcast(made[n].op) for n in names] == [True, True, False, False]
    assert [is_injective(made[n].op) for n in names] == [True, True, True, False]
    assert not is_injective(te.placeholder((3,)).op)


def inlined_by(auto: Callable[..., Any]) -> list[str]:
    made = kinds()
    s = te.create_schedule(made["all"].op)
    auto(s)
    return [stage.name for stage in s.stages if stage.is_inlined]


def test_each_function_inlines_its_kind_and_simpler_ones() -> None:
    assert inlined_by(AutoInlineElemWise) == ["elementwise"]
    assert inlined_by(AutoInlineBroadcast) == ["elementwise", "broadcast"]
    assert inlined_by(AutoInlineInjective) == ["elementwise", "broadcast", "injective"]


def test_a_stage_with_a_schedule_of_its_own_stays() -> None:
    made = kinds()
    s = te.create_schedule(made["all"].op)
    s[made["injective"]].split(made["injective"].op.axis[0], 2)
    AutoInlineInjective(s)
    assert not s[made["injective"]].is_inlined
