"""Lines, names and what is known of values."""

from vta.codegen.c.block import Writer


def test_equal_values_are_one_variable_until_a_statement_ends() -> None:
    writer = Writer()
    first = writer.value("int32_t", "A[0]")
    assert writer.value("int32_t", "A[0]") == first
    writer.forget()
    assert writer.value("int32_t", "A[0]") != first
    assert writer.lines == ["    const int32_t t1 = A[0];", "    const int32_t t2 = A[0];"]


def test_what_is_computed_in_a_block_is_not_known_behind_it() -> None:
    writer = Writer()
    outer = writer.value("int32_t", "A[0]")
    with writer.block("if (x) {"):
        assert writer.value("int32_t", "A[0]") == outer
        inner = writer.value("int32_t", "B[0]")
    assert writer.value("int32_t", "B[0]") != inner
    with writer.block("for (;;) {", of_statements=True):
        assert writer.value("int32_t", "A[0]") != outer
    assert writer.lines[1:4] == ["    if (x) {", "        const int32_t t2 = B[0];", "    }"]


def test_names_are_unlike_each_other_keywords_and_values() -> None:
    writer = Writer()
    names = [writer.named_like(text) for text in ("a.b", "a_b", "for", "t1", "1x", "")]
    assert names == ["a_b", "a_b_1", "v_for", "v_t1", "v_1x", "v__"]


def test_what_nothing_reads_is_said_to_be_unused() -> None:
    writer = Writer()
    with writer.defined("const int x = 1;", "x"):
        writer.line("y = xx;")
    with writer.defined("const int z = 1;", "z"):
        writer.line("y = z;")
    assert writer.lines == [
        "    const int x = 1;", "    (void)x;", "    y = xx;", "    const int z = 1;", "    y = z;"
    ]  # fmt: skip
