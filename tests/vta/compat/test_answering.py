"""TVM is answered for while a script runs, and only then."""

import importlib
import sys

import pytest

from vta.compat.answering import answering


def test_imports_inside_are_answered_and_outside_are_not() -> None:
    with answering():
        assert importlib.import_module("tvm.te").placeholder
        assert importlib.import_module("tvm").__version__ == "0.9.0"
    assert "tvm" not in sys.modules
    assert "tvm.te" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tvm")


def test_nothing_is_made_for_scripts_that_do_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vta.compat.tvm_names.tvm_names", lambda: pytest.fail("made"))
    with answering():
        importlib.import_module("json")


def test_a_tvm_that_is_there_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = type(sys)("tvm")
    monkeypatch.setitem(sys.modules, "tvm", theirs)
    with answering():
        assert importlib.import_module("tvm") is theirs
    assert sys.modules["tvm"] is theirs
