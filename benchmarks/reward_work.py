"""The reward that `benchmarks/reward.py` scores: a loop as long as the completion says."""


def work(completion: str) -> float:
    total = 0
    for value in range(int(completion)):
        total += value
    return float(total % 2)
