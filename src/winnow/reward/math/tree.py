"""Expressions as trees: small, immutable, comparable, and never evaluated unless asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

# Evaluating a tree recurses; no answer is nested more deeply.
HIGHEST = 60


class Unreadable(ValueError):
    """A text is not mathematics this package reads; the message says what stopped it."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.

    Attributes:
        op: ``number``, ``symbol``, ``constant`` (``pi``, ``e``, ``i``, ``infinity``), ``+``, ``*``, ``/``, ``^``,
            ``mod``, or the name of a function (``sin``, ``root``, ``log``, ``factorial``, ...).
        args: what it is applied to.
        value: of a number.
        name: of a symbol or constant.
    """

    op: str
    args: tuple[Node, ...] = ()
    value: Fraction = Fraction(0)
    name: str = ""

    def walk(self) -> Iterator[Node]:
        """This node and everything below it."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(node.args)

    def height(self) -> int:
        """How many operations stand on top of each other."""
        highest, pending = 0, [(self, 1)]
        while pending:
            node, level = pending.pop()
            highest = max(highest, level)
            pending.extend((arg, level + 1) for arg in node.args)
        return highest

    def symbols(self) -> frozenset[str]:
        """The names of its variables."""
        return frozenset(node.name for node in self.walk() if node.op == "symbol")


def number(value: Fraction | int) -> Node:
    """A rational number."""
    return Node("number", value=Fraction(value))


def constant(name: str) -> Node:
    """``pi``, ``e``, ``i`` or ``infinity``."""
    return Node("constant", name=name)


def negative(node: Node) -> Node:
    """The node times -1."""
    return number(-node.value) if node.op == "number" else Node("*", (number(-1), node))


def difference(left: Node, right: Node) -> Node:
    """Left minus right."""
    return Node("+", (left, negative(right)))


def over(node: Node) -> tuple[Node, Node]:
    """Write a sum of quotients as one quotient: numerator and denominator, not reduced."""
    if node.op == "/":
        top, bottom = map(over, node.args)
        return Node("*", (top[0], bottom[1])), Node("*", (top[1], bottom[0]))
    if node.op == "*":
        factors = [over(arg) for arg in node.args]
        return Node("*", tuple(f[0] for f in factors)), Node("*", tuple(f[1] for f in factors))
    if node.op == "+":
        terms = [over(arg) for arg in node.args]
        belows = [term[1] for term in terms]
        sums = tuple(
            Node("*", (above, *(b for other, b in enumerate(belows) if other != place)))
            for place, (above, _) in enumerate(terms)
        )
        return Node("+", sums), Node("*", tuple(belows))
    if node.op == "^" and node.args[1].op == "number" and node.args[1].value == -1:
        above, below = over(node.args[0])
        return below, above
    return node, number(1)
