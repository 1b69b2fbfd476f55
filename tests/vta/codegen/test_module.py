"""Compiled modules: calling, saving, loading, replaying. BR-046: a program for another configuration is refused."""

import ctypes
import errno
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from runtime.memory.array import DeviceArray, HostArray
from runtime.queue.transfer import TransferError
from runtime.session import Session, SessionError
from tests.support.configs import CONFIGS
from tests.support.runtime.host_call import defined_and_undefined
from vta.codegen import (
    ArgumentError,
    CodegenError,
    CodeTarget,
    HostCodeError,
    Module,
    ModuleError,
    NativeError,
    emit_host,
    load_module,
)
from vta.codegen.sealed_object import sealed
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE, INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterKind, IterVar, StringImm, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import AssertStmt, AttrKey, AttrStmt, BufferStore, Evaluate, For, LetStmt, Stmt, seq

AXIS = IterVar(None, Var("vta"), IterKind.THREAD_INDEX, "vta")
COMMAND = Call(HANDLE, Builtin.THREAD_CONTEXT, (Call(HANDLE, Builtin.COMMAND_HANDLE),))
LOADED = Origin("A_buf", "user.py:5")


def extern(name: str, *arguments: Expr | int) -> Expr:
    values = [IntImm(a) if isinstance(a, int) else a for a in arguments]
    return Call(INT32, Builtin.CALL_EXTERN, (StringImm(name), *values))


def op(builtin: Builtin, *arguments: int) -> Stmt:
    return Evaluate(Call(INT32, builtin, tuple(map(IntImm, arguments))))


def doubling(config: VTAConfig, tiles: int = 4, name: str = "double") -> PrimFunc:
    """Return: load ``tiles`` accumulator tiles of A, add them to themselves, store the low bits to C."""
    shape = (tiles, config.batch, config.block_out)
    a, c = decl_buffer(shape, config.acc_dtype, "A"), decl_buffer(shape, config.out_dtype, "C")
    load = extern("VTALoadBuffer2D", COMMAND, a.data, 0, tiles, 1, tiles, 0, 0, 0, 0, 0, 3)
    kernel = seq(
        [
            Evaluate(extern("VTAUopLoopBegin", tiles, 1, 1, 0)),
            op(Builtin.UOP_PUSH, 1, 0, 0, 0, 0, 2, 0, 0),
            Evaluate(extern("VTAUopLoopEnd")),
        ]
    )
    body = seq(
        [
            Evaluate(load, LOADED),
            AttrStmt(AXIS, AttrKey.COPROC_UOP_SCOPE, StringImm("VTAPushALUOp"), kernel),
            op(Builtin.COPROC_DEP_PUSH, 2, 3),
            op(Builtin.COPROC_DEP_POP, 2, 3),
            Evaluate(extern("VTAStoreBuffer2D", COMMAND, 0, 4, c.data, 0, tiles, 1, tiles)),
            op(Builtin.COPROC_SYNC),
        ]
    )
    params = (Var("A", HANDLE), Var("C", HANDLE))
    return PrimFunc(name, params, body, dict(zip(params, (a, c), strict=True)))


def increment(name: str = "increment") -> PrimFunc:
    """Return a function of the CPU: C[i] = A[i] + k."""
    n, k, i = Var("n"), Var("k"), Var("i")
    a, c = decl_buffer((n,), "int32", "A"), decl_buffer((n,), "int32", "C")
    params = (Var("A", HANDLE), Var("C", HANDLE), k)
    body = For(i, IntImm(0), n, BufferStore(c, a.load(i) + k, (i,)))
    return PrimFunc(name, params, body, dict(zip(params, (a, c), strict=False)))


def module_of(*functions: PrimFunc, config: VTAConfig | None = None, machine: CodeTarget | None = None) -> Module:
    return Module.compile(emit_host(functions, config or VTAConfig()), machine)


