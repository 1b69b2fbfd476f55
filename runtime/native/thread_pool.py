"""Threads for ``parallel`` loops of compiled code: one pool a process, made when the first such loop runs.

Compiled code calls ``int32 __vta_parallel_for(body, captured, int64 begin, int64 extent)``, which calls
``int32 body(captured, int64 from, int64 to)`` for parts that make up ``[begin, begin + extent)``, in any order and on
any thread, and returns when all of them have: 0, or the code of the first part (by place, not by time) that returned
another one. Parts after a failure may be left out. The calling thread works too. A loop that is met while another one
runs, inside of it or on another thread, runs on the thread that meets it: so there are never more threads than asked.

How many: ``VTA_NUM_THREADS``, else ``TVM_NUM_THREADS``, else the processors that this process may use; 1 means that no
thread is made. ``set_threads`` says it from Python. A forked child makes threads of its own when it first needs them;
at the process's end they are stopped and joined. The threads never enter Python, and Python does not know of them.

The pool is native code, since a thread that had to take Python's lock to learn of work would take longer than most
loops. Its threads and locks are the C library's (pthreads).
Tests: tests/runtime/native/test_thread_pool.py.
"""

import atexit
import ctypes
import functools
import os
import threading
from collections.abc import Mapping
from typing import Any

from runtime.native.compiling import Passes, compile_object
from runtime.native.linking import link
from runtime.native.target import CodeTarget, NativeError

__all__ = [
    "MOST_THREADS", "PARALLEL_FOR_SYMBOL", "THREAD_VARIABLES", "asked_threads", "num_threads", "set_threads", "symbols",
]  # fmt: skip

PARALLEL_FOR_SYMBOL = "__vta_parallel_for"
"""What compiled code calls."""

THREAD_VARIABLES = ("VTA_NUM_THREADS", "TVM_NUM_THREADS")
"""Environment variables that say how many threads work, the caller's included; the first one that is set counts."""

MOST_THREADS = 256

_PARTS = 4
"""Parts of a loop for each thread: one that is held up leaves its share to the others."""

