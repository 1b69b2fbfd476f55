"""``vta operators``: the list is that of the tables which decide."""

from typer.testing import CliRunner

from runtime.executor.operators.table import OPERATORS
from vta import topi
from vta.cli.app import app
from vta.cli.commands.operators import GROUPS, supported
from vta.passes.alu.kinds import AluKind
from vta.relay.backend.heads import ALONE, LAYERS
from vta.relay.onnx.convert.table import CONVERTERS


def test_everything_that_there_is_is_listed_once() -> None:
    found = list(supported())
    by_group = {group: [each.name for each in found if each.group == group] for group in GROUPS}
    assert {kind.symbol for kind in AluKind} < set(by_group["te"])
    assert set(by_group["topi"]) == set(topi.__all__) - {"nn"}
    assert by_group["network"] == sorted(map(str, OPERATORS))
    assert by_group["onnx"] == sorted(CONVERTERS)
    assert {each.name for each in found if each.group == "network" and each.place == "accelerator"} == set(
        map(str, {*LAYERS, *ALONE})
    )
    assert all(each.what for each in found)
    assert all(len(names) == len(set(names)) for names in by_group.values())


def test_a_group_is_listed_alone_and_another_is_refused() -> None:
    result = CliRunner().invoke(app, ["operators", "topi"])
    assert result.exit_code == 0
    assert "Conv2dTranspose" in result.stdout
    assert "env.gemm" not in result.stdout
    result = CliRunner().invoke(app, ["operators", "tofu"])
    assert (result.exit_code, result.stderr) == (
        1, "error: tofu: no such group; there are te, topi, network, onnx\n",
    )  # fmt: skip
