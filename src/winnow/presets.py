"""The recipes that come with winnow: combinations of rules, and nothing else."""

from __future__ import annotations

from winnow.about import About
from winnow.advantage import Advantage
from winnow.allocation import Refill, Uniform, Vigor
from winnow.objective.config import Objective
from winnow.recipe import Recipe
from winnow.registry import register, register_declared
from winnow.selection import Select

GRPO = About(
    paper="DeepSeekMath, arXiv 2402.03300",
    idea="n rollouts of every prompt, z-scored inside the group",
    saves="nothing; the baseline",
    costs="rollouts and updates spent on groups whose rewards are all equal",
    bias="the division by the group's std over-weights very easy and very hard prompts",
)
DR_GRPO = About(
    paper="Dr.GRPO, arXiv 2503.20783",
    idea="GRPO without the division by std and by length",
    saves="nothing; removes two biases of GRPO",
    costs="as GRPO",
    bias="the expected gradient is (n-1)/n of the true one",
)
RLOO = About(
    paper="RLOO, arXiv 2402.14740",
    idea="each rollout against the mean of the others",
    saves="nothing; unbiased for every n >= 2",
    costs="as GRPO",
    bias="none when n is fixed before the rewards are seen",
)
DAPO = About(
    paper="DAPO, arXiv 2503.14476 (dynamic sampling, clip-higher and token loss; not its overlong penalty)",
    idea="replace groups without signal by further prompts until the batch is full, at most pool times over",
    saves="steps: every group that trains has signal",
    costs="generates 1 / P(signal) groups per group that trains; rounds in sequence",
    bias="which prompts train depends on their rewards",
)
PODS = About(
    paper="PODS, arXiv 2504.13818",
    idea="generate n, train on the m with the largest reward variance",
    saves="updates: m of n rows",
    costs="generates n/m times the rollouts it trains on",
    bias="the kept rows are chosen by outcome: the update leans towards contrast",
)
VIGOR = About(
    paper="VIGOR, arXiv 2607.22002",
    idea="start every prompt small, keep giving rollouts to those whose rewards vary most",
    saves="rollouts, where many groups carry no signal",
    costs="rounds in sequence; few prompts get most rollouts, so less breadth",
    bias="group sizes depend on rewards; unequal groups pull unequally",
)
GMPO = About(
    paper="GMPO, arXiv 2507.20673",
    idea="the geometric instead of the arithmetic mean of a rollout's importance ratios",
    saves="nothing; outlying ratios do not own the update, so that a batch bears more optimiser steps",
    costs="with one optimiser step per batch it is GRPO with a mean per sequence",
    bias="as GRPO",
)
FLOWRL = About(
    paper="FlowRL, arXiv 2509.15207",
    idea="make the policy proportional to exp(reward) instead of maximising it, by trajectory balance",
    saves="nothing; keeps several kinds of right answers alive",
    costs="a reference model and a partition head; no group is without effect: each pulls towards the reference",
    bias="its own objective; groups without signal train too",
)
BOTH = About(
    paper="VIGOR, arXiv 2607.22002, and PODS, arXiv 2504.13818; the combination is ours",
    idea="VIGOR decides who gets rollouts, PODS which of them train",
    saves="rollouts and updates",
    costs="those of VIGOR",
    bias="those of both",
    status="decision",
)


def _grpo() -> Recipe:
    return Recipe("grpo", about=GRPO)


def _dr_grpo() -> Recipe:
    objective = Objective(aggregation="constant")
    return Recipe("dr-grpo", advantage=Advantage("centred"), objective=objective, about=DR_GRPO)


def _rloo() -> Recipe:
    objective = Objective(aggregation="constant")
    return Recipe("rloo", advantage=Advantage("rloo"), objective=objective, about=RLOO)


def _dapo() -> Recipe:
    objective = Objective(clip_high=0.28)
    return Recipe("dapo", allocation=Refill(), gate="zero_signal", objective=objective, about=DAPO)


def _gmpo() -> Recipe:
    objective = Objective(ratio="geometric", clip_low=0.4, clip_high=0.4, aggregation="sequence")
    return Recipe("gmpo", objective=objective, about=GMPO)


def _flowrl() -> Recipe:
    return Recipe("flowrl", objective=Objective(flow_beta=15.0, aggregation="sequence"), about=FLOWRL)


def _pods() -> Recipe:
    return Recipe("pods", allocation=Uniform(32), selection=Select("max_variance", 8), about=PODS)


def _vigor() -> Recipe:
    return Recipe("vigor", allocation=Vigor(), about=VIGOR)


def _vigor_pods() -> Recipe:
    return Recipe("vigor+pods", allocation=Vigor(), selection=Select("max_variance", 8), about=BOTH)


for _build in (_grpo, _dr_grpo, _rloo, _dapo, _pods, _vigor, _vigor_pods, _gmpo, _flowrl):
    register(_build().name, _build)
register_declared()