def arrays(session: Session, function: PrimFunc) -> list[DeviceArray]:
    """Return device arrays for a function's parameters, the first filled with random numbers."""
    made = []
    for buffer in function.buffer_map.values():
        shape = [e.value for e in buffer.shape]
        made.append(DeviceArray(session, shape, str(buffer.dtype)))
    rng = np.random.default_rng(7)
    made[0].copyfrom(rng.integers(-1000, 1000, size=made[0].shape).astype(made[0].dtype))
    return made


@pytest.mark.parametrize("device", ["sim", "reference"])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_function_of_the_accelerator_runs_where_its_arrays_are(name: str, device: str) -> None:
    config = CONFIGS[name]
    session = Session(config, device)
    function = doubling(config)
    a, c = arrays(session, function)
    module_of(function, config=config)(a, c)
    np.testing.assert_array_equal(c.numpy(), (a.numpy() * 2).astype(config.out_dtype))


def test_a_second_call_replays_the_stream_with_the_new_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(VTAConfig(), record=True)
    function = doubling(VTAConfig())
    module = module_of(function)
    a, c = arrays(session, function)
    module(a, c)
    runs = 0
    original = module.entry_func._native

    def counting(*values: int) -> int:
        nonlocal runs
        runs += 1
        return int(original(*values))

    monkeypatch.setattr(module.entry_func, "_native", counting)
    a2, c2 = arrays(session, function)
    a2.copyfrom(a.numpy() + 5)
    module(a2, c2)
    np.testing.assert_array_equal(c2.numpy(), (a2.numpy() * 2).astype(np.int8))
    assert runs == 0
    module.replays = False
    module(a2, c2)  # a stream is kept from the first call, so switching replay off takes a fresh module
    assert runs == 0
    fresh = module_of(function)
    fresh.replays = False
    fresh(a, c)
    fresh(a, c)
    first, second, third, fourth, fifth = session.queue.launcher.launches
    assert first.words == fourth.words == fifth.words
    assert second.words == third.words
    assert second.words != first.words  # other buffers, other addresses


def test_instructions_carry_the_origin_of_their_statement() -> None:
    session = Session(VTAConfig(), record=True)
    function = doubling(VTAConfig())
    module_of(function)(*arrays(session, function))
    [launch] = session.queue.launcher.launches
    assert launch.origins[0] == replace(LOADED, call="VTALoadBuffer2D")
    assert launch.origins[1] == Origin("", call="VTAPushALUOp")


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "default"])
def test_br_046_a_device_of_another_configuration_is_refused(name: str) -> None:
    config = CONFIGS[name]
    session = Session(VTAConfig())
    function = doubling(config)
    shape = [e.value for e in function.buffer_map[function.params[0]].shape]
    a, c = DeviceArray(session, shape, "int32"), DeviceArray(session, shape, "int8")
    with pytest.raises(SessionError) as error:
        module_of(function, config=config)(a, c)
    text = str(error.value)
    assert text.startswith("function 'double' is for ")
    assert config.bitstream in text
    assert VTAConfig().bitstream in text
    assert session.device.stats.launches == 0


def test_a_saved_module_comes_back_with_everything_it_knows(tmp_path: Path) -> None:
    config = CONFIGS["in16out32"]
    function = doubling(config)
    module = module_of(function, increment(), config=config)
    path = tmp_path / "double.o"
    module.save(path)
    defined, undefined = defined_and_undefined(path.read_bytes())
    assert defined == {"double", "increment", "__vta_origin", "__vta_metadata"}
    assert undefined == {
        "VTALoadBuffer2D", "VTAPushALUOp", "VTAUopLoopBegin", "VTAUopPush", "VTAUopLoopEnd", "VTADepPush", "VTADepPop",
        "VTAStoreBuffer2D", "VTASynchronize", "VTATLSCommandHandle",
    }  # fmt: skip
    loaded = load_module(path)
    assert loaded.metadata == module.metadata
    assert loaded.config == config
    session = Session(config, "reference")
    a, c = arrays(session, function)
    loaded(a, c)
    np.testing.assert_array_equal(c.numpy(), (a.numpy() * 2).astype(np.int8))
    again = tmp_path / "again.o"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_source_can_be_saved_too(tmp_path: Path) -> None:
    module = module_of(increment())
    module.save(tmp_path / "a.ll")
    module.save(tmp_path / "a.s")
    assert 'define i32 @"increment"' in (tmp_path / "a.ll").read_text()
    assert "increment:" in (tmp_path / "a.s").read_text()
    module.save(tmp_path / "a.asm")
    assert (tmp_path / "a.asm").read_text() == (tmp_path / "a.s").read_text()
    module.save(tmp_path / "a.bc")
    assert (tmp_path / "a.bc").read_bytes()[:2] == b"BC"
    module.save(tmp_path / "whatever", "o")
    assert (tmp_path / "whatever").read_bytes()[:4] == b"\x7fELF"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.asm", "a.bc", "a.ll", "a.s", "whatever"]


