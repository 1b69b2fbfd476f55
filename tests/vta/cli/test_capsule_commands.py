"""``vta run --capsule``, ``vta run CAPSULE`` and ``vta reduce``."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.config import VTAConfig
from isa.instructions import Alu
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from tests.support.faults.engine_faults import EngineFault, FaultyDevice
from vta.cli.app import app
from vta.inspect.capsule import DeviceSpec, load_capsule, save_capsule

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def vta(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def stuck(folder: Path) -> Path:
    path = folder / "stuck.vta"
    path.write_text((EXAMPLES / "add_three.vta").read_text().replace("imm=3 push_next", "imm=3"))
    return path


def test_a_program_is_packed_and_replayed(tmp_path: Path) -> None:
    capsule = tmp_path / "c"
    result = vta("run", EXAMPLES / "add_three.vta", "--target", "tsim", "--capsule", capsule)
    assert result.exit_code == 0
    assert result.stderr == f"{capsule}: packed; `vta run {capsule}` replays it\n"
    cycles = load_capsule(capsule).outcomes[0].cycles
    again = vta("run", capsule)
    assert again.exit_code == 0
    assert again.stdout == f"{capsule}: 1 launch on tsim: finishes with the same memory, {cycles} cycles\n"


def test_a_script_is_packed_and_replayed(tmp_path: Path) -> None:
    capsule = tmp_path / "c"
    assert vta("run", EXAMPLES / "matrix_multiply.py", "--target", "sim", "--capsule", capsule).exit_code == 0
    assert vta("run", capsule).stdout == f"{capsule}: 1 launch on sim: finishes with the same memory\n"


def test_a_launch_that_fails_is_packed_without_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = vta("run", stuck(tmp_path))
    assert result.exit_code == 1
    [capsule] = tmp_path.glob("vta-stuck-*.capsule")
    said, error = result.stderr.splitlines()
    assert said == f"the launch that failed is packed in {capsule}: `vta run` replays it, `vta reduce` shrinks it"
    assert error.startswith("error: ")
    assert vta("run", capsule).stdout.startswith(f"{capsule}: 1 launch on sim: fails as it did: deadlock: ")


def test_a_failing_capsule_is_reduced(tmp_path: Path) -> None:
    capsule, small = tmp_path / "c", tmp_path / "small"
    assert vta("run", stuck(tmp_path), "--capsule", capsule).exit_code == 1
    result = vta("reduce", capsule, "-o", small)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith(f"{small}: 2 of 5 instructions; deadlock: ")
    assert vta("run", small).exit_code == 0


def test_a_capsule_that_does_not_fail_cannot_be_reduced(tmp_path: Path) -> None:
    capsule = tmp_path / "c"
    vta("run", EXAMPLES / "add_three.vta", "--capsule", capsule)
    result = vta("reduce", capsule, "-o", tmp_path / "small")
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: {capsule}: the capsule's launches all finish, with the memory that the reference interpreter leaves, "
        "so there is no failure to keep; reduce one that fails\n"
    )
    assert not (tmp_path / "small").exists()


def test_a_wrong_result_is_reduced_and_what_is_right_goes_into_the_small_capsule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capsule, small = tmp_path / "c", tmp_path / "small"
    assert vta("run", EXAMPLES / "add_three.vta", "--capsule", capsule).exit_code == 0
    sound = DeviceSpec.session

    def session(spec: DeviceSpec, config: VTAConfig) -> Session:
        """Make a sim whose ALU adds one too few."""
        if spec.device == "reference":
            return sound(spec, config)
        fault = EngineFault("add", lambda entry: replace(entry, imm=2) if isinstance(entry, Alu) else entry)
        return Session(config, FaultyDevice(config, DeviceMemory(1 << 29), fault))

    with monkeypatch.context() as patch:
        patch.setattr(DeviceSpec, "session", session)
        result = vta("reduce", capsule, "-o", small)
        assert (result.exit_code, result.stderr.splitlines()[0]) == (
            0,
            "launch 0 leaves another memory than on the reference interpreter",
        )
        assert result.stdout.splitlines()[-1] == (
            f"{small}: 5 of 5 instructions; another result on sim than on the reference interpreter"
        )
        assert "launch 0: memory differs afterwards: expected digest " in vta("run", small).stderr
    assert vta("run", small).stdout == f"{small}: 1 launch on sim: finishes with the same memory\n"


def test_another_outcome_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c"
    vta("run", EXAMPLES / "add_three.vta", "--capsule", path)
    capsule = load_capsule(path)
    [outcome] = capsule.outcomes
    save_capsule(replace(capsule, outcomes=(replace(outcome, digest="0" * 64),)), path)
    result = vta("run", path)
    assert result.exit_code == 1
    assert "launch 0: memory differs afterwards: expected digest 0000000000000000, and now " in result.stderr


def test_a_script_that_launches_nothing_packs_nothing(tmp_path: Path) -> None:
    script, capsule = tmp_path / "s.py", tmp_path / "c"
    script.write_text("print('hello')\n")
    result = vta("run", script, "--capsule", capsule)
    assert result.stderr == f"{capsule}: not written, since nothing was launched\n"
    assert not capsule.exists()


def test_a_launch_of_a_script_that_fails_is_packed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = tmp_path / "stuck.py"
    script.write_text(
        "import vta\nfrom isa.instructions import Module\nqueue = vta.get_env().session.queue\n"
        "queue.dep_pop(Module.LOAD, Module.COMPUTE)\nqueue.synchronize()\n"
    )
    result = vta("run", script)
    assert result.exit_code == 1
    [capsule] = tmp_path.glob("vta-stuck-*.capsule")
    error, said = result.stderr.splitlines()
    assert error.startswith(f"error: {script}:5: deadlock: ")
    assert said == f"the launch that failed is packed in {capsule}: `vta run` replays it, `vta reduce` shrinks it"
    assert vta("run", capsule).stdout.startswith(f"{capsule}: 1 launch on sim: fails as it did: deadlock: ")


def test_a_replay_is_recorded_and_nothing_that_was_asked_is_ignored(tmp_path: Path) -> None:
    capsule, trace = tmp_path / "c", tmp_path / "t"
    vta("run", EXAMPLES / "add_three.vta", "--target", "tsim", "--capsule", capsule)
    assert vta("run", capsule, "--record", trace).exit_code == 0
    cycles = load_capsule(capsule).outcomes[0].cycles
    assert vta("trace", trace).stdout.startswith(f"launch 0 on tsim: 5 instructions, {cycles} cycles, ")
    result = vta("run", capsule, "--target", "sim", "--stats", "word")
    assert result.exit_code == 2
    assert "leave out --target --stats word" in " ".join(result.stderr.replace("\u2502", " ").split())


def test_an_output_is_never_written_over_what_is_read_or_another_output(tmp_path: Path) -> None:
    program = tmp_path / "p.vta"
    program.write_text((EXAMPLES / "add_three.vta").read_text())
    for option in ("--record", "--capsule", "--vcd", "--trace"):
        assert vta("run", program, "--target", "tsim", option, program).stderr == (
            f"error: {option} {program}: this is the file that is read too; name another file\n"
        )
    assert program.read_text() == (EXAMPLES / "add_three.vta").read_text()
    out = tmp_path / "out"
    assert vta("run", program, "--record", out, "--capsule", out).stderr == (
        f"error: --capsule {out}: this is that of --record too; name another file\n"
    )
    assert not out.exists()
    assert vta("run", program, "--capsule", tmp_path / "no" / "x").stderr.startswith(
        f"error: {tmp_path / 'no' / 'x'}: there is no folder {tmp_path / 'no'}; "
    )


def test_a_recording_that_fails_is_no_failure_of_the_launch(tmp_path: Path) -> None:
    result = vta("run", EXAMPLES / "add_three.vta", "--record", "/dev/full")
    assert result.stderr == "error: /dev/full: No space left on device\n"


def stuck_in(folder: Path, value: int) -> Path:
    """Return a program called ``stuck`` in a folder of its own; it leaves the same memory for every ``value``."""
    folder.mkdir()
    path = stuck(folder)
    path.write_text(path.read_text().replace("imm=3", f"imm={value}"))
    return path


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, with a blank in its name."""
    folder = tmp_path / "for all"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_programs_of_one_name_have_capsules_of_their_own(tmp_path: Path, temporary: Path) -> None:
    for program in (stuck_in(tmp_path / "a", 3), stuck_in(tmp_path / "b", 4), tmp_path / "a" / "stuck.vta"):
        vta("run", program)
    assert len(list(temporary.iterdir())) == 2


