import json
from pathlib import Path

import pytest

CASES = {case["id"]: case for case in json.loads((Path(__file__).parent / "cases" / "cases.json").read_text())}


@pytest.fixture
def case(request: pytest.FixtureRequest) -> dict:
    """The case named in the test's `case` mark, e.g. ``@pytest.mark.parametrize("case", ["SEL-01"], indirect=True)``."""
    return CASES[request.param]


def numbers(values: list) -> list[float]:
    """Case files write NaN as a string and unscorable as null."""
    return [float("nan") if value is None else float(value) for value in values]
