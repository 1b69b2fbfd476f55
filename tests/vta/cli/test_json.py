"""``--json``: one object on stdout that fits its schema, for every kind of input, with the exit codes of ever."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from vta.cli.app import app
from vta.cli.as_json import SCHEMAS, VERSION, array_object, fitting

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
ADD = EXAMPLES / "add_three.vta"
MODEL = EXAMPLES / "networks" / "fashion_mnist.int8.onnx"

RACY = """
.data A type=int32 shape=1,16
    zeros
.output C type=int8 shape=1,16
.uop
    dst=0 src=0
.text
    load.acc dram=A x=1
    load.uop dram=uops x=1
    alu.add uop=0:1 imm=3
    store dram=C x=1 push_prev
    finish pop_next
"""


def found(code: int, *words: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    assert (document.pop("schema"), document["command"]) == (VERSION, " ".join(document["command"].split()))
    command = document.pop("command")
    fitting(document, command, command)
    return document


def test_a_program(tmp_path: Path) -> None:
    document = found(0, "run", ADD, "--json")
    assert (document["kind"], document["device"], document["findings"]) == ("program", "sim", [])
    output = document["outputs"]["C"]
    wanted = (np.arange(-512, 512) + 3).astype(np.int8).reshape(64, 16)
    np.testing.assert_array_equal(np.array(output["values"], output["dtype"]), wanted)
    assert document["account"] is None
    document = found(0, "run", ADD, "--json", "--target", "tsim", "--save", tmp_path / "o.npz", "--stats")
    assert document["saved"] == str(tmp_path / "o.npz")
    assert document["outputs"]["C"]["values"] is None
    cycles = document["statistics"]["cycle_count"]
    assert {sum(causes.values()) for causes in document["account"].values()} == {cycles}


def test_a_script_prints_to_stderr(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import vta\nprint('hello')\nvta.get_env().session\n")
    document = found(0, "run", script, "--json", "--target", "reference")
    assert (document["kind"], document["device"], document["outputs"]) == ("script", "reference", {})


def test_a_capsule_and_a_network(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    capsule = tmp_path / "c"
    assert CliRunner().invoke(app, ["run", str(ADD), "--capsule", str(capsule)]).exit_code == 0
    document = found(0, "run", capsule, "--json")
    assert (document["kind"], document["statistics"]) == ("capsule", None)
    assert document["sentence"] == "1 launch on sim: finishes with the same memory"
    document = found(0, "run", MODEL, "--json")
    assert document["kind"] == "network"
    assert any(node["accelerator"] for node in document["nodes"])
    assert document["outputs"]
    document = found(0, "explain", MODEL, "--json")
    assert {node["place"] for node in document["nodes"]} <= {"accelerator", "host"}
    document = found(0, "diff", MODEL, "--engines", "sim", "--json")
    assert [each["what"] for each in document["comparisons"]] == ["sim", "onnxruntime"]


def test_findings_of_check_and_run_are_the_same(tmp_path: Path) -> None:
    racy = tmp_path / "racy.vta"
    racy.write_text(RACY)
    document = found(1, "check", racy, "--json", "--limit", "1")
    [checked] = document["programs"]
    assert document["errors"] == checked["errors"] > 0
    assert {finding["kind"] for finding in checked["findings"]} >= {"race"}
    ran = found(0, "run", racy, "--json")
    assert ran["findings"] == checked["findings"]
    assert found(0, "run", racy, "--json", "--no-check")["findings"] == []


def test_differences_of_programs_traces_and_engines(tmp_path: Path) -> None:
    other = tmp_path / "other.vta"
    other.write_text(ADD.read_text().replace("imm=3", "imm=4"))
    document = found(1, "diff", ADD, other, "--json")
    assert (document["kind"], document["same"]) == ("programs", False)
    assert document["comparisons"][0]["instruction"] == 2
    assert found(0, "diff", ADD, "--engines", "reference,sim", "--json")["kind"] == "engines"
    trace = tmp_path / "t"
    assert CliRunner().invoke(app, ["run", str(ADD), "--target", "tsim", "--record", str(trace)]).exit_code == 0
    assert found(0, "diff", trace, trace, "--json")["kind"] == "traces"
    document = found(0, "explain", trace, "--json")
    [launch] = document["launches"]
    assert sum(launch["path"].values()) == launch["cycles"] == document["cycles"]


def test_configurations_doctor_and_operators(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    document = found(1, "config", "check", ROOT / "config" / "vta_config.json", wrong, "--json")
    assert [entry["legal"] for entry in document["files"]] == [True, False]
    assert document["files"][1]["error"].startswith(f"{wrong}: ")
    assert len(found(0, "config", "list", "--json")["presets"]) > 5
    assert found(0, "doctor", "--json")["fine"]
    assert found(0, "operators", "te", "--json")["operators"]


def test_what_goes_wrong_is_a_sentence_on_stderr_and_no_object(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(tmp_path / "none.vta"), "--json"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")


def test_numbers_that_json_has_not_are_texts() -> None:
    array = np.array([1.5, np.nan, np.inf, -np.inf], np.float32)
    assert array_object(array, saved=False)["values"] == [1.5, "nan", "inf", "-inf"]


@pytest.mark.parametrize(
    ("value", "kind"), [(1, "text"), (True, "number"), (None, "text"), ({}, "finding"), ([1], "[text]"), ([], "{text}")]
)
def test_what_does_not_fit_is_not_printed(value: object, kind: str) -> None:
    with pytest.raises(AssertionError):
        fitting(value, kind, "x")
    fitting(None, f"{kind}?", "x")
    assert SCHEMAS
