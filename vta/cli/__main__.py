"""``python -m vta.cli`` is the ``vta`` command, where the console script is not on the PATH."""

from vta.cli import main

main()
