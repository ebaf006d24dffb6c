"""Reward for code: programs judged against tests, under the isolation of the operating system.

`verify` judges one program, `Code` is the reward, `Tests` says what is tested, and `isolation` what this
machine offers. How it works, and what it does not protect from, is in ``docs/code-verifier.md``.
"""

from winnow.reward.code.isolation import Isolation, isolation
from winnow.reward.code.reward import Code, verify
from winnow.reward.code.tests import Case, Tests

__all__ = ["Case", "Code", "Isolation", "Tests", "isolation", "verify"]
