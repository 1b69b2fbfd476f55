"""The comparison with golden text files itself."""

from pathlib import Path

import pytest

from tests.support.golden.golden_text import check_golden_text


def test_an_update_writes_the_file_and_then_it_compares(tmp_path: Path) -> None:
    path = tmp_path / "golden" / "text.txt"
    check_golden_text("one\ntwo\n", path, update=True)
    check_golden_text("one\ntwo\n", path, update=False)


def test_a_difference_is_shown_as_a_diff(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(pytest.fail.Exception) as caught:
        check_golden_text("one\nthree\n", path, update=False)
    assert str(caught.value) == "--- text.txt\n+++ now\n@@ -1,2 +1,2 @@\n one\n-two\n+three"


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception) as caught:
        check_golden_text("one\n", tmp_path / "text.txt", update=False)
    assert str(caught.value) == (
        "no golden file text.txt; look at the text and write it with pytest --update-golden:\none\n"
    )