def test_a_link_in_the_place_of_a_capsule_is_not_followed(tmp_path: Path, temporary: Path) -> None:
    program = stuck(tmp_path)
    vta("run", program)
    [first] = temporary.iterdir()
    data = first.read_bytes()
    first.unlink()
    (tmp_path / "victim").write_bytes(b"mine")
    first.symlink_to(tmp_path / "victim")
    said = vta("run", program).stderr.splitlines()[0]
    second = temporary / f"{first.stem}-2.capsule"
    assert said == f"the launch that failed is packed in {second}: `vta run` replays it, `vta reduce` shrinks it"
    assert (second.read_bytes(), (tmp_path / "victim").read_bytes()) == (data, b"mine")


def test_the_name_of_a_capsule_is_plain_and_short(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / ("a \x1b[1m" + "b" * 240 + ".vta")
    path.write_text(stuck(tmp_path).read_text())
    assert vta("run", path).exit_code == 1
    [capsule] = temporary.iterdir()
    assert capsule.name.startswith("vta-a___1m" + "b" * 54 + "-")


def test_a_capsule_that_cannot_be_written_hides_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    said, error = vta("run", stuck(tmp_path)).stderr.splitlines()
    assert said.startswith(f"the launch that failed could not be packed: {tmp_path / 'nowhere' / 'vta-stuck-'}")
    assert said.endswith(".capsule: No such file or directory")
    assert error.startswith("error: ")
    said, error = vta("run", stuck(tmp_path), "--capsule", "/dev/full").stderr.splitlines()
    assert said == "the launch that failed could not be packed: /dev/full: No space left on device"
    assert "deadlock" in error
