"""Who reads whom."""

from vta import te
from vta.te.read_graph import CreateReadGraph, PostDFSOrder


def test_operations_come_after_what_they_read() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, "B")
    c = te.compute((8,), lambda i: b[i] + a[i], "C")
    graph = CreateReadGraph([c.op])
    assert graph == {a.op: [], b.op: [a], c.op: [b, a]}
    assert PostDFSOrder([c.op], graph) == [a.op, b.op, c.op]
