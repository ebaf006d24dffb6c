"""sympy, for inequalities of higher degree and with roots."""

from __future__ import annotations

from typing import Any

from winnow import errors
from winnow.reward.math.regions import EVERYTHING, Interval, Region, bound, union
from winnow.reward.math.syntax import parse
from winnow.reward.math.tree import Node, Unreadable

try:
    import sympy
except ImportError as error:
    raise errors.MissingExtra("the math reward needs math-verify: pip install 'winnow-rl[math]'") from error

_MOST_NODES = 40
_LARGEST_POWER = 4
_LARGEST_NUMBER = 10**9


def solve(left: Node, sign: str, right: Node, name: str) -> Region | None:
    """Solve an inequality in one real variable with sympy; None if that fails or looks expensive."""
    nodes = [*left.walk(), *right.walk()]
    if len(nodes) > _MOST_NODES or any(node.op == "number" and abs(node.value) > _LARGEST_NUMBER for node in nodes):
        return None
    variable = sympy.Symbol(name, real=True)
    relation = {"<": sympy.Lt, ">": sympy.Gt, "\\le": sympy.Le, "\\ge": sympy.Ge, "\\ne": sympy.Ne}[sign]
    try:
        condition = relation(_to_sympy(left, variable), _to_sympy(right, variable))
        solution = sympy.solveset(condition, variable, sympy.S.Reals)
        return _from_sympy(solution, name)
    except (Unreadable, NotImplementedError, ValueError, TypeError, RecursionError):
        return None


def _to_sympy(node: Node, variable: Any) -> Any:
    args = [_to_sympy(arg, variable) for arg in node.args]
    match node.op:
        case "number":
            return sympy.Rational(node.value.numerator, node.value.denominator)
        case "symbol":
            return variable
        case "constant" if node.name == "pi":
            return sympy.pi
        case "+":
            return sympy.Add(*args)
        case "*":
            return sympy.Mul(*args)
        case "/":
            return args[0] / args[1]
        case "^" if node.args[1].op == "number" and abs(node.args[1].value) <= _LARGEST_POWER:
            return args[0] ** args[1]
        case "abs":
            return sympy.Abs(args[0])
        case "root" if not node.args[0].symbols() and node.args[1].value == 2:
            return sympy.sqrt(args[0])
    raise Unreadable(f"{node.op} in an inequality is not solved")


def _from_sympy(found: Any, name: str) -> Region:
    pieces = found.args if isinstance(found, sympy.Union) else (found,)
    intervals = []
    for piece in pieces:
        if isinstance(piece, sympy.Interval):
            low, high = (bound(parse(sympy.latex(end))) for end in (piece.start, piece.end))
            intervals.append(Interval(low, high, bool(piece.left_open), bool(piece.right_open)))
        elif isinstance(piece, sympy.FiniteSet):
            points = [bound(parse(sympy.latex(end))) for end in piece.args]
            intervals += [Interval(point, point, False, False) for point in points]
        elif piece not in (sympy.S.EmptySet, sympy.S.Reals):
            raise Unreadable("the solution is no union of intervals")
        elif piece == sympy.S.Reals:
            intervals += EVERYTHING.intervals
    return union(intervals, name)
