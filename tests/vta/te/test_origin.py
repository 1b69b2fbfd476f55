import sys

from isa.origin import Origin
from tests.support.compiler.te_run import lowered, statements
from vta import te, topi
from vta.te.source import user_line
from vta.tir.stmt import AttrStmt, BufferRealize, BufferStore, For


def this_line() -> int:
    return sys._getframe(1).f_lineno


def test_the_line_is_that_of_the_caller() -> None:
    assert user_line() == f"test_origin.py:{this_line()}"


def test_every_statement_of_a_stage_tells_where_the_compute_was() -> None:
    x = te.placeholder((10, 4), "int32", "x")
    y, line = te.compute((10, 4), lambda i, j: x[i, j] + 1, "y"), this_line()
    s = te.create_schedule(y.op)
    s[y].split(y.op.axis[0], 4)
    s[y].pragma(y.op.axis[1], "dma_copy")
    func = lowered(s, [x, y])
    origins = {node.origin for kind in (For, BufferStore, AttrStmt, BufferRealize) for node in statements(func, kind)}
    assert origins == {Origin("y", f"test_origin.py:{line}")}


def test_a_library_operation_belongs_to_its_caller() -> None:
    x = te.placeholder((4, 4), "int32", "x")
    padded, line = topi.nn.pad(x, [1, 1]), this_line()
    assert padded.op.origin is not None
    assert padded.op.origin.source == f"test_origin.py:{line}"


def test_a_cache_keeps_the_line_of_what_it_caches() -> None:
    x = te.placeholder((4,), "int32", "x")
    y, line = te.compute((4,), lambda i: x[i] + 1, "y"), this_line()
    s = te.create_schedule(y.op)
    cache = s.cache_write(y, "local")
    copy, copy_line = s.cache_read(x, "local", cache), this_line()
    assert cache.op.origin == Origin("y.local", f"test_origin.py:{line}")
    assert copy.op.origin == Origin("x.local", f"test_origin.py:{copy_line}")
