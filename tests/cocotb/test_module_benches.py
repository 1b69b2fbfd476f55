# amaranth: UnusedElaboratable=no
"""Each block on its own, as generated Verilog under Icarus."""

from pathlib import Path

import pytest

from hw.token_queue import TokenQueue
from tests.support.cocotb_run import build, run


@pytest.mark.parametrize("drive_on", ["falling", "rising"])
def test_token_queue(tmp_path: Path, drive_on: str) -> None:
    built = build(TokenQueue(), top="token_queue", folder=tmp_path)
    run(built, "tests.cocotb.bench_token_queue", drive_on=drive_on)
