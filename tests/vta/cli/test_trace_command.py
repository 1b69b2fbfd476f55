"""``vta run --record`` and ``vta trace``."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from vta.cli.app import app

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def vta(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "run.trace"
    result = vta("run", EXAMPLES / "add_three.vta", "--target", "tsim", "--record", path)
    assert result.exit_code == 0, result.output
    return path


def test_a_trace_is_listed_with_cycles(traced: Path) -> None:
    result = vta("trace", traced)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("launch 0 on tsim: 5 instructions, ")
    assert [line.split()[5] for line in lines[2:]] == ["load.acc", "load.uop", "alu.add", "store", "finish"]
    only = vta("trace", traced, "--module", "store", "--launch", "0")
    assert [line.split()[5] for line in only.stdout.splitlines()[2:]] == ["store"]


def test_a_script_is_recorded_with_its_source_lines(tmp_path: Path) -> None:
    path = tmp_path / "mm.trace"
    assert vta("run", EXAMPLES / "matrix_multiply.py", "--target", "sim", "--record", path).exit_code == 0
    result = vta("trace", path)
    assert "; C_buf (matrix_multiply.py:" in result.stdout
    assert vta("trace", path, "--classic").stdout.startswith("There are 56 instructions\nINSTRUCTION 0: LOAD UOP\n")


def test_the_perfetto_file_is_json(traced: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    result = vta("trace", traced, "--perfetto", output)
    events = json.loads(output.read_text())["traceEvents"]
    assert result.stdout == f"{output}: {len(events)} events; open it at https://ui.perfetto.dev\n"


def test_a_cut_trace_is_shown_and_said_to_be_cut(traced: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(traced.read_bytes()[:-5])
    result = vta("trace", cut)
    assert result.exit_code == 0
    assert result.stderr == f"{cut}: the recording was cut off; this is what it had until then\n"
    assert len(result.stdout.splitlines()) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--launch", "7"], "there is no launch 7; the trace has 1"),
        (["--module", "gemm"], "--module gemm: the modules are load, compute, store"),
        (["--perfetto", "a", "--html", "b"], "--perfetto and --html: one at a time, since a trace is read once"),
        (
            ["--module", "load", "--html", "a"],
            "--module, --calls and --classic are for the listing; --perfetto and --html show all that there is",
        ),
        (
            ["--classic", "--perfetto", "a"],
            "--module, --calls and --classic are for the listing; --perfetto and --html show all that there is",
        ),
        (
            ["--module", "load", "--classic"],
            "--classic shows all modules, as upstream's dump does; leave --module and --calls out",
        ),
    ],
)
def test_what_is_not_in_the_trace_is_an_error(traced: Path, arguments: list[str], message: str) -> None:
    result = vta("trace", traced, *arguments)
    assert result.exit_code == 1
    assert result.stderr.endswith(f"{message}\n")


def test_a_file_that_is_no_trace_is_an_error() -> None:
    result = vta("trace", EXAMPLES / "add_three.vta")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "this is no trace" in result.stderr


@pytest.mark.parametrize("view", ["--html", "--perfetto"])
def test_a_view_is_written_whole_and_never_over_the_trace(traced: Path, tmp_path: Path, view: str) -> None:
    output, before = tmp_path / "out", traced.read_bytes()
    output.write_text("old")
    assert vta("trace", traced, "--launch", "7", view, output).exit_code == 1
    assert output.read_text() == "old"
    assert vta("trace", traced, view, traced).stderr == (
        f"error: {view} {traced}: this is the file that is read too; name another file\n"
    )
    assert traced.read_bytes() == before
    assert vta("trace", traced, view, tmp_path).stderr == (f"error: {tmp_path}: this is a folder; name a file in it\n")
    assert vta("trace", traced, view, "/dev/full").stderr == "error: /dev/full: No space left on device\n"


def test_a_trace_without_launches_says_so(tmp_path: Path) -> None:
    script, path = tmp_path / "none.py", tmp_path / "t"
    script.write_text("")
    assert vta("run", script, "--record", path).exit_code == 0
    result = vta("trace", path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{path}: the trace has no launches\n"
    assert vta("explain", path).stderr == f"error: {path}: the trace has no launches\n"
    page = tmp_path / "page.html"
    assert vta("trace", path, "--html", page).exit_code == 0
    assert '"launches":[]' in page.read_text()


def test_a_file_of_another_kind_is_told_from_a_damaged_one(traced: Path, tmp_path: Path) -> None:
    capsule = tmp_path / "c"
    assert vta("run", EXAMPLES / "add_three.vta", "--capsule", capsule).exit_code == 0
    for command in ("trace", "explain"):
        assert vta(command, capsule).stderr == (
            f"error: {capsule}: this is a capsule; `vta run {capsule} --record OUT` records its replay as a trace\n"
        )
    for command in ("run", "check", "debug"):
        assert vta(command, traced).stderr == (
            f"error: {traced}: this is a trace, not a program; `vta trace {traced}` shows it\n"
        )
