"""Written for TVM 0.9: the matrix multiply on the CPU, step by step, each checked against numpy."""

import numpy as np
import tvm
import tvm.testing
from tvm import te

M = K = N = 64
bn, kfactor = 16, 4
dtype, target = "float32", "llvm"
dev = tvm.device(target, 0)

a = tvm.nd.array(np.random.rand(M, K).astype(dtype), dev)
b = tvm.nd.array(np.random.rand(K, N).astype(dtype), dev)
answer = np.dot(a.numpy(), b.numpy())


def check(s, args, what):
    func = tvm.build(s, args, target=target, name="mmult")
    assert func
    c = tvm.nd.array(np.zeros((M, N), dtype=dtype), dev)
    func(a, b, c)
    tvm.testing.assert_allclose(c.numpy(), answer, rtol=1e-5)
    evaluator = func.time_evaluator(func.entry_name, dev, number=1)
    assert evaluator(a, b, c).mean > 0
    print(what)


def operands():
    return te.reduce_axis((0, K), "k"), te.placeholder((M, K), name="A"), te.placeholder((K, N), name="B")


def tiled(s, C):
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    (kaxis,) = s[C].op.reduce_axis
    ko, ki = s[C].split(kaxis, factor=kfactor)
    return mo, no, mi, ni, ko, ki


k, A, B = operands()
C = te.compute((M, N), lambda m, n: te.sum(A[m, k] * B[k, n], axis=k), name="C")
check(te.create_schedule(C.op), [A, B, C], "baseline")

s = te.create_schedule(C.op)
mo, no, mi, ni, ko, ki = tiled(s, C)
s[C].reorder(mo, no, ko, ki, mi, ni)
check(s, [A, B, C], "blocking")
s[C].vectorize(ni)
check(s, [A, B, C], "vectorization")

s = te.create_schedule(C.op)
mo, no, mi, ni, ko, ki = tiled(s, C)
s[C].reorder(mo, no, ko, mi, ki, ni)
s[C].vectorize(ni)
check(s, [A, B, C], "loop permutation")

packedB = te.compute((N // bn, K, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN], name="packedB")
C = te.compute((M, N), lambda m, n: te.sum(A[m, k] * packedB[n // bn, k, tvm.tir.indexmod(n, bn)], axis=k), name="C")
s = te.create_schedule(C.op)
mo, no, mi, ni, ko, ki = tiled(s, C)
s[C].reorder(mo, no, ko, mi, ki, ni)
s[C].vectorize(ni)
bigN, _, littleN = s[packedB].op.axis
s[packedB].vectorize(littleN)
s[packedB].parallel(bigN)
check(s, [A, B, C], "array packing")

s = te.create_schedule(C.op)
CC = s.cache_write(C, "global")
mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
s[CC].compute_at(s[C], no)
mc, nc = s[CC].op.axis
(kaxis,) = s[CC].op.reduce_axis
ko, ki = s[CC].split(kaxis, factor=kfactor)
s[CC].reorder(ko, mc, ki, nc)
s[CC].vectorize(nc)
s[CC].unroll(ki)
s[CC].unroll(mc)
bigN, _, littleN = s[packedB].op.axis
s[packedB].vectorize(littleN)
s[packedB].parallel(bigN)
check(s, [A, B, C], "block caching")
s[C].parallel(mo)
check(s, [A, B, C], "parallelization")
print(tvm.lower(s, [A, B, C], simple_mode=True))
print("Successful CPU matrix multiply!")
