"""``python -m vta.compat [OPTIONS] SCRIPT.py [ARGUMENTS]``: run a script that imports ``tvm``.

It is ``vta run`` with all its options, but what follows the script belongs to the script.
Tests: tests/vta/compat/test_scripts.py.
"""

from vta.cli.app import run_scripts

if __name__ == "__main__":
    run_scripts("python -m vta.compat")
