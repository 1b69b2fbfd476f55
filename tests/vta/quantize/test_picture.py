"""The report as JSON and as a picture."""

import json
import math
import xml.etree.ElementTree as ElementTree

from vta.quantize.picture import svg
from vta.quantize.report import LayerReport, Report
from vta.quantize.score import Score


def report(name: str = "conv") -> Report:
    row = LayerReport(name, "y", ("a", "b"), "mse", -1.0, 1.0, 0.01, 0, 40.0, 0.001, None, 1.0)
    exact = LayerReport("exact", "x", (), "kl", -1.0, 1.0, 0.01, 0, math.inf, 0.0, 30.0, 0.0)
    return Report((row, exact), ("kept",), ("bias correction",), Score(0.99, 30.0), 8)


def test_json_has_everything_and_null_for_what_is_infinite() -> None:
    found = json.loads(report().to_json())
    assert found["layers"][0]["nodes"] == ["a", "b"]
    assert found["layers"][1]["sqnr_db"] is None
    assert found["score"] == {"cosine": 0.99, "sqnr_db": 30.0}


def test_the_picture_is_well_formed_whatever_layers_are_called() -> None:
    text = svg(report("<script>&\x1b" + "n" * 60))
    root = ElementTree.fromstring(text)
    texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<script>&\\x1bnnnn…nnnnnnnnnnnnnnnnn" in texts
    assert "100.0 %" in texts