_SOURCE = f"""
@mutex = internal global [16 x i64] zeroinitializer, align 64
@work = internal global [16 x i64] zeroinitializer, align 64
@done = internal global [16 x i64] zeroinitializer, align 64
@threads = internal global [{MOST_THREADS} x i64] zeroinitializer
@wanted = internal global i32 1      ; threads that work, the caller's included
@workers = internal global i32 0     ; threads that there are, without the caller's
@busy = internal global i32 0        ; whether some thread owns the pool
@stop = internal global i1 false
@open = internal global i1 false     ; whether there is a loop that others may join
@loops = internal global i64 0       ; counted, so that no thread joins one twice
@active = internal global i32 0      ; threads in the loop, without the caller's
@body = internal global ptr null
@captured = internal global ptr null
@begin = internal global i64 0
@extent = internal global i64 0
@parts = internal global i64 0
@next = internal global i64 0
@failed = internal global i64 0      ; the first part that failed, and its code
@code = internal global i32 0

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @fresh(i32 %wanted) {{
  call void @llvm.memset.p0.i64(ptr @mutex, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr @work, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr @done, i8 0, i64 128, i1 false)
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @work, ptr null)
  call i32 @pthread_cond_init(ptr @done, ptr null)
  store i32 %wanted, ptr @wanted
  store i32 0, ptr @workers
  store i1 false, ptr @stop
  store i1 false, ptr @open
  store i32 0, ptr @active
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret void
}}

define internal void @walk() {{
entry:
  %body = load ptr, ptr @body
  %captured = load ptr, ptr @captured
  %begin = load i64, ptr @begin
  %extent = load i64, ptr @extent
  %parts = load i64, ptr @parts
  br label %take
take:
  %part = atomicrmw add ptr @next, i64 1 seq_cst
  %some = icmp slt i64 %part, %parts
  br i1 %some, label %run, label %leave
run:
  %after = add i64 %part, 1
  %a = mul i64 %extent, %part
  %b = mul i64 %extent, %after
  %c = udiv i64 %a, %parts
  %d = udiv i64 %b, %parts
  %from = add i64 %begin, %c
  %to = add i64 %begin, %d
  %result = call i32 %body(ptr %captured, i64 %from, i64 %to)
  %good = icmp eq i32 %result, 0
  br i1 %good, label %take, label %bad
bad:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %known = load i64, ptr @failed
  %first = icmp slt i64 %part, %known
  %failed = select i1 %first, i64 %part, i64 %known
  %old = load i32, ptr @code
  %code = select i1 %first, i32 %result, i32 %old
  store i64 %failed, ptr @failed
  store i32 %code, ptr @code
  call i32 @pthread_mutex_unlock(ptr @mutex)
  store atomic i64 %parts, ptr @next seq_cst, align 8
  br label %take
leave:
  ret void
}}

define internal ptr @worker(ptr %unused) {{
entry:
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look
look:
  %seen = phi i64 [ 0, %entry ], [ %seen, %sleep ], [ %loop, %left ]
  %stop = load i1, ptr @stop
  br i1 %stop, label %leave, label %check
check:
  %open = load i1, ptr @open
  %loop = load i64, ptr @loops
  %new = icmp ne i64 %loop, %seen
  %join = and i1 %open, %new
  br i1 %join, label %help, label %sleep
sleep:
  call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  br label %look
help:
  %before = load i32, ptr @active
  %with = add i32 %before, 1
  store i32 %with, ptr @active
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @walk()
  call i32 @pthread_mutex_lock(ptr @mutex)
  %now = load i32, ptr @active
  %without = sub i32 %now, 1
  store i32 %without, ptr @active
  %last = icmp eq i32 %without, 0
  br i1 %last, label %tell, label %left
tell:
  call i32 @pthread_cond_signal(ptr @done)
  br label %left
left:
  br label %look
leave:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret ptr null
}}

define internal void @hire() {{
entry:
  %wanted = load i32, ptr @wanted
  br label %look
look:
  %there = load i32, ptr @workers
  %all = add i32 %there, 1
  %enough = icmp sge i32 %all, %wanted
  br i1 %enough, label %leave, label %create
create:
  %slot = getelementptr i64, ptr @threads, i32 %there
  %status = call i32 @pthread_create(ptr %slot, ptr null, ptr @worker, ptr null)
  %made = icmp eq i32 %status, 0
  br i1 %made, label %more, label %fewer
more:
  store i32 %all, ptr @workers
  br label %look
fewer:                               ; the system gives no more threads: go on with those that there are
  store i32 %all, ptr @wanted
  br label %leave
leave:
  ret void
}}

define i32 @{PARALLEL_FOR_SYMBOL}(ptr %body, ptr %captured, i64 %begin, i64 %extent) {{
entry:
  %wanted = load i32, ptr @wanted
  %several = icmp sgt i32 %wanted, 1
  %worth = icmp sgt i64 %extent, 1
  %try = and i1 %several, %worth
  br i1 %try, label %own, label %alone
own:
  %owned = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %owned, 1
  br i1 %mine, label %share, label %alone
alone:
  %end = add i64 %begin, %extent
  %only = call i32 %body(ptr %captured, i64 %begin, i64 %end)
  ret i32 %only
share:
  call void @hire()
  %there = load i32, ptr @workers
  %all = add i32 %there, 1
  %wide = zext i32 %all to i64
  %most = mul i64 %wide, {_PARTS}
  %few = icmp slt i64 %extent, %most
  %parts = select i1 %few, i64 %extent, i64 %most
  call i32 @pthread_mutex_lock(ptr @mutex)
  store ptr %body, ptr @body
  store ptr %captured, ptr @captured
  store i64 %begin, ptr @begin
  store i64 %extent, ptr @extent
  store i64 %parts, ptr @parts
  store atomic i64 0, ptr @next seq_cst, align 8
  store i64 %parts, ptr @failed
  store i32 0, ptr @code
  %old = load i64, ptr @loops
  %loop = add i64 %old, 1
  store i64 %loop, ptr @loops
  store i1 true, ptr @open
  call i32 @pthread_cond_broadcast(ptr @work)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @walk()
  call i32 @pthread_mutex_lock(ptr @mutex)
  store i1 false, ptr @open
  br label %look
look:
  %active = load i32, ptr @active
  %alone.again = icmp eq i32 %active, 0
  br i1 %alone.again, label %leave, label %sleep
sleep:
  call i32 @pthread_cond_wait(ptr @done, ptr @mutex)
  br label %look
leave:
  %code = load i32, ptr @code
  call i32 @pthread_mutex_unlock(ptr @mutex)
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret i32 %code
}}

define i32 @resize(i32 %wanted) {{   ; 0, or 1 where a loop is running
entry:
  %owned = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %owned, 1
  br i1 %mine, label %close, label %refuse
refuse:
  ret i32 1
close:
  call i32 @pthread_mutex_lock(ptr @mutex)
  store i1 true, ptr @stop
  call i32 @pthread_cond_broadcast(ptr @work)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %look
look:
  %there = load i32, ptr @workers
  %none = icmp eq i32 %there, 0
  br i1 %none, label %leave, label %join
join:
  %fewer = sub i32 %there, 1
  %slot = getelementptr i64, ptr @threads, i32 %fewer
  %thread = load i64, ptr %slot
  call i32 @pthread_join(i64 %thread, ptr null)
  store i32 %fewer, ptr @workers
  br label %look
leave:
  store i1 false, ptr @stop
  store i32 %wanted, ptr @wanted
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret i32 0
}}

define i32 @threads_there() {{
  %there = load i32, ptr @workers
  ret i32 %there
}}
"""
"""The pool: pthread_mutex_t and pthread_cond_t take 40 to 64 bytes where this runs, and have 128."""


