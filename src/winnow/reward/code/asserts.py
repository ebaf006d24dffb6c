"""Read ``assert`` statements as tests, without running them.

Data sets in the manner of MBPP hold tests as Python. What can be understood as "this call, on these
literals, gives this literal" becomes a case; anything else is refused, since it would have to be run next to
the candidate, which could then change what it does.

Understood: ``assert f(1, [2]) == 3`` with the sides in either order, ``is``, ``assert f(1)`` and
``assert not f(1)``; ``set(...)`` and ``sorted(...)`` around the call; ``math.isclose(f(1), 2.5)`` with
``rel_tol`` or ``abs_tol``, and ``abs(f(1) - 2.5) < 1e-3``. Imports are skipped. Sides are literals, or literals
in ``set``, ``frozenset``, ``tuple``, ``list``, ``sorted``, ``dict`` or ``float``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from winnow import errors
from winnow.reward.code.compare import Rules
from winnow.reward.code.tests import Case, Tests

_BUILDERS: Mapping[str, Callable[[Any], Any]] = {
    "set": set,
    "frozenset": frozenset,
    "tuple": tuple,
    "list": list,
    "sorted": sorted,
    "dict": dict,
    "float": float,
}
_FORMS = ("set", "sorted")


class _Unclear(ValueError):
    """A statement that is no plain test."""


def translate(statements: Sequence[str]) -> Tests:
    """Turn statements into tests.

    Here tuples and lists are told apart, as Python does.

    Args:
        statements: source text, each with any number of statements.

    Raises:
        DataError: if there is no test, one cannot be understood, or they call different functions.
    """
    cases: list[Case] = []
    names: set[str] = set()
    for source in statements:
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise errors.DataError(f"tests: not Python: {source.strip()[:80]!r} ({error})") from error
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                continue
            try:
                if not isinstance(node, ast.Assert):
                    raise _Unclear("is no assert statement")
                name, case = _test(node.test)
            except (_Unclear, ValueError, TypeError, RecursionError) as error:
                text = ast.unparse(node)
                raise errors.DataError(
                    f"tests: {text[:80]!r} {error if isinstance(error, _Unclear) else f'holds no literal: {error}'}; "
                    'write it as {"function": ..., "cases": [{"args": ..., "expected": ...}]}'
                ) from error
            names.add(name)
            cases.append(case)
    if len(names) > 1:
        raise errors.DataError(
            f"tests: they call several functions ({', '.join(sorted(names))}), and one can be judged"
        )
    return Tests(cases, next(iter(names), "f"), Rules(loose_sequences=False))


def _test(node: ast.expr) -> tuple[str, Case]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _case(node.operand, False, form="truth")
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("math.isclose", "isclose"):
        return _isclose(node)
    if isinstance(node, ast.Call):
        return _case(node, True, form="truth")
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise _Unclear("is no comparison of a call with a literal")
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    if isinstance(operator, ast.Lt | ast.LtE):
        return _distance(left, right)
    if not isinstance(operator, ast.Eq | ast.Is):
        raise _Unclear("compares by something else than ==")
    if not _is_literal(right):
        left, right = right, left
    return _case(left, _literal(right))


def _case(node: ast.expr, expected: Any, form: str = "", tolerance: float | None = None) -> tuple[str, Case]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise _Unclear("has no call of a function by its name")
    if node.func.id in _FORMS and not form and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        return _case(node.args[0], expected, node.func.id, tolerance)
    if node.func.id in _BUILDERS:
        raise _Unclear(f"puts {node.func.id}() around the call")
    args = [_literal(argument) for argument in node.args]
    if any(keyword.arg is None for keyword in node.keywords):
        raise _Unclear("spreads a table over arguments")
    kwargs = {str(keyword.arg): _literal(keyword.value) for keyword in node.keywords}
    case = Case(args=args, kwargs=kwargs, expected=expected, form=form, tolerance=tolerance)
    return node.func.id, case


def _isclose(node: ast.Call) -> tuple[str, Case]:
    options = {str(keyword.arg): float(_literal(keyword.value)) for keyword in node.keywords}
    if len(node.args) != 2 or not options.keys() <= {"rel_tol", "abs_tol"}:
        raise _Unclear("calls isclose in another way than isclose(call, number)")
    call, number = node.args
    if not _is_literal(number):
        call, number = number, call
    return _case(call, float(_literal(number)), tolerance=max(options.values(), default=1e-9))


def _distance(left: ast.expr, right: ast.expr) -> tuple[str, Case]:
    inside = left.args[0] if isinstance(left, ast.Call) and ast.unparse(left.func) == "abs" and left.args else None
    if not isinstance(inside, ast.BinOp) or not isinstance(inside.op, ast.Sub):
        raise _Unclear("orders values in another way than abs(call - number) < tolerance")
    call, number = inside.left, inside.right
    if not _is_literal(number):
        call, number = number, call
    return _case(call, float(_literal(number)), tolerance=float(_literal(right)))


def _is_literal(node: ast.expr) -> bool:
    try:
        _literal(node)
    except (_Unclear, ValueError, TypeError):
        return False
    return True


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BUILDERS:
        if node.keywords or len(node.args) > 1:
            raise _Unclear(f"calls {node.func.id} with more than one literal")
        arguments = [_literal(argument) for argument in node.args]
        return _BUILDERS[node.func.id](*arguments)
    if isinstance(node, ast.List | ast.Tuple):
        items = [_literal(item) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    return ast.literal_eval(node)
