import json
from pathlib import Path

import pytest

CASES = {c["id"]: c for c in json.loads((Path(__file__).parents[1] / "cases" / "cases.json").read_text())}


@pytest.fixture
def case(request):
    """The case whose id the test is parametrised with, indirectly."""
    return CASES[request.param]
