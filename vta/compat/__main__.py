"""``python -m vta.compat [OPTIONS] SCRIPT.py [ARGUMENTS]``: run a script that imports ``tvm``.

It is ``vta run`` with all its options, but what follows the script belongs to the script.
Tests: tests/vta/compat/test_scripts.py.
"""

from vta.cli import run_script_command

if __name__ == "__main__":
    run_script_command("python -m vta.compat")
