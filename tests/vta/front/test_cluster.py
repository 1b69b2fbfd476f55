"""Workers of a dask cluster: their answers are ours, a death costs time alone, and whoever is missing is named."""

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import vta.cluster
from isa.errors import VTAError
from tests.support.cluster import local_cluster
from vta.cluster import Cluster, ClusterError, DeadWorkersError


def doubled(number: int) -> int:
    """Return twice the number, after a while that is long enough to be interrupted."""
    time.sleep(0.3)
    return 2 * number


def refused(number: int) -> int:
    raise VTAError(f"{number} is refused")


def late(number: int) -> int:
    raise TimeoutError(f"{number} took too long")


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with local_cluster() as cluster:
        yield cluster


@pytest.fixture
def cluster(running: Any) -> Iterator[Cluster]:
    made = Cluster(running.scheduler_address)
    yield made
    made.close()


def test_answers_and_errors_are_those_of_the_function(cluster: Cluster) -> None:
    assert len(cluster) == 2
    assert cluster.ask(abs, -7) == 7
    with pytest.raises(VTAError, match=r"^3 is refused$"):
        cluster.ask(refused, 3)
    with pytest.raises(TimeoutError, match=r"^4 took too long$"):
        cluster.ask(late, 4)


def test_a_worker_that_is_killed_costs_time_alone(running: Any, cluster: Cluster) -> None:
    with running.get_client() as client:
        victim = next(iter(client.run(os.getpid).values()))
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda number: cluster.ask(doubled, number), range(8))
        time.sleep(0.4)
        os.kill(victim, signal.SIGKILL)
        assert list(answers) == [2 * number for number in range(8)]


def test_what_kills_whoever_is_asked_is_an_error_of_its_own(cluster: Cluster) -> None:
    with pytest.raises(DeadWorkersError, match="the workers that were asked died"):
        cluster.ask(os._exit, 7)
    assert cluster.ask(abs, -1) == 1


def test_workers_with_other_files_are_refused(running: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vta.cluster, "toolchain_digest", lambda: "0123456789abcdef")
    sentence = (
        r": a worker has other files of this toolchain \(digest [0-9a-f]{12}, here 0123456789ab\); install the same"
    )
    with pytest.raises(ClusterError, match=sentence):
        Cluster(running.scheduler_address)
    with pytest.raises(ClusterError, match=sentence):
        cluster.ask(abs, -1)


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "tcp://127.0.0.1:{port}", "nonsense://x", "", "x y"])
def test_a_scheduler_that_is_not_there_is_named(address: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = address.format(port=free.getsockname()[1])
        with pytest.raises(ClusterError, match=f"^{re.escape(place)}: no dask scheduler answers there"):
            Cluster(place, patience=0.5)


def test_a_cluster_without_workers_is_refused_and_one_that_loses_them_does_not_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vta.cluster, "_LOOK_SECONDS", 0.1)
    with local_cluster(1) as running:
        cluster = Cluster(running.scheduler_address, patience=1)
        running.scale(0)
        while running.scheduler.workers:
            time.sleep(0.05)
        with pytest.raises(ClusterError, match=r": there was no worker for 1 s; start some with `dask worker "):
            cluster.ask(abs, -1)
        cluster.close()
        with pytest.raises(ClusterError, match=r": the scheduler has no worker after 0\.5 s; start some with `dask wo"):
            Cluster(running.scheduler_address, patience=0.5)


def test_a_scheduler_that_goes_does_not_leave_anybody_waiting() -> None:
    with local_cluster(1) as running:
        cluster = Cluster(running.scheduler_address, patience=1)
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(cluster.ask, doubled, 1)
            running.close()
            with pytest.raises(ClusterError):
                answer.result(timeout=60)
        cluster.close()
