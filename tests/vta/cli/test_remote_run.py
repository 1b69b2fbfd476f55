"""``vta run --remote``: what runs here runs there, with the same output."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runtime.executor.container import save_network
from tests.support.remote.servers import KEY, Running, running_server
from tests.support.runtime.small_networks import small_network
from vta.cli.app import app

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(KEY.hex())
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("VTA_RPC_KEY_FILE", str(tmp_path / "key"))


def vta(*words: object) -> tuple[int, str]:
    """Return exit status and output of a command."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


def launches(server: Running) -> float:
    return server.server.metrics.value("calls")


@pytest.mark.parametrize("file", ["examples/add_three.vta", "examples/vector_add.py", "examples/matrix_multiply.py"])
def test_what_runs_here_runs_there(server: Running, file: str) -> None:
    here = vta("run", ROOT / file)
    before = launches(server)
    there = vta("run", ROOT / file, "--remote", f"127.0.0.1:{server.port}")
    assert there == here
    assert here[0] == 0
    assert launches(server) > before


def test_a_network_runs_there(server: Running, tmp_path: Path) -> None:
    save_network(small_network().network, tmp_path / "n.vtam")
    here = vta("run", tmp_path / "n.vtam", "--save", tmp_path / "here.npz")
    there = vta("run", tmp_path / "n.vtam", "--remote", f"127.0.0.1:{server.port}", "--save", tmp_path / "there.npz")
    assert here[0] == there[0] == 0
    assert there[1] == here[1]
    import numpy as np

    with np.load(tmp_path / "here.npz") as mine, np.load(tmp_path / "there.npz") as theirs:
        assert mine.files == theirs.files
        for name in mine.files:
            np.testing.assert_array_equal(mine[name], theirs[name])


def test_data_are_not_for_programs_there_either(server: Running, tmp_path: Path) -> None:
    given = ("--data", tmp_path, "--remote", f"127.0.0.1:{server.port}")
    status, text = vta("run", ROOT / "examples/add_three.vta", *given)
    assert status == 2
    assert "--data" in text


def test_a_script_with_another_environment_is_refused(server: Running, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import vta\nvta.rpc.LocalSession(vta.Environment('b1k8'))\n")
    status, text = vta("run", script, "--remote", f"127.0.0.1:{server.port}")
    assert status == 1
    assert "the session of --remote has" in text


@pytest.mark.parametrize("option", [("--stats",), ("--record", "r.trace"), ("--sanitize",), ("--latency", "3")])
def test_options_that_look_into_a_device_are_refused(server: Running, option: tuple[str, ...], tmp_path: Path) -> None:
    words = [str(tmp_path / word) if word.endswith(".trace") else word for word in option]
    status, text = vta("run", ROOT / "examples/add_three.vta", "--remote", f"127.0.0.1:{server.port}", *words)
    assert status == 2
    assert "looks into a device of this process" in " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("remote", ["127.0.0.1", ":1", "a:b", "a:99999"])
def test_what_is_no_address_is_refused(remote: str) -> None:
    status, text = vta("run", ROOT / "examples/add_three.vta", "--remote", remote)
    assert status == 2
    assert "--remote takes HOST:PORT" in text


def test_a_server_that_is_not_there_is_one_sentence() -> None:
    status, text = vta("run", ROOT / "examples/add_three.vta", "--remote", "127.0.0.1:1")
    assert (status, text) == (1, "error: 127.0.0.1:1: no server can be reached: Connection refused\n")
