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
PROGRAM = ROOT / "examples" / "add_three.vta"


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


def _said(*words: str) -> bytes:
    """Run a ``vta`` command in this process; return what it prints."""
    from vta.cli.app import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main(list(words))
    return said.getvalue().encode()


def _command(*words: str) -> Callable[[], bytes]:
    """Return what makes the bytes of the file OUT with a ``vta`` command."""

    def make() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "out" + words[-1])
            _said(*(str(out) if word == "OUT" else word for word in words[:-1]))
            return out.read_bytes()

    return make


def _printed(*words: str) -> Callable[[], bytes]:
    """Return what makes the bytes that a ``vta`` command prints."""

    return lambda: _said(*words)


def _shown(option: str) -> Callable[[], bytes]:
    """Return what makes a page or a timeline of a run on ``tsim``."""

    def make() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            recorded, out = str(Path(folder, "a.trace")), Path(folder, "out")
            _said("run", str(PROGRAM), "--target", "tsim", "--record", recorded)
            _said("trace", recorded, option, str(out))
            return out.read_bytes()

    return make


def _quantised(*options: str) -> Callable[[], bytes]:
    """Return what makes a quantised model, or what ``vta quantize`` reports of it."""

    def make() -> bytes:
        import numpy as np
        import onnx

        from tests.support.relay.float_models import small_network

        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # its path must not be in what is made
            onnx.save(small_network(), "m.onnx")
            np.save("d.npy", np.random.default_rng(1).standard_normal((8, 3, 8, 8)).astype(np.float32))
            _said("quantize", "m.onnx", "--data", "d.npy", "-o", "q.onnx", *options)
            if options:
                return Path(options[-1]).read_bytes()
            _said("compile", "q.onnx", "--shape", "n=1", "-o", "q.vtam")
            return Path("q.onnx").read_bytes() + Path("q.vtam").read_bytes()

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
    "capsule": _command("run", str(PROGRAM), "--capsule", "OUT", ".capsule"),
    "program": _command("asm", str(PROGRAM), "-o", "OUT", ".vtab"),
    "object": _module,
    "llvm": _ir,
    "network": _network,
    "quantised model, compiled": _quantised(),
    "report of quantisation": _quantised("--report", "r.json"),
    "JSON of a run": _printed("run", str(PROGRAM), "--json"),
    "JSON of a check": _printed("check", str(EXAMPLE), "--json"),
    "page of a trace": _shown("--html"),
    "timeline for Perfetto": _shown("--perfetto"),
}


def main() -> None:
    """Print the digests of what the arguments name, of everything without any."""
    for name in sys.argv[1:] or MAKERS:
        print(f"{name}: {hashlib.sha256(MAKERS[name]()).hexdigest()}", flush=True)


if __name__ == "__main__":
    main()
