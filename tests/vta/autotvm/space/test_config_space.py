"""Config spaces: numbers and choices stand for each other, filters decide which are valid."""

import json

import numpy as np
import pytest

from vta import te
from vta.autotvm.space import ConfigEntity, ConfigSpace, OtherOptionEntity, ReorderEntity, SpaceError, SplitEntity
from vta.autotvm.space.config_space import value_of


def space() -> ConfigSpace:
    found = ConfigSpace()
    axis = te.reduce_axis((0, 6), name="k")
    found.define_split("tile", axis)
    found.define_split("deep", 4, num_outputs=3)
    found.define_reorder("order", [axis, axis, axis], "all")
    found.define_annotate("how", [axis], "try_unroll")
    found.define_knob("copies", [1, 2, "many", None, (1, 2)])
    return found


def test_numbers_and_choices_stand_for_each_other() -> None:
    found = space()
    assert len(found) == 4 * 6 * 6 * 2 * 5 == np.prod(found.dims)
    seen = set()
    for index in range(len(found)):
        config = found.get(index)
        assert found.index_of(config) == found.knob2point(found.point2knob(index)) == index
        seen.add(json.dumps(config.to_json_dict()["entity"]))
    assert len(seen) == len(found)


def test_a_choice_survives_json() -> None:
    found = space()
    for index in range(0, len(found), 7):
        config = found.get(index)
        again = ConfigEntity.from_json_dict(json.loads(json.dumps(config.to_json_dict())))
        assert again == config
        assert found.index_of(again) == index


def test_the_first_knob_changes_fastest_and_the_first_choice_is_the_plainest() -> None:
    found = space()
    assert found.get(0) == ConfigEntity(0, found.fallback().values)
    assert found.get(0)["tile"] == found["tile"] == SplitEntity((-1, 1))
    assert found.get(1)["tile"] == SplitEntity((-1, 2))
    assert found.get(1)["order"] == ReorderEntity((0, 1, 2))
    assert "tile" in found
    assert "tile" in found.get(0)
    assert "other" not in found


def test_filters_of_a_knob_leave_values_out_and_filters_of_the_space_choices() -> None:
    found = ConfigSpace()
    found.define_split("x", 12, filter=lambda entity: entity.size[1] != 3)
    found.define_split("y", 12)
    found.multi_filter(lambda config: int(str(value_of(config, "x"))) * int(str(value_of(config, "y"))) <= 12)
    assert [entity.size[1] for entity in found.knobs["x"] if isinstance(entity, SplitEntity)] == [1, 2, 4, 6, 12]
    valid = list(found.valid_indices())
    expected = [(x, y) for y in (1, 2, 3, 4, 6, 12) for x in (1, 2, 4, 6, 12) if x * y <= 12]
    assert [(value_of(found.get(i), "x"), value_of(found.get(i), "y")) for i in valid] == expected
    assert not found.is_index_valid(-1)
    assert not found.is_index_valid(len(found))


def test_a_choice_that_is_made_defines_nothing() -> None:
    config = space().get(3)
    axis = te.reduce_axis((0, 6), name="k")
    config.define_split("tile", axis, filter=None)
    config.define_reorder("order", [axis], "all")
    config.define_annotate("how", [axis], "unroll")
    config.define_knob("copies", [7])
    config.multi_filter(lambda _: False)
    config.add_flop(3)
    assert config == space().get(3)


def test_a_knob_has_one_value_or_says_that_it_has_several() -> None:
    found = space()
    assert value_of(found.get(4 * 6 * 6 * 2), "copies") == 2
    with pytest.raises(SpaceError) as caught:
        value_of(found.get(0), "deep")
    assert str(caught.value) == "knob 'deep' is [-1, 1, 1], and no single value"


def variable() -> te.Tensor:
    return te.placeholder((te.var("n"),), name="a")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: s.define_knob("tile", [1]), "define_knob 'tile': there is a knob of that name"),
        (
            lambda s: s.define_knob("new", []),
            "define_knob 'new': no value is left to choose; widen the candidates or the filter",
        ),
        (lambda s: s.define_knob("new", [1, 1]), "define_knob 'new': a value is there twice"),
        (
            lambda s: s.define_knob("new", [{}]),
            "a record holds numbers, texts, None and lists of them, not dict",
        ),
        (
            lambda s: s.define_split("new", "x"),
            "define_split 'new': a loop has a constant number of iterations, not x",
        ),
        (lambda s: s["tiles"], "there is no knob 'tiles'; did you mean 'tile'?"),
        (lambda s: s.get(0)["zzz"], "there is no knob 'zzz'; there are tile, deep, order, how, copies"),
        (lambda s: s.get(1440), "this space has 1440 choices, numbers 0 to 1439; 1440 is none"),
        (
            lambda s: s.knob2point([0, 0, 0, 2, 0]),
            "places of a choice are 5 numbers below [4, 6, 6, 2, 5], not [0, 0, 0, 2, 0]",
        ),
        (
            lambda s: s.index_of(ConfigEntity(0, {"tile": SplitEntity((-1, 1))})),
            "this space has the knobs tile, deep, order, how, copies, not tile",
        ),
        (
            lambda s: s.index_of(ConfigEntity(0, {**s.get(0).values, "copies": OtherOptionEntity(9)})),
            "knob 'copies' cannot be 9",
        ),
        (lambda _: ConfigEntity.from_json_dict([]), "a config of a record has an index and an entity, not []"),
        (
            lambda _: ConfigEntity.from_json_dict({"index": 0, "entity": [["x", 1]]}),
            "a knob of a record is [name, kind, value], not ['x', 1]",
        ),
    ],
)  # fmt: skip
def test_what_a_space_does_not_have_is_refused(call: object, text: str) -> None:
    with pytest.raises(SpaceError) as caught:
        call(space())  # type: ignore[operator]  # a function of a space
    assert str(caught.value) == text


def test_a_candidate_of_an_order_has_loops_or_their_places() -> None:
    i, j, other = (te.reduce_axis((0, 4), name) for name in ("i", "j", "other"))
    for candidate in ([[j, i]], [[1, 0]]):
        space = ConfigSpace()
        space.define_reorder("order", [i, j], "candidate", candidate=candidate)
        assert space.get(0)["order"].perm == (1, 0)
    with pytest.raises(SpaceError) as error:
        ConfigSpace().define_reorder("order", [i, j], "candidate", candidate=[[i, other]])
    assert str(error.value) == ("define_reorder 'order': a candidate has each of the places 0 to 1 once, not [0, -1]")
