"""TVM's options about loops: what they change in a lowered function, and what they do not accept."""

import pytest

from vta import te
from vta.build_module import lower_generic
from vta.codegen.host import emit_host
from vta.transform import OptionError, PassContext


def listing(**options: object) -> str:
    """Return the lowered program of a guarded, vectorised loop over rows."""
    a = te.placeholder((3, 130), "int32", "a")
    b = te.compute((3, 130), lambda i, j: a[i, j] + 1, "b")
    schedule = te.create_schedule(b.op)
    _, inner = schedule[b].split(b.op.axis[1], factor=16)
    schedule[b].vectorize(inner)
    with PassContext(config={f"tir.{name}": value for name, value in options.items()}):
        return str(lower_generic(schedule, [a, b]))


def test_loops_are_split_and_vectors_made_without_an_option() -> None:
    assert "likely" not in listing()
    assert "ramp" in listing()


@pytest.mark.parametrize("partition", [True, False])
def test_partitioning_can_be_switched_off(partition: bool) -> None:  # the option's value
    assert ("likely" in listing(LoopPartition={"partition_const_loop": partition})) is not partition


def test_vectors_can_be_switched_off() -> None:
    assert "ramp" not in listing(disable_vectorize=True)
    assert "ramp" in listing(disable_vectorize=False)


def test_small_loops_are_unrolled_where_that_is_asked_for() -> None:
    assert "for (i: int32, 0, 3)" in listing(UnrollLoop={"auto_max_step": 4})
    assert "for (i: int32, 0, 3)" not in listing(UnrollLoop={"auto_max_step": 64})
    assert "for (i: int32, 0, 3)" in listing(UnrollLoop={"auto_max_step": 64, "explicit_unroll": False})


@pytest.mark.parametrize("apart", [True, False])
def test_arguments_are_apart_unless_an_option_says_otherwise(apart: bool) -> None:  # the option's value
    a = te.placeholder((8,), "int32", "a")
    b = te.compute((8,), lambda i: a[i] + 1, "b")
    with PassContext(config={"tir.noalias": apart}):
        module = lower_generic(te.create_schedule(b.op), [a, b])
    source = emit_host(list(module.functions.values()), module.config).source
    assert ("noalias" in source) is apart


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"LoopPartition": {"partition": True}},
            "option 'tir.LoopPartition' has no setting 'partition'; "
            "known are partition_const_loop, no_unroll_loop_with_extent_one",
        ),
        ({"UnrollLoop": {"auto_max_step": "4"}}, "option 'tir.UnrollLoop': 'auto_max_step' takes an int, not '4'"),
    ],
)
def test_settings_that_do_not_exist_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as error:
        listing(**options)
    assert str(error.value) == message
