r"""The smallest pieces of an expression: names, commands, functions with their arguments, brackets."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from fractions import Fraction

from winnow.reward.math.names import split_letters
from winnow.reward.math.tokens import Token
from winnow.reward.math.tree import HIGHEST, Node, Unreadable, constant, negative, number
from winnow.reward.math.vocabulary import CONSTANTS, FUNCTIONS, GREEK, INVERSE

CLOSES = {"(": ")", "[": "]", "{": "}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
# d/dx and dy/dx would be read as quotients of products.
_DERIVATIVE = re.compile(r"\{d[a-z]?\}\{d[a-z]")
_MARKED = ("vec", "hat", "bar", "overline", "tilde", "dot", "mathbb", "mathcal")
_MORE_SYMBOLS = ("ell", "hbar")

# The commands a factor may begin with.
FACTOR_COMMANDS = frozenset(
    {"frac", "binom", "sqrt", "lfloor", "lceil", *_MARKED, *_MORE_SYMBOLS, *FUNCTIONS, *CONSTANTS, *GREEK}
)


class Atoms(ABC):
    """A cursor over tokens that reads atoms; the grammar around them is `winnow.reward.math.syntax`."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.place = 0
        self.depth = 0
        self.bars = 0

    def peek(self, ahead: int = 0) -> str:
        """The text of a coming token, empty at the end."""
        place = self.place + ahead
        return self.tokens[place].text if place < len(self.tokens) else ""

    def kind(self, ahead: int = 0) -> str:
        """The kind of a coming token, ``end`` at the end."""
        place = self.place + ahead
        return self.tokens[place].kind if place < len(self.tokens) else "end"

    def take(self) -> Token:
        """The next token; the cursor moves on."""
        if self.place >= len(self.tokens):
            raise Unreadable("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, text: str) -> None:
        """Take a token that has to be there."""
        if self.peek() != text:
            raise Unreadable(f"expected {text!r} and found {self.peek()!r}")
        self.place += 1

    def end(self) -> None:
        """Check that nothing is left."""
        if self.place < len(self.tokens):
            raise Unreadable(f"{self.peek()!r} is out of place")

    @abstractmethod
    def sum(self) -> Node:
        """Read terms with signs between them."""

    @abstractmethod
    def power(self) -> Node:
        """Read an atom with its exponents and marks."""

    @abstractmethod
    def starts_factor(self) -> bool:
        """Tell whether the next token may continue a product without a sign."""

    def atom(self) -> Node:
        """Read a number, name, command or bracket."""
        self.depth += 1
        if self.depth > HIGHEST:
            raise Unreadable("it is nested too deeply")
        found = self._atom()
        self.depth -= 1
        return found

    def _atom(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return number(token.value)
        if token.kind in ("name", "text"):
            return self.name(token)
        if token.text in ("(", "[", "{", "\\lfloor", "\\lceil"):
            return self.bracketed(token.text)
        if token.text == "|":
            self.bars += 1
            inner = self.sum()
            self.bars -= 1
            self.expect("|")
            return Node("abs", (inner,))
        if token.kind == "command":
            return self.command(token.text[1:])
        raise Unreadable(f"{token.text!r} is out of place")

    def bracketed(self, opening: str) -> Node:
        """Read up to the closing bracket."""
        bars, self.bars = self.bars, 0
        inner = self.sum()
        if self.peek() in ("\\over", "\\choose"):
            name = self.take().text
            inner = Node("/" if name == "\\over" else "binomial", (inner, self.sum()))
        self.bars = bars
        self.expect(CLOSES[opening])
        if opening.startswith("\\l"):
            return Node("floor" if "floor" in opening else "ceiling", (inner,))
        return inner

    def group(self) -> Node:
        r"""An argument in braces or of one token, as TeX takes it: ``\frac12`` is one half."""
        if self.kind() == "number" and self.peek().isdigit() and len(self.peek()) > 1:
            token = self.tokens[self.place]
            rest = Token("number", token.text[1:], Fraction(token.text[1:]))
            self.tokens[self.place : self.place + 1] = [Token("number", token.text[0], Fraction(token.text[0])), rest]
        return self.atom()

    def name(self, token: Token) -> Node:
        """Read letters: a function, a variable, or several of them run together."""
        if token.kind == "text" and len(token.text) > 1 and token.text not in FUNCTIONS | GREEK:
            raise Unreadable(f"{token.text!r} is a word")
        letters = split_letters(token.text)
        if len(letters) > 1:
            pieces = [Token("name", letter) for letter in letters]
            self.tokens[self.place - 1 : self.place] = pieces
            token = pieces[0]
        if token.text in FUNCTIONS:
            return self.function(token.text)
        if token.text in ("f", "g") and self.peek() == "(":
            self.take()
            inner = self.sum()
            self.expect(")")
            return Node("applied", (inner,), name=token.text)
        return self.symbol(token.text)

    def symbol(self, name: str) -> Node:
        """Read the subscript and primes of a variable."""
        if self.peek() == "_":
            self.take()
            name += "_" + self.subscript()
        while self.peek() == "'":
            name += self.take().text
        return constant(CONSTANTS[name]) if name in CONSTANTS else Node("symbol", name=name)

    def subscript(self) -> str:
        """Read what stands below the line, as text."""
        if self.peek() != "{":
            return self.take().text
        parts: list[str] = []
        depth = 0
        while True:
            text = self.take().text
            depth += (text == "{") - (text == "}")
            if depth == 0:
                return "".join(parts[1:])
            parts.append(text)

    def command(self, name: str) -> Node:
        """Read a command that begins a factor."""
        if name == "frac":
            if _DERIVATIVE.match("".join(token.text for token in self.tokens[self.place : self.place + 6])):
                raise Unreadable("derivatives are not read here")
            above = self.group()
            return Node("/", (above, self.group()))
        if name == "binom":
            above = self.group()
            return Node("binomial", (above, self.group()))
        if name == "sqrt":
            return self.root()
        if name in FUNCTIONS:
            return self.function(name)
        if name in CONSTANTS or name in GREEK or name in _MORE_SYMBOLS:
            return self.symbol(name)
        if name in _MARKED:
            marked = self.group()
            return Node("symbol", name=f"{name} {marked.name or marked}")
        raise Unreadable(f"\\{name} is not read here")

    def root(self) -> Node:
        r"""Read degree and radicand; ``\sqrt 12`` is the root of 12."""
        degree = number(2)
        if self.peek() == "[":
            self.take()
            degree = self.sum()
            self.expect("]")
        return Node("root", (self.atom(), degree))

    def function(self, name: str) -> Node:
        """Read base, power and arguments of a function."""
        if name == "sqrt":
            return self.root()
        base = power = None
        for _ in range(2):
            if self.peek() == "_" and base is None:
                self.take()
                base = self.group()
            elif self.peek() in ("^", "**") and power is None:
                self.take()
                minus = self.peek() == "-" and bool(self.take())
                power = negative(self.group()) if minus else self.group()
        if power is not None and power.op == "number" and power.value == -1 and name in INVERSE:
            name, power = INVERSE[name], None
        arguments = self.arguments()
        if name in ("log", "lg"):
            arguments += (base or number(10),)
        tree = Node({"lg": "log", "ln": "ln"}.get(name, name), arguments)
        return tree if power is None else Node("^", (tree, power))

    def arguments(self) -> tuple[Node, ...]:
        """Read arguments in brackets, or the product up to the next function or sign."""
        if self.peek() in ("(", "{", "["):
            opening = self.take().text
            found = [self.sum()]
            while self.peek() == ",":
                self.take()
                found.append(self.sum())
            self.expect(CLOSES[opening])
            return tuple(found)
        factors = [self.power()]
        while self.starts_factor() and self.peek() not in ("(", "[", "{", "|") and not self.starts_function():
            factors.append(self.power())
        return (factors[0] if len(factors) == 1 else Node("*", tuple(factors)),)

    def starts_function(self) -> bool:
        """Tell whether a function comes next."""
        return self.peek().lstrip("\\") in FUNCTIONS