def test_a_saved_module_of_half_floats_needs_no_compiler_library(tmp_path: Path) -> None:
    a, c = decl_buffer((8,), "float16", "A"), decl_buffer((8,), "float16", "C")
    i = Var("i")
    params = (Var("A", HANDLE), Var("C", HANDLE))
    body = For(i, IntImm(0), IntImm(8), BufferStore(c, a.load(i) * a.load(i), (i,)))
    module_of(PrimFunc("square", params, body, dict(zip(params, (a, c), strict=True)))).save(tmp_path / "h.o")
    assert defined_and_undefined((tmp_path / "h.o").read_bytes())[1] == set()
    values, out = np.linspace(-3, 3, 8).astype(np.float16), np.zeros(8, np.float16)
    load_module(tmp_path / "h.o")(values, out)
    np.testing.assert_array_equal(out, values * values)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.o"
    path.write_bytes(b"old")

    def fail(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        module_of(increment()).save(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.o"]


def test_files_that_are_no_modules_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.o"
    with pytest.raises(ModuleError) as error:
        load_module(path)
    assert str(error.value) == f"{path}: cannot be read: No such file or directory"
    path.write_bytes(b"\x7fELF...")
    with pytest.raises(ModuleError) as error:
        load_module(path)
    assert str(error.value) == (f"{path}: not an object that this toolchain saved, or damaged (no module description)")
    module_of(increment()).save(path)
    whole = path.read_bytes()
    path.write_bytes(sealed(b"MZ" + whole[2:]))
    with pytest.raises(ModuleError) as error:
        load_module(path)
    assert str(error.value) == f"{path}: is not an object file; save the module with the suffix .o to load it"


def mutant(rng: Random, whole: bytes) -> bytes:
    """Return an object with something changed: bits, a cut, a hole, a part of it elsewhere."""
    begin = rng.randrange(len(whole))
    end = min(len(whole), begin + rng.choice((1, 1, 1, 4, 64, 1024)))
    match rng.randrange(6):
        case 0:
            return whole[:begin]
        case 1:
            return whole[:begin] + bytes(end - begin) + whole[end:]
        case 2:
            return whole[:begin] + whole[end:]
        case 3:
            return whole[:begin] + whole[begin:end] * 2 + whole[end:]
        case 4:
            return whole[:begin] + rng.randbytes(end - begin) + whole[end:]
        case _:
            return whole[:begin] + bytes([whole[begin] ^ 1 << rng.randrange(8)]) + whole[begin + 1 :]


def test_no_damaged_object_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rng = tmp_path / "x.o", Random(5)
    module_of(increment()).save(path)
    whole = path.read_bytes()
    monkeypatch.setattr("vta.codegen.module.link", lambda *_arguments, **_options: pytest.fail("it was mapped"))
    for damaged in (mutant(rng, whole) for _ in range(600)):
        if damaged == whole:
            continue
        path.write_bytes(damaged)
        with pytest.raises(ModuleError) as error:
            load_module(path)
        assert str(error.value) in (
            f"{path}: not an object that this toolchain saved, or damaged (no module description)",
            f"{path}: the module is damaged, or not one that was saved; save it again",
        )


def test_a_text_like_a_description_cannot_be_saved(tmp_path: Path) -> None:
    strange = Evaluate(Call(INT32, Builtin.CALL_EXTERN, (StringImm("puts"), StringImm("VTA-HOST-MODULE\x02"))))
    with pytest.raises(ModuleError) as error:
        module_of(PrimFunc("f", (), strange, {})).save(tmp_path / "x.o")
    assert str(error.value) == "the program has a text that looks like a module description; change that"
    assert list(tmp_path.iterdir()) == []


def test_a_loaded_module_has_no_source(tmp_path: Path) -> None:
    path = tmp_path / "x.o"
    module_of(increment()).save(path)
    with pytest.raises(ModuleError) as error:
        load_module(path).get_source()
    assert str(error.value) == "the module was loaded from an object file; it has no source any more"


def test_unknown_formats_and_names_are_refused(tmp_path: Path) -> None:
    module = module_of(increment("f"), increment("g"))
    with pytest.raises(ModuleError) as error:
        module.save(tmp_path / "x.so")
    assert str(error.value) == f"{tmp_path / 'x.so'}: cannot save as 'so'; use .o, .ll, .bc or .s"
    with pytest.raises(ModuleError) as error:
        module.get_source("cuda")
    assert str(error.value) == "source format 'cuda' is unknown; there are 'll' and 's'"
    with pytest.raises(ModuleError) as error:
        module["h"]
    assert str(error.value) == "the module has no function 'h'; it has f, g"


def test_several_functions_are_found_by_name() -> None:
    module = module_of(increment("f"), increment("g"))
    assert list(module.functions) == ["f", "g"]
    assert (module.entry_name, module["g"].name) == ("f", "g")
    out = np.zeros(3, np.int32)
    module["g"](np.arange(3, dtype=np.int32), out, 10)
    assert out.tolist() == [10, 11, 12]
    assert repr(module["f"]) == "<function f(A: int32[?], C: int32[?], k: int32)>"
    assert repr(module).startswith("<module for 1x16_i8w8a32_15_15_18_17: f(A: int32[?]")


def test_host_arrays_and_numpy_arrays_are_arguments_of_cpu_functions() -> None:
    module = module_of(increment())
    a, c = HostArray((4,), "int32"), HostArray((4,), "int32")
    a.copyfrom(np.arange(4, dtype=np.int32))
    module(a, c, np.int64(-1))
    assert c.numpy().tolist() == [-1, 0, 1, 2]


def test_the_message_of_a_failure_is_raised() -> None:
    n = Var("n")
    body = AssertStmt((n > 0).asexpr(), "n must be positive", Evaluate(IntImm(0)), LOADED)
    module = module_of(PrimFunc("check", (n,), body, {}))
    module(1)
    with pytest.raises(HostCodeError) as error:
        module(0)
    assert str(error.value) == "function 'check', A_buf (user.py:5): n must be positive"


def test_an_error_of_the_runtime_is_raised_and_the_device_can_go_on() -> None:
    config = VTAConfig()
    session = Session(config)
    function = doubling(config, tiles=4000)  # beyond the accumulator's 2048 tiles
    good = doubling(config)
    with pytest.raises(TransferError, match=r"^A_buf \(user\.py:5\): load of ACC: .* 4000, and the buffer has 2048$"):
        module_of(function)(*arrays(session, function))
    a, c = arrays(session, good)
    module_of(good)(a, c)
    np.testing.assert_array_equal(c.numpy(), (a.numpy() * 2).astype(np.int8))


class TestArguments:
    """Wrong arguments are one clear error before anything runs."""

    def refused(self, *arguments: object) -> str:
        module = module_of(increment())
        with pytest.raises(ArgumentError) as error:
            module(*arguments)
        assert "linked" not in vars(module)
        return str(error.value)

    def test_their_number(self) -> None:
        assert self.refused(1) == (
            "increment takes 3 arguments, increment(A: int32[?], C: int32[?], k: int32); 1 were given"
        )

    def test_their_kinds(self) -> None:
        a = np.zeros(3, np.int32)
        assert self.refused(a, [1, 2, 3], 1) == ("increment: argument C: int32[?] got [1, 2, 3], which is not an array")
        assert self.refused(a, a, "one") == "increment: argument k: int32 got 'one'"
        assert self.refused(a, a, 1 << 31) == ("increment: argument k: int32 got 2147483648, which does not fit int32")

    def test_shapes_and_types(self) -> None:
        a = np.zeros(3, np.int32)
        assert self.refused(a, np.zeros(3, np.int64), 1) == "increment: argument C: int32[?] got int64[3]"
        assert self.refused(a, np.zeros((3, 1), np.int32), 1) == "increment: argument C: int32[?] got int32[3, 1]"
        session = Session(VTAConfig())
        function = doubling(VTAConfig())
        first = DeviceArray(session, (4, 1, 16), "int32")
        with pytest.raises(ArgumentError) as error:
            module_of(function)(first, DeviceArray(session, (5, 1, 16), "int8"))
        assert str(error.value) == "double: argument C: int8[4, 1, 16] got int8[5, 1, 16]"

    def test_memory_layout(self) -> None:
        a = np.zeros(6, np.int32)
        hint = "is a numpy array that is not contiguous, aligned and writeable; pass np.ascontiguousarray(a)"
        assert self.refused(a[::2], a[:3], 1) == f"increment: argument A: int32[?] {hint}"
        frozen = np.zeros(3, np.int32)
        frozen.flags.writeable = False
        assert self.refused(a[:3], frozen, 1) == f"increment: argument C: int32[?] {hint}"

    def test_the_memory_that_an_array_is_in(self) -> None:
        session = Session(VTAConfig())
        device = DeviceArray(session, (3,), "int32")
        assert self.refused(device, np.zeros(3, np.int32), 1) == (
            "increment: argument A: int32[?] is in device memory, and the function runs on the CPU; "
            "copy it with vta.nd.array(a.numpy())"
        )
        function = doubling(VTAConfig())
        a, c = arrays(session, function)
        with pytest.raises(ArgumentError) as error:
            module_of(function)(a.numpy(), c)
        assert str(error.value) == (
            "double: argument A: int32[4, 1, 16] is in host memory, and the function runs on the accelerator; "
            "copy it with vta.nd.array(a, remote.ext_dev(0))"
        )
        _, other = arrays(Session(VTAConfig()), function)
        with pytest.raises(ArgumentError) as error:
            module_of(function)(a, other)
        assert str(error.value) == "double: arguments 'A' and 'C' lie on different devices; put them on one"

    def test_types_that_python_cannot_pass(self) -> None:
        odd = Var("odd", dtype=decl_buffer((1,), "int24", "x").dtype)
        module = module_of(PrimFunc("f", (odd,), Evaluate(IntImm(0)), {}))
        with pytest.raises(ArgumentError) as error:
            module(3)
        assert str(error.value) == "parameter odd: int24 has a type that cannot be passed from Python"


def test_scalars_of_every_type_arrive() -> None:
    kinds = ["int8", "uint8", "int32", "int64", "float32", "float64"]
    z = decl_buffer((len(kinds),), "float64", "z")
    scalars = [Var(f"s{i}", dtype=decl_buffer((1,), kind, "x").dtype) for i, kind in enumerate(kinds)]
    body = seq([BufferStore(z, s.astype("float64"), (IntImm(i),)) for i, s in enumerate(scalars)])
    param = Var("z", HANDLE)
    out = np.zeros(len(kinds))
    module_of(PrimFunc("f", (param, *scalars), body, {param: z}))(out, -128, 255, -5, 1 << 40, 0.5, 1e300)
    assert out.tolist() == [-128, 255, -5, 1 << 40, 0.5, 1e300]


def test_a_module_for_another_machine_is_saved_but_not_called(tmp_path: Path) -> None:
    triple = "armv7-none-linux-gnueabihf"
    program = emit_host([increment()], VTAConfig(), triple=triple)
    module = Module.compile(program, CodeTarget(triple, ""))
    module.save(tmp_path / "arm.o")
    data = (tmp_path / "arm.o").read_bytes()
    assert (data[4], data[18]) == (1, 40)  # ELF32, ARM
    with pytest.raises(ModuleError) as error:
        module(np.zeros(1, np.int32), np.zeros(1, np.int32), 1)
    assert str(error.value) == f"the module is for {triple}; it can be saved here, but not called"
    loaded = load_module(tmp_path / "arm.o")
    with pytest.raises(ModuleError, match="it can be saved here, but not called"):
        loaded(np.zeros(1, np.int32), np.zeros(1, np.int32), 1)


def test_machines_that_llvm_does_not_know_are_refused() -> None:
    program = emit_host([increment()], VTAConfig(), triple="vta-none-elf")
    module = Module.compile(program, CodeTarget("vta-none-elf"))
    with pytest.raises(NativeError, match="target triple 'vta-none-elf' is not one that LLVM knows"):
        module.get_source("s")


def test_a_function_that_nobody_has_is_noticed_when_the_module_is_linked() -> None:
    body = Evaluate(extern("no_such_function_anywhere"))
    with pytest.raises(NativeError) as error:
        module_of(PrimFunc("f", (), body, {}))()
    assert str(error.value) == (
        "module 'f': cannot be linked: a function that it calls is neither the runtime's nor in this process"
    )


def test_code_lives_as_long_as_its_module() -> None:
    for _ in range(3):
        out = np.zeros(4, np.int32)
        module_of(increment())(np.arange(4, dtype=np.int32), out, 1)
        assert out.tolist() == [1, 2, 3, 4]


def test_device_buffers_may_be_read_and_written_by_host_code() -> None:
    """Host code gets a CPU pointer; such a function is never replayed."""
    config = VTAConfig()
    session = Session(config)
    a = decl_buffer((4,), "int32", "A")
    pointer = Var("A_ptr", HANDLE)
    view = Buffer("A", pointer, a.dtype, a.shape)
    i = Var("i")
    inner = For(i, IntImm(0), IntImm(4), BufferStore(view, view.load(i) * 2, (i,)))
    body = LetStmt(pointer, Call(HANDLE, Builtin.CALL_EXTERN, (StringImm("VTABufferCPUPtr"), COMMAND, a.data)), inner)
    param = Var("A", HANDLE)
    module = module_of(PrimFunc("f", (param,), body, {param: a}))
    array = DeviceArray(session, (4,), "int32")
    array.copyfrom(np.arange(4, dtype=np.int32))
    module(array)
    module(array)
    assert array.numpy().tolist() == [0, 4, 8, 12]


def test_a_function_without_arrays_needs_a_running_session() -> None:
    module = module_of(PrimFunc("sync", (), op(Builtin.COPROC_SYNC), {}))
    with pytest.raises(SessionError, match="no session is running a program here"):
        module()


def test_the_origin_global_is_exported() -> None:
    module = module_of(increment())
    assert ctypes.c_int32.from_address(module.linked.address["__vta_origin"]).value == -1
    assert module.origin() is None


def test_nothing_is_compiled_before_it_is_needed() -> None:
    module = module_of(increment())
    assert "linked" not in vars(module)
    with pytest.raises(CodegenError):
        emit_host([increment(), increment()], VTAConfig())


def test_a_module_may_have_others_with_it() -> None:
    config = VTAConfig()
    first, second = (
        Module.compile(emit_host([PrimFunc(name, (), Evaluate(IntImm(0)))], config, on_device=False))
        for name in ("one", "two")
    )
    assert first.imported_modules == []
    first.import_module(second)
    assert first.imported_modules == [second]
    assert first.type_key == "llvm"
    assert first.implement_function("one")
    assert not first.implement_function("two")
    assert first.get_function("two", query_imports=True).name == "two"
    with pytest.raises(ModuleError) as error:
        first.get_function("two")
    assert str(error.value) == "the module has no function 'two'; it has one"
    with pytest.raises(ModuleError) as error:
        first.import_module(first)
    assert str(error.value).startswith("import_module takes another module, not <module")


def test_a_library_has_any_suffix(tmp_path: Path) -> None:
    module = module_of(increment())
    path = tmp_path / "increment.so"
    module.export_library(path)
    assert [info.name for info in load_module(path).metadata.functions] == ["increment"]
    with pytest.raises(ModuleError) as error:
        module.export_library(path, "cc")
    assert str(error.value) == f"{path}: export_library takes a path alone; nothing is linked"
