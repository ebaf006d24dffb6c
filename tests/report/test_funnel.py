from winnow.report.funnel import stages


def test_every_rollout_leaves_at_its_fate():
    ledger = {"rollouts": 100, "unscorable": 3, "gated": 20, "discarded": 37, "no_signal": 10, "trained": 30}
    found = stages(ledger)
    assert [(stage.name, stage.count) for stage in found] == [
        ("generated", 100), ("scorable", 97), ("admitted", 77), ("selected", 40), ("trained", 30),
    ]  # fmt: skip
    assert sum(stage.lost for stage in found) + found[-1].count == 100


def test_nothing_generated_is_no_funnel():
    assert stages({}) == [] and stages({"rollouts": 0}) == []
