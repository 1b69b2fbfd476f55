"""Pass contexts. BR-063: options of nested contexts add up, and the accelerator's passes are kept."""

import pytest

from vta import build_config
from vta.transform import OptionError, PassContext


def test_outside_of_any_with_the_defaults_hold() -> None:
    assert PassContext.current() == PassContext()
    assert PassContext.current().debug_flag == 0


def test_br_063_options_of_nested_contexts_add_up() -> None:
    with PassContext(opt_level=3, disabled_pass={"A"}, config={"tir.noalias": True}):
        with build_config(config={"tir.disable_assert": True}, disabled_pass={"B"}, debug_flag=6):
            current = PassContext.current()
            assert set(current.disabled_pass) == {"A", "B"}
            assert current.config == {"tir.noalias": True, "tir.disable_assert": True, "vta.debug_flag": 6}
            assert (current.opt_level, current.debug_flag) == (2, 6)
        assert PassContext.current().config == {"tir.noalias": True}
    assert PassContext.current() == PassContext()


def test_the_inner_context_wins_where_they_contradict() -> None:
    with build_config(debug_flag=2), build_config(debug_flag=4):
        assert PassContext.current().debug_flag == 4


def test_an_exception_ends_a_context() -> None:
    with pytest.raises(KeyError), build_config(opt_level=3):
        raise KeyError
    assert PassContext.current() == PassContext()


def test_instruments_and_required_passes_add_up() -> None:
    def first(name: str, function: object) -> None: ...
    def second(name: str, function: object) -> None: ...

    with PassContext(instruments=(first,), required_pass=("X",)), PassContext(instruments=(second, first)):
        assert PassContext.current().instruments == (first, second)
        assert PassContext.current().required_pass == ("X",)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(OptionError) as error:
        build_config(config={"tir.noalas": True})
    assert str(error.value).startswith("unknown option 'tir.noalas'; known are ")
    with pytest.raises(OptionError) as error:
        build_config(config={"tir.noalias": "yes"})
    assert str(error.value) == "option 'tir.noalias' takes a bool, not 'yes'"
    with pytest.raises(OptionError) as error:
        build_config(config={"vta.debug_flag": "2"})
    assert str(error.value) == "option 'vta.debug_flag' takes an int, not '2'"


def test_a_single_name_in_place_of_a_list_and_a_wrong_level_are_refused() -> None:
    with pytest.raises(OptionError) as error:
        build_config(disabled_pass="tir.CommonSubexprElimTIR")
    assert str(error.value) == (
        "disabled_pass takes a list of names, not the string 'tir.CommonSubexprElimTIR'; write "
        "['tir.CommonSubexprElimTIR']"
    )
    with pytest.raises(OptionError, match=r"^required_pass takes a list of names, not the string 'A'; write \['A'\]$"):
        build_config(required_pass="A")
    for level in (-1, "3"):
        with pytest.raises(OptionError) as error:
            PassContext(opt_level=level)
        assert str(error.value) == f"opt_level takes a number, 0 to 3, not {level!r}"
