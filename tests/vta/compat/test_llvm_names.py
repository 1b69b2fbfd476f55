"""Compilers and LLVM's intrinsics by TVM's names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from vta.compat.llvm_names import (
    CompilerError,
    compiler_rooms,
    create_llvm,
    find_clang,
    llvm_get_intrinsic_name,
    llvm_lookup_intrinsic_id,
)
from vta.tir.calls import call_llvm_pure_intrin
from vta.tir.expr import const
from vta.tir.structural import structural_equal


def test_a_number_stands_for_a_name() -> None:
    number = llvm_lookup_intrinsic_id("llvm.ctpop.i32")
    assert llvm_get_intrinsic_name(number) == "llvm.ctpop.i32"
    assert llvm_lookup_intrinsic_id("ctpop") == 0
    by_number, by_name = (
        call_llvm_pure_intrin("int32", key, const(1, "uint32"), const(5)) for key in (number, "llvm.ctpop.i32")
    )
    assert structural_equal(by_number, by_name)
    with pytest.raises(CompilerError) as error:
        llvm_get_intrinsic_name(7)
    assert str(error.value) == "7 is no number of llvm_lookup_intrinsic_id"


def test_clang_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clang = tmp_path / "clang"
    script = [
        "#!/bin/sh",
        "for last; do :; done",
        'grep -q refuse "$last" && { echo no >&2; exit 1; }',
        'cp "$last" "$6"',
    ]
    clang.write_text("\n".join([*script, ""]))
    clang.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(clang) if name == "clang" else None)
    assert find_clang() == [str(clang)]
    assert create_llvm("int f;", output=str(tmp_path / "out.ll"), options=["-x"]) == "int f;"
    assert (tmp_path / "out.ll").read_text() == "int f;"
    with pytest.raises(CompilerError) as error:
        create_llvm("refuse", options=["-x"])
    assert str(error.value) == f"{clang}: no"
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert find_clang(required=False) == []
    with pytest.raises(CompilerError) as error:
        find_clang()
    assert str(error.value) == (
        "clang is not installed; it compiles C to LLVM's assembly here, and nothing else needs it"
    )


def test_what_versions_of_gpus_have() -> None:
    nvcc = cast("Mapping[str, Any]", compiler_rooms()["nvcc"])
    assert [nvcc["have_fp16"](v) for v in ("5.2", "5.3", "7.0")] == [False, True, True]
    assert (nvcc["have_int8"]("6.1"), nvcc["have_tensorcore"]("6.1")) == (True, False)
