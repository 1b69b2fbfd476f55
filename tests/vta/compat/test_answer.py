"""The stand-ins for TVM's modules, and what they say about names that they do not have."""

import importlib
import sys
from collections.abc import Iterator

import pytest

from vta.compat.answer import Answer, Finder


@pytest.fixture
def answered() -> Iterator[None]:
    finder = Finder(Answer("fake_tvm", {"__version__": "1", "te": {"max": max, "deep": {"x": 3}}, "lower": len}))
    sys.meta_path.insert(0, finder)
    yield
    sys.meta_path.remove(finder)
    for name in [n for n in sys.modules if n.partition(".")[0] == "fake_tvm"]:
        del sys.modules[name]


@pytest.mark.usefixtures("answered")
def test_modules_and_names_are_imported_as_usual() -> None:
    fake = importlib.import_module("fake_tvm")
    te = importlib.import_module("fake_tvm.te")
    deep = importlib.import_module("fake_tvm.te.deep")
    assert fake.te is te
    assert fake.te.deep is deep
    assert (fake.lower, te.max, deep.x, fake.__version__) == (len, max, 3, "1")


@pytest.mark.usefixtures("answered")
def test_missing_names_are_named() -> None:
    fake = importlib.import_module("fake_tvm")
    with pytest.raises(AttributeError) as error:
        _ = fake.lowr
    assert str(error.value) == ("fake_tvm.lowr is not among what vta.compat answers for TVM; did you mean 'lower'?")
    with pytest.raises(AttributeError) as error:
        _ = fake.te.compute
    assert str(error.value) == "fake_tvm.te.compute is not among what vta.compat answers for TVM; there is deep, max"
    with pytest.raises(ModuleNotFoundError) as missing:
        importlib.import_module("fake_tvm.relay")
    assert str(missing.value) == (
        "fake_tvm.relay is not among what vta.compat answers for TVM; there is fake_tvm, fake_tvm.te, fake_tvm.te.deep"
    )
    with pytest.raises(ImportError, match=r"fake_tvm\.relay is not among what vta.compat answers"):
        importlib.import_module("fake_tvm.relay.testing")


@pytest.mark.usefixtures("answered")
def test_other_packages_are_left_alone() -> None:
    assert importlib.import_module("fake_tvm").__name__ == "fake_tvm"
    assert importlib.util.find_spec("fake_tvmx") is None
