"""Steps over prompts whose rollouts are known beforehand, many at once."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from winnow import Budget
from winnow.batch import TrainBatch
from winnow.groups import rank_within


@dataclass
class Played:
    """A finished step: its batch, its waves as lists of (prompt, count), and the outcome of every row told."""

    batch: TrainBatch
    waves: list
    outcomes: np.ndarray
    place: np.ndarray

    @property
    def counts(self):
        return self.batch.counts.tolist()

    def kept(self, prompt):
        """Return the places in the stream of a prompt's kept rows, and their advantages."""
        mine = self.batch.prompts == prompt
        return self.place[self.batch.rows[mine]].tolist(), self.batch.advantages[mine].tolist()


def play(recipe, streams, budget=None, *, seed=0, ids=None):
    """Play a step in which rollout j of prompt i has the outcome streams[i, j], told in the order asked."""
    streams = np.asarray(streams, float)
    budget = Budget(rollouts=int(budget)) if isinstance(budget, int | np.integer) else budget
    step = recipe.begin(len(streams), budget=budget, seed=seed, ids=range(len(streams)) if ids is None else ids)
    drawn, waves, outcomes, places = np.zeros(len(streams), int), [], [], []
    while not step.done:
        requests = step.ask()
        waves.append(list(requests))
        prompts = np.repeat(requests.prompts, requests.counts)
        place = drawn[prompts] + rank_within(prompts)
        np.add.at(drawn, prompts, 1)
        step.tell(prompts, streams[prompts, place], tokens=np.full(len(prompts), 5))
        outcomes.append(streams[prompts, place])
        places.append(place)
    return Played(step.finish(), waves, np.concatenate(outcomes), np.concatenate(places))


def all_streams(length):
    """Return every 0/1 stream (2^length, length)."""
    return np.array(list(itertools.product((0, 1), repeat=length)), float)


def chance(streams, p):
    """Return the probability of each stream when every rollout succeeds with p."""
    ones = np.asarray(streams).sum(1)
    return p**ones * (1 - p) ** (np.asarray(streams).shape[1] - ones)


def gradients(played, p):
    """Return the gradient of every prompt, the mean over its kept rows, for a policy with one logit and success rate p.

    The score of a rollout is ``outcome - p``; the true gradient of the success rate is ``p (1 - p)``.
    """
    batch = played.batch
    terms = batch.advantages * batch.weights * (played.outcomes[batch.rows] - p)
    size = len(batch.counts)
    total = np.bincount(batch.prompts, weights=terms, minlength=size)
    return total / np.maximum(np.bincount(batch.prompts, minlength=size), 1)


def histories(*sizes):
    """Return a stream for every way the successes can fall on phases of these sizes, and the counts (H, phases).

    Successes come first within a phase: rules that look at whole phases cannot tell the difference.
    """
    counts = np.array(list(itertools.product(*(range(size + 1) for size in sizes))))
    phases = [np.arange(size) < counts[:, [i]] for i, size in enumerate(sizes)]
    return np.concatenate(phases, axis=1).astype(float), counts


def history_chance(counts, sizes, p):
    """Return the probability of each history when every rollout succeeds with p."""
    tables = [np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]) for n in sizes]
    return np.prod([table[counts[:, i]] for i, table in enumerate(tables)], axis=0)
