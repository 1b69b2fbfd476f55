"""Functions of this toolchain, called on the workers of a dask cluster.

dask sends pickles: who reaches its scheduler can run code on the workers, and workers on this computer. So a cluster is
for a network of friends, or for ``tls://`` addresses with the certificates of dask's own settings.

Workers must have this toolchain with the very same files, or cycles of two kinds would be mixed; each says its digest
with every answer. A worker that dies costs time alone: dask asks another one. Tests: tests/vta/front/test_cluster.py.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from isa.errors import VTAError
from vta.sources import toolchain_digest

__all__ = ["Cluster", "ClusterError", "DeadWorkersError", "require_dask"]

_Q = TypeVar("_Q")
_A = TypeVar("_A")

_LOOK_SECONDS = 2.0
"""How often somebody who waits for an answer looks whether there is a worker."""


class ClusterError(VTAError, RuntimeError):
    """A cluster that cannot be reached, has no workers, or workers of another kind."""


class DeadWorkersError(ClusterError):
    """Every worker that was asked for one thing died of it, or beside it."""


@dataclass(frozen=True, slots=True)
class _Stranger:
    """The answer of a worker whose files are others."""

    digest: str


def require_dask() -> None:
    """Raise ``ClusterError`` if dask is not there."""
    _distributed()


class Cluster:
    """The workers of the scheduler at ``address``, such as ``tcp://127.0.0.1:8786``; ``close`` lets it go.

    Raises ``ClusterError`` if the scheduler does not answer, has no worker within ``patience`` seconds, or workers with
    another version of this toolchain.
    """

    def __init__(self, address: str, *, patience: float = 30.0) -> None:
        _distributed()
        self.address, self.patience = address, patience
        self._client: Any = None
        # dask's client is used from one loop of our own: waiting there has an end, whatever becomes of the scheduler.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster", daemon=True)
        self._thread.start()
        try:
            self._here(self._connect())
            self._here(self._check())
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return how many things the workers do at a time, at least 1."""
        return max(1, self._here(self._threads()))

    def ask(self, function: Callable[[_Q], _A], request: _Q) -> _A:
        """Return ``function(request)``, done by a worker; ``function`` is importable by its module and name.

        What it raises is raised here. Many threads may ask at once. Raises ``DeadWorkersError`` if the workers that
        tried died, ``ClusterError`` if there is no worker for ``patience`` seconds, or the scheduler is gone.
        """
        distributed = _distributed()
        try:
            answer = self._here(self._asked(function, request))
        except distributed.scheduler.KilledWorker as error:
            raise DeadWorkersError(f"{self.address}: the workers that were asked died ({_first_line(error)})") from None
        except (distributed.client.FutureCancelledError, distributed.comm.CommClosedError):
            raise ClusterError(f"{self.address}: the scheduler is gone") from None
        if isinstance(answer, _Stranger):
            raise ClusterError(_refusal(self.address, answer.digest))
        done: _A = answer
        return done

    def close(self) -> None:
        """Forget what was asked and not answered, and let the cluster go; its workers stay."""
        if self._loop.is_closed():
            return
        self._here(self._disconnect())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _here(self, waiting: Coroutine[Any, Any, _A]) -> _A:
        """Wait for what is done in the loop's thread."""
        return asyncio.run_coroutine_threadsafe(waiting, self._loop).result()

    async def _connect(self) -> None:
        distributed = _distributed()
        try:
            self._client = distributed.Client(
                self.address, asynchronous=True, set_as_default=False, timeout=min(self.patience, 10.0)
            )
            await self._client
        except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:  # of addresses of all kinds
            raise ClusterError(
                f"{self.address}: no dask scheduler answers there ({_first_line(error)}); start one with `dask "
                "scheduler`, and workers with `dask worker ADDRESS`"
            ) from None

    async def _disconnect(self) -> None:
        if self._client is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._client.close(timeout=_LOOK_SECONDS), 2 * _LOOK_SECONDS)
        mine = asyncio.all_tasks() - {asyncio.current_task()}
        for task in mine:
            task.cancel()
        await asyncio.gather(*mine, return_exceptions=True)

    async def _check(self) -> None:
        begin = time.monotonic()
        while not await self._threads():
            if time.monotonic() - begin > self.patience:
                raise ClusterError(
                    f"{self.address}: the scheduler has no worker after {self.patience:g} s; start some with `dask "
                    f"worker {self.address}`"
                )
            await asyncio.sleep(0.1)
        try:
            said_by = await asyncio.wait_for(self._client.run(_identity, on_error="return"), self.patience)
        except TimeoutError:
            raise ClusterError(f"{self.address}: workers do not answer within {self.patience:g} s") from None
        for worker, said in said_by.items():
            if isinstance(said, ModuleNotFoundError):
                raise ClusterError(f"{worker}: this worker has no vta-toolchain ({said}); install it there")
            if isinstance(said, BaseException):
                raise ClusterError(f"{worker}: this worker cannot be asked: {_first_line(said)}")
            if said != toolchain_digest():
                raise ClusterError(_refusal(worker, said))

    async def _threads(self) -> int:
        """Return how many threads the workers have in all: 0 without any, or if the scheduler does not say."""
        distributed = _distributed()
        if self._client.status != "running":
            return 0
        try:
            counts = await asyncio.wait_for(self._client.nthreads(), _LOOK_SECONDS)
        except (OSError, TimeoutError, distributed.comm.CommClosedError):
            return 0
        return sum(int(count) for count in counts.values())

    async def _asked(self, function: Callable[[Any], Any], request: Any) -> Any:
        future = self._client.submit(_answer, function, request, toolchain_digest(), pure=False)
        answer = asyncio.ensure_future(future.result())
        last_seen = time.monotonic()
        try:
            while True:
                done, _ = await asyncio.wait([answer], timeout=_LOOK_SECONDS)
                if done:
                    return answer.result()
                if await self._threads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > self.patience:
                    raise ClusterError(
                        f"{self.address}: there was no worker for {self.patience:g} s; start some with `dask worker "
                        f"{self.address}` and do this again"
                    )
        finally:
            answer.cancel()
            future.release()


def _distributed() -> Any:  # it has no type hints that mypy sees without it
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            "a cluster needs dask, which is not installed: pip install 'vta-toolchain[cluster]' here and on the workers"
        ) from None
    return distributed


def _identity() -> str:
    return toolchain_digest()


def _answer(function: Callable[[Any], Any], request: Any, digest: str) -> Any:
    """Do what is asked, on a worker whose files are those of who asks."""
    mine = toolchain_digest()
    return function(request) if mine == digest else _Stranger(mine)


def _refusal(where: str, digest: object) -> str:
    return (
        f"{where}: a worker has other files of this toolchain (digest {str(digest)[:12]}, here "
        f"{toolchain_digest()[:12]}); install the same version there, and start the worker again"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
