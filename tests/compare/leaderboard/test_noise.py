import numpy as np
import pytest

torch = pytest.importorskip("torch")

from winnow.compare.leaderboard.noise import Noise, watching  # noqa: E402


def test_signal_and_noise_of_gradients_of_known_mean_and_spread():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        noise = Noise()
        for _ in range(6):
            noise.add(torch.tensor(np.array([3.0, 0.0, 0.0]) + rng.normal(0, 2.0, 3)))
        found.append(noise.as_dict())
    # |mean|^2 = 9 and the trace of the covariance 3 * 4, both without bias.
    assert np.mean([each["signal"] for each in found]) == pytest.approx(9, rel=0.1)
    assert np.mean([each["noise"] for each in found]) == pytest.approx(12, rel=0.1)


def test_by_hand():
    noise = Noise()
    noise.add(torch.tensor([1.0, 1.0]))
    noise.add(torch.tensor([1.0, -1.0]))
    assert noise.as_dict() == {"steps": 2, "signal": 0.0, "noise": 2.0, "scale": None}
    noise.add(torch.tensor([4.0, 0.0]))
    found = noise.as_dict()
    # products 0, 4, 4; squares 2, 2, 16
    assert found["signal"] == pytest.approx(8 / 3) and found["noise"] == pytest.approx(20 / 3 - 8 / 3)
    assert found["scale"] == pytest.approx(1.5)


def test_one_gradient_says_nothing():
    assert Noise().as_dict()["scale"] is None


def test_gradients_of_any_optimiser_are_seen_while_watching():
    weight = torch.nn.Parameter(torch.zeros(2))
    optimiser = torch.optim.AdamW([weight], lr=0.0)
    with watching() as noise:
        for gradient in ([1.0, 0.0], [3.0, 0.0]):
            weight.grad = torch.tensor(gradient)
            optimiser.step()
    optimiser.step()
    assert noise.steps == 2 and noise.total.tolist() == [4.0, 0.0] and noise.squares == 10.0
