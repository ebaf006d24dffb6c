"""The coordinator as a Ray actor with real worker processes, one of which dies in the middle of a step."""

import os
import time

import pytest

pytest.importorskip("verl")

import ray

import winnow
from tests.host.verl.fleet import setup, uid
from winnow.host.verl import actor
from winnow.host.verl.play import Report

PROMPTS, WORKERS = 16, 4


class Fake:
    """A worker without a model: asks, waits a little, reports."""

    async def stay(self):
        import asyncio

        await asyncio.Event().wait()

    async def run(self, coordinator, number, uids, silent=False):
        import asyncio

        async def one(name):
            ran, reports = [], []
            while sessions := await coordinator.next.remote(number, name, reports):
                if silent:
                    await asyncio.Event().wait()
                await asyncio.sleep(0.01)
                ran += sessions
                reports = [Report(session, float((session + len(name)) % 2), None, 3) for session in sessions]
            return name, ran

        return await asyncio.gather(*map(one, uids))

    async def ready(self):
        return True

    def leave(self):
        os._exit(1)


def owned(worker):
    return [uid(prompt) for prompt in range(PROMPTS) if prompt % WORKERS == worker]


@pytest.fixture
def fleet(cluster):
    coordinator = actor.start(setup(winnow.recipe("vigor"), PROMPTS))
    workers = [ray.remote(Fake).options(num_cpus=0, max_concurrency=100).remote() for _ in range(WORKERS)]
    ray.get([coordinator.watch.remote(f"worker {place}", worker) for place, worker in enumerate(workers)])
    ray.get([worker.ready.remote() for worker in workers])  # so that no test times the start of processes
    yield coordinator, workers
    for handle in (coordinator, *workers):
        ray.kill(handle)


def open_step(coordinator, number):
    owners = {uid(prompt): f"worker {prompt % WORKERS}" for prompt in range(PROMPTS)}
    ray.get(coordinator.open.remote(number, owners))


def test_four_workers_share_one_budget(fleet):
    coordinator, workers = fleet
    for number in (1, 2):
        open_step(coordinator, number)
        ran = ray.get([worker.run.remote(coordinator, number, owned(place)) for place, worker in enumerate(workers)])
        drawn = [(name, session) for worker in ran for name, sessions in worker for session in sessions]
        assert len(drawn) == len(set(drawn)) == PROMPTS * 8
        assert ray.get(coordinator.wait.remote(number, 5)).closed
        assert ray.get(coordinator.finish.remote(number)).metrics["winnow/rollouts"] == PROMPTS * 8


@pytest.mark.parametrize("how", ["ray.kill", "os._exit"])
def test_a_dead_worker_ends_nothing_but_its_own_rollouts(fleet, how):
    coordinator, workers = fleet
    open_step(coordinator, 1)
    runs = [worker.run.remote(coordinator, 1, owned(place), place == 1) for place, worker in enumerate(workers)]
    time.sleep(1.0)
    began = time.monotonic()
    if how == "ray.kill":
        ray.kill(workers[1])
    else:
        workers[1].leave.remote()
    ran = ray.get([run for place, run in enumerate(runs) if place != 1], timeout=60)
    seconds = time.monotonic() - began
    decision = ray.get(coordinator.finish.remote(1))
    assert seconds < 20
    assert decision.metrics["winnow/rollouts"] == PROMPTS * 8, "the lost ones are charged"
    assert decision.lost["worker 1"] >= 4 * 2 and decision.lost.keys() == {"worker 1"}
    drawn = sum(len(sessions) for worker in ran for _, sessions in worker)
    assert drawn + decision.lost["worker 1"] == PROMPTS * 8
    assert ray.get(coordinator.gone.remote()) == {"worker 1"}
    assert set(ray.get(coordinator.wait.remote(1, 1)).failed) == set(owned(1))
    workers[1] = ray.remote(Fake).options(num_cpus=0, max_concurrency=100).remote()
    open_step(coordinator, 2)
    ray.get([worker.run.remote(coordinator, 2, owned(place)) for place, worker in enumerate(workers)], timeout=60)
    assert ray.get(coordinator.finish.remote(2)).metrics["winnow/lost_rollouts"] == 0
