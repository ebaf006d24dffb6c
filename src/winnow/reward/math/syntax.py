r"""From LaTeX to a tree: arithmetic, roots, powers, functions, implicit products, mixed numbers.

What is read as in print: ``-x^2`` is ``-(x^2)``, ``\sin 2x`` is ``\sin(2x)``, ``2\frac{1}{2}`` is two and a half,
``1/2x`` is ``(1/2)x`` but ``a/bc`` is ``a/(bc)``, ``x^10`` is ``x^{10}``, ``\log`` has base 10, ``i`` is the
imaginary unit and ``e`` Euler's number. Letters of either case are different variables.
"""

from __future__ import annotations

from winnow.reward.math.atoms import FACTOR_COMMANDS, Atoms
from winnow.reward.math.tokens import tokens
from winnow.reward.math.tree import HIGHEST, Node, Unreadable, constant, negative, number

_TIMES = frozenset({"*", "\\cdot", "\\times", "\\ast"})
_OVER = frozenset({"/", "\\div"})
_DEGREE = Node("/", (constant("pi"), number(180)))


def parse(text: str) -> Node:
    """Read a cleaned text as one expression; linear in its length.

    Raises:
        Unreadable: if it is not one, or is nested too deeply.
    """
    parser = _Parser(tokens(text))
    tree = parser.sum()
    if parser.peek() == "\\over":
        parser.take()
        tree = Node("/", (tree, parser.sum()))
    parser.end()
    if tree.height() > HIGHEST:
        raise Unreadable("it is nested too deeply")
    return tree


class _Parser(Atoms):
    def sum(self) -> Node:
        terms = [self.signed()]
        while self.peek() in ("+", "-"):
            sign = self.take().text
            term = self.signed()
            terms.append(negative(term) if sign == "-" else term)
        if self.peek() in ("\\bmod", "\\mod"):
            self.take()
            left = terms[0] if len(terms) == 1 else Node("+", tuple(terms))
            terms = [Node("mod", (left, self.product()))]
        return terms[0] if len(terms) == 1 else Node("+", tuple(terms))

    def signed(self) -> Node:
        minus = False
        while self.peek() in ("+", "-"):
            minus ^= self.take().text == "-"
        tree = self.product()
        return negative(tree) if minus else tree

    def product(self) -> Node:
        left = self.implicit()
        while True:
            if self.peek() in _TIMES:
                self.take()
                left = _times(left, self.signed_factor())
            elif self.peek() in _OVER:
                self.take()
                left = self.quotient(left)
            elif self.starts_factor():
                self.no_number()
                left = _times(left, self.implicit())
            else:
                return left

    def signed_factor(self) -> Node:
        if self.peek() in ("+", "-"):
            minus = self.take().text == "-"
            factor = self.signed_factor()
            return negative(factor) if minus else factor
        return self.implicit()

    def quotient(self, left: Node) -> Node:
        plain = left.op == "number" and self.kind() == "number"
        minus = self.peek() == "-" and bool(self.take())
        below = self.power() if plain else self.implicit()
        return Node("/", (left, negative(below) if minus else below))

    def implicit(self) -> Node:
        """Factors that stand side by side; they bind more tightly than a division sign."""
        factors = [self.power()]
        while self.starts_factor():
            if factors[-1].op == "number" and self.kind() == "number":
                factors[-1] = self.mixed(factors[-1])
                continue
            self.no_number()
            whole = self.tokens[self.place - 1].kind == "number" and factors[-1].op == "number"
            factor = self.power()
            if whole and factor.op == "/" and _is_mixed(factors[-1], factor):
                factors[-1] = Node("+", (factors[-1], factor))
            else:
                factors.append(factor)
        return factors[0] if len(factors) == 1 else Node("*", tuple(factors))

    def no_number(self) -> None:
        if self.kind() == "number":
            raise Unreadable("a number stands behind another factor")

    def mixed(self, whole: Node) -> Node:
        above = self.take().value
        if self.peek() != "/" or self.kind(1) != "number":
            raise Unreadable("two numbers stand next to each other")
        self.take()
        below = self.take().value
        part = Node("/", (number(above), number(below)))
        if not _is_mixed(whole, part):
            raise Unreadable("two numbers stand next to each other")
        return Node("+", (whole, part))

    def starts_factor(self) -> bool:
        kind, text = self.kind(), self.peek()
        if kind in ("number", "name"):
            return True
        if kind == "text":
            return text.isalpha()
        if kind == "command":
            return text not in _TIMES | _OVER and text.lstrip("\\") in FACTOR_COMMANDS
        return text in ("(", "[", "{") or (text == "|" and not self.bars)

    def power(self) -> Node:
        base = self.atom()
        while True:
            text = self.peek()
            if text in ("^", "**"):
                self.take()
                base = self.exponent(base)
            elif text == "!":
                self.take()
                base = Node("factorial", (base,))
            elif text in ("%", "\\%"):
                self.take()
                if self.peek() in ("%", "\\%"):
                    raise Unreadable("a percent sign stands behind another")
                base = Node("/", (base, number(100)))
            else:
                return base

    def exponent(self, base: Node) -> Node:
        if self.peek() == "\\circ":
            self.take()
            return Node("*", (base, _DEGREE))
        if self.peek() == "{" and self.peek(1) == "\\circ" and self.peek(2) == "}":
            self.place += 3
            return Node("*", (base, _DEGREE))
        minus = self.peek() == "-" and bool(self.take())
        power = self.atom()
        if self.peek() in ("^", "**"):
            self.take()
            power = self.exponent(power)
        return Node("^", (base, negative(power) if minus else power))


def _times(left: Node, right: Node) -> Node:
    return Node("*", (*left.args, right) if left.op == "*" else (left, right))


def _is_mixed(whole: Node, part: Node) -> bool:
    above, below = part.args
    return (
        whole.value.denominator == 1
        and above.op == below.op == "number"
        and above.value.denominator == below.value.denominator == 1
        and 0 <= above.value < below.value
    )