class _Pool:
    """The pool of this process; its code stays for as long as the process lives."""

    def __init__(self, threads: int) -> None:
        code = compile_object(_SOURCE, CodeTarget(cpu="generic"), Passes.TIDY)
        exports = [PARALLEL_FOR_SYMBOL, "fresh", "resize", "threads_there"]
        self._linked = link(code, {}, exports, where="the pool of threads")
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._linked))  # a thread may be in it when Python ends
        self.symbols = {PARALLEL_FOR_SYMBOL: self._linked.address[PARALLEL_FOR_SYMBOL]}
        self.threads = threads
        self._fresh = self._function("fresh", None, ctypes.c_int32)
        self._resize = self._function("resize", ctypes.c_int32, ctypes.c_int32)
        self.workers = self._function("threads_there", ctypes.c_int32)
        self.forget_threads()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget_threads)
        atexit.register(self._resize, 1)

    def _function(self, name: str, result: Any, *parameters: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *parameters)(self._linked.address[name])

    def forget_threads(self) -> None:
        """Begin without threads: at first, and in a forked child, which has none of its parent's."""
        self._fresh(self.threads)

    def resize(self, threads: int) -> None:
        """Work with so many threads from now on."""
        if self._resize(threads):
            raise NativeError("set_threads: a parallel loop is running on another thread; wait until it has ended")
        self.threads = threads


_MAKING = threading.Lock()


def _pool() -> _Pool:
    with _MAKING:
        return _made()


@functools.cache
def _made() -> _Pool:
    return _Pool(asked_threads())


def symbols(data: bytes) -> Mapping[str, int]:
    """Return the address of what object code ``data`` calls of the pool, for the linker; nothing if it calls nothing.

    Raises ``NativeError`` for a number of threads in the environment that is none.
    """
    return _pool().symbols if PARALLEL_FOR_SYMBOL.encode() in data else {}


def num_threads() -> int:
    """Return how many threads parallel loops work with, the caller's included."""
    return _pool().threads


def set_threads(count: int) -> None:
    """Let parallel loops work with ``count`` threads, the caller's included, from now on."""
    _pool().resize(_checked(count, "set_threads"))


def asked_threads() -> int:
    """Return how many threads the environment asks for; raises ``NativeError`` for what is no such number."""
    for name in THREAD_VARIABLES:
        text = os.environ.get(name, "").strip()
        if text:
            return _checked(int(text) if text.isascii() and text.isdigit() else text, name)
    return min(_processors(), MOST_THREADS)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(count: object, where: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_THREADS:
        raise NativeError(f"{where}: expected a number of threads from 1 to {MOST_THREADS}, got {count!r}")
    return count
