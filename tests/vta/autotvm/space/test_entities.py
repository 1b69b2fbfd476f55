"""Values of knobs: what they do to a schedule, and how they are written."""

import pytest

from vta import te
from vta.autotvm.space.entities import (
    AnnotateEntity,
    Entity,
    OtherOptionEntity,
    ReorderEntity,
    SplitEntity,
    entity_of_json,
    json_of,
)
from vta.autotvm.space.errors import SpaceError
from vta.te.relations import Split
from vta.tir.stmt import ForKind


def stage() -> tuple[te.Schedule, te.Tensor]:
    a = te.placeholder((24, 10), name="a")
    b = te.compute((24, 10), lambda i, j: a(i, j) + 1, name="b")
    return te.create_schedule(b.op), b


def test_a_split_makes_loops_with_its_inner_extents() -> None:
    s, b = stage()
    loops = SplitEntity((-1, 3, 4)).apply(s, b, s[b].op.axis[0])
    assert s[b].leaf_iter_vars[:3] == loops
    splits = [relation for relation in s[b].relations if isinstance(relation, Split)]
    assert [str(split.factor) for split in splits] == ["12", "4"]


def test_an_order_puts_loops_where_it_says() -> None:
    s, b = stage()
    i, j = s[b].op.axis
    assert ReorderEntity((1, 0)).apply(s, b, [i, j]) == [j, i]
    assert s[b].leaf_iter_vars == [j, i]


def test_annotations_mark_loops() -> None:
    s, b = stage()
    i, j = s[b].op.axis
    assert AnnotateEntity(("unroll", "vec")).apply(s, b, [i, j]) == [i, j]
    assert AnnotateEntity(("none",)).apply(s, b, [i]) == [i]
    assert [s[b].attrs[axis].kind for axis in (i, j)] == [ForKind.UNROLLED, ForKind.VECTORIZED]


@pytest.mark.parametrize(
    ("entity", "written"),
    [
        (SplitEntity((-1, 7)), ["sp", [-1, 7]]),
        (ReorderEntity((1, 0)), ["re", [1, 0]]),
        (AnnotateEntity(("none", "vec")), ["an", ["none", "vec"]]),
        (OtherOptionEntity((1, "x", None)), ["ot", (1, "x", None)]),
    ],
)
def test_values_are_written_and_read(entity: Entity, written: list[object]) -> None:
    assert json_of(entity) == written
    assert entity_of_json("x", *written) == entity


def test_the_outer_extent_that_older_records_have_is_left_open() -> None:
    assert entity_of_json("x", "sp", [8, 7]) == SplitEntity((-1, 7))


@pytest.mark.parametrize(("kind", "value"), [("sp", [-1, 0]), ("re", [0, 2]), ("an", ["fast"]), ("xx", 1), ("sp", 3)])
def test_what_is_no_value_is_refused(kind: str, value: object) -> None:
    with pytest.raises(SpaceError) as caught:
        entity_of_json("x", kind, value)
    assert str(caught.value) == (
        f"knob 'x': {[kind, value]!r} is no value; expected ['sp', [-1, extents...]], ['re', places], "
        "['an', annotations] or ['ot', value]"
    )


def test_values_for_other_numbers_of_loops_are_refused() -> None:
    s, b = stage()
    with pytest.raises(SpaceError) as caught:
        ReorderEntity((0, 1)).apply(s, b, [s[b].op.axis[0]])
    assert str(caught.value) == "this order is one of 2 loops, not of 1"
    with pytest.raises(SpaceError) as caught:
        AnnotateEntity(("vec",)).apply(s, b, list(s[b].op.axis))
    assert str(caught.value) == "these annotations are for 1 loops, not for 2"
