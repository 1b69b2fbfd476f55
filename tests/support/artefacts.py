"""What the toolchain makes, as digests: a line for each, for the test that they are the same everywhere.

python -m tests.support.artefacts
"""

import contextlib
import hashlib
import io
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "matrix_multiply.py"


def _streams() -> bytes:
    """Instruction words and micro-ops of a tutorial's launches."""
    from isa.config import VTAConfig
    from vta.cli.script import run_script

    found: list[bytes] = []

    def listen(launch: object, _: object) -> None:
        found.append(repr([str(each) for each in launch.instructions]).encode())  # type: ignore[attr-defined]  # a Launch

    with contextlib.redirect_stdout(io.StringIO()):
        run_script(EXAMPLE, VTAConfig(), on_launch=listen)
    assert found
    return b"\n".join(found)


def _command(*words: str) -> Callable[[], bytes]:
    """Return what makes the bytes of the file OUT with a ``vta`` command."""

    def make() -> bytes:
        from vta.cli.app import main

        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "out" + words[-1])
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main([str(out) if word == "OUT" else word for word in words[:-1]])
            return out.read_bytes()

    return make


def _module() -> bytes:
    """An object file."""
    import vta
    from bench.threads import add_seven

    with tempfile.TemporaryDirectory() as folder, vta.get_env():
        path = Path(folder, "m.o")
        add_seven().save(path)
        return path.read_bytes()


def _ir() -> bytes:
    """The printed program and its LLVM assembly."""
    from bench.threads import add_seven

    return add_seven().get_source("ll").encode()


def _network() -> bytes:
    """A compiled network."""
    from runtime.executor.container import network_to_bytes
    from tests.support.runtime.small_networks import small_network

    return network_to_bytes(small_network().network)


MAKERS: Mapping[str, Callable[[], bytes]] = {
    "streams": _streams,
    "disassembly": _command("disasm", str(EXAMPLE), "-o", "OUT", ".vta"),
    "verilog": _command("verilog", "--config", "tiny", "-o", "OUT", ".v"),
    "trace on sim": _command("run", str(EXAMPLE), "--record", "OUT", ".trace"),
    "trace on tsim": _command("run", str(EXAMPLE), "--target", "tsim", "--record", "OUT", ".trace"),
    "capsule": _command("run", str(ROOT / "examples" / "add_three.vta"), "--capsule", "OUT", ".capsule"),
    "program": _command("asm", str(ROOT / "examples" / "add_three.vta"), "-o", "OUT", ".vtab"),
    "object": _module,
    "llvm": _ir,
    "network": _network,
}


def main() -> None:
    """Print the digests of what the arguments name, of everything without any."""
    for name in sys.argv[1:] or MAKERS:
        print(f"{name}: {hashlib.sha256(MAKERS[name]()).hexdigest()}", flush=True)


if __name__ == "__main__":
    main()
