"""``python -m vta.compat SCRIPT.py [ARGUMENTS]``: run a script that imports ``tvm``.

Tests: tests/vta/compat/test_scripts.py.
"""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from vta.compat.answer import install
from vta.compat.tvm_names import tvm_names
from vta.own_packages import import_own_packages
from vta.script_errors import describe, hidden_file_note
from vta.uncaught import traceback_wanted

__all__ = ["main", "run_script"]

_USAGE = "usage: python -m vta.compat SCRIPT.py [ARGUMENTS]\n"


def run_script(path: Path, arguments: Sequence[str]) -> None:
    """Run the script as the main program, with its folder on the path and ``tvm`` answered by this toolchain."""
    finder = install("tvm", tvm_names())
    argv, search = sys.argv, sys.path[:]
    import_own_packages()
    try:
        sys.argv = [str(path), *arguments]
        sys.path.insert(0, str(path.resolve().parent))
        runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, search
        sys.meta_path.remove(finder)
        for name in [n for n in sys.modules if n == "tvm" or n.startswith("tvm.")]:
            del sys.modules[name]


def main(arguments: Sequence[str]) -> int:
    """Run the script that the command line names; return the exit status, 1 for a script that ends in an error."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stderr.write(_USAGE)
        return 0 if arguments else 2
    path = Path(arguments[0])
    if not path.is_file():
        sys.stderr.write(f"vta.compat: {path} is not a file\n{_USAGE}")
        return 2
    try:
        run_script(path, arguments[1:])
    except Exception as error:
        if traceback_wanted():
            raise
        sys.stderr.write(describe(error, path))
        sys.stderr.write(hidden_file_note(error, path))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
