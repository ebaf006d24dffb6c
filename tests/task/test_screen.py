import pytest

from winnow.task import screen


@pytest.mark.parametrize(
    ("family", "answer"),
    [
        ("chain_sum", "anything __import__('os') here"),
        ("countdown", "(19 - 9)*3/2"),
        ("puzzle24", "8/(3-8/3)"),
        ("spiral_matrix", "[1, -2, 3]"),
        ("n_queens", "[['Q', '_'], ['_', 'Q']]"),
        ("simple_integration", "3*x**2/2 + sin(x)*exp(x) - C"),
        ("polynomial_multiplication", "x**10 - 2*x**3*y**2 + 7"),
        ("intermediate_integration", "(x**2+1)**(3/2) + asinh(x)"),
    ],
)
def test_plain_answers_pass(family, answer):
    assert screen.refuse(family, answer) == ""


@pytest.mark.parametrize(
    ("family", "answer"),
    [
        ("countdown", "9**9**9"),
        ("countdown", "exit()"),
        ("puzzle24", "__import__('os').getcwd()"),
        ("spiral_matrix", "[print(1)]"),
        ("n_queens", "().__class__"),
        ("string_insertion", "open('x')"),
        ("binary_matrix", "[1]*10**9"),
        ("simple_integration", "exec(chr(112))"),
        ("simple_integration", "x.func"),
        ("simple_integration", "x**999999999"),
        ("simple_integration", "9**9**9"),
        ("simple_integration", "9**(9*9*9*9*9)"),
        ("simple_integration", "(((9**99)**99)**99)**99"),
        ("polynomial_multiplication", "x" * 500),
        ("polynomial_multiplication", "99999999!"),
    ],
)
def test_what_could_run_code_or_never_end_is_refused(family, answer):
    assert screen.refuse(family, answer)
