"""Random golds with answers that are equal to them and answers that nearly are."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

# Kind, gold, answers that are right, answers that are wrong.
Golds = Iterator[tuple[str, str, list[str], list[str]]]


def spellings(seed: int = 0, each: int = 6) -> Golds:
    """Yield ``each`` golds of every kind; the same seed gives the same golds."""
    rng = random.Random(seed)
    for kind in (_integer, _thousands, _decimal, _fraction, _mixed, _percent, _root, _power, _scientific):
        yield from kind(rng, each)
    for kind in (_point, _set, _interval, _plus_minus, _quadratic, _complex, _matrix, _line, _choice, _unit, _pi):
        yield from kind(rng, each)


def _integer(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        n = rng.choice([-1, 1]) * rng.randint(12, 990)
        equal = [f"{n}.0", f"{n}.", f"\\text{{{n}}}", f"${n}$", f" {n} ", f"x = {n}", f"\\frac{{{3 * n}}}{{3}}"]
        equal += [f"{n - 7}+7", str(n).replace("-", "−"), f"\\left({n}\\right)", f"{{{n}}}"]
        yield "integers", str(n), equal, [str(-n), str(n + 1), str(n - 1), f"{n}0", f"{n}.5", f"{n}, {n + 1}", f"{n}x"]


def _thousands(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        n = rng.randint(10_000, 99_999_999)
        comma = f"{n:,}"
        equal = [comma, comma.replace(",", "{,}"), comma.replace(",", "\\,"), comma.replace(",", " "), f"\\${comma}"]
        wrong = [f"{n + 1000:,}", f"{n // 1000:,}", comma.replace(",", "."), f"{n * 10:,}", f"-{comma}"]
        yield "thousands", str(n), equal, wrong


def _decimal(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        cents = rng.randint(1, 99_999) * 10 + rng.randint(1, 9)
        value = Fraction(cents, 1000)
        text = f"{cents / 1000:.3f}"
        equal = [f"{text}0", f"\\frac{{{cents}}}{{1000}}", f"{value.numerator}/{value.denominator}", f"+{text}"]
        equal += [f"{cents}\\times 10^{{-3}}", f"{cents / 10:.1f}\\%"]
        wrong = [f"{cents / 1000:.2f}", f"-{text}", f"{text}1", f"{(cents + 1) / 1000:.3f}", f"{cents / 100:.2f}"]
        yield "decimals", text, equal, wrong


def _fraction(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        below = rng.choice([3, 7, 9, 11, 13, 17, 19, 21, 23])
        above = rng.choice([n for n in range(2, 3 * below) if math.gcd(n, below) == 1 and n != below])
        gold = f"\\frac{{{above}}}{{{below}}}"
        equal = [f"{above}/{below}", f"\\dfrac{{{2 * above}}}{{{2 * below}}}", f"\\frac{{-{above}}}{{-{below}}}"]
        equal += [f"{{{above} \\over {below}}}", f"{above} \\div {below}", f"\\frac{{1}}{{{below}}} \\cdot {above}"]
        wrong = [f"\\frac{{{below}}}{{{above}}}", f"-{gold}", f"\\frac{{{above + 1}}}{{{below}}}", f"{above}{below}"]
        wrong += [f"{above / below:.2f}", f"{above / below:.8f}", f"\\frac{{{above}}}{{{below + 1}}}"]
        yield "fractions", gold, equal, wrong


def _mixed(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        whole, below = rng.randint(1, 9), rng.choice([3, 5, 7, 8])
        part = rng.choice([n for n in range(1, below) if math.gcd(n, below) == 1])
        above = whole * below + part
        equal = [f"\\frac{{{above}}}{{{below}}}", f"{whole} {part}/{below}", f"{whole}+\\frac{{{part}}}{{{below}}}"]
        wrong = [f"-\\frac{{{above}}}{{{below}}}", f"{whole + 1}\\frac{{{part}}}{{{below}}}"]
        wrong += [f"\\frac{{{whole * part}}}{{{below}}}", f"{whole}{part}/{below}", f"{whole}"]
        yield "mixed", f"{whole}\\frac{{{part}}}{{{below}}}", equal, wrong


def _percent(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        n = rng.randint(2, 95)
        equal = [f"{n}", f"{n}%", f"{n} \\%", f"{n} percent", f"{n}\\text{{ percent}}", f"{n / 100}", f"{n}.0\\%"]
        yield (
            "percent and money",
            f"{n}\\%",
            equal,
            [f"{n + 1}\\%", f"-{n}\\%", f"{n / 10}\\%", f"{n * 10}", f"{n}.5\\%"],
        )


def _root(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        a, b = rng.randint(2, 9), rng.choice([2, 3, 5, 6, 7, 10, 11])
        gold = f"{a}\\sqrt{{{b}}}"
        equal = [
            f"\\sqrt{{{a * a * b}}}",
            f"{a}√{b}",
            f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}",
            f"\\sqrt{{{b}}}\\cdot {a}",
        ]
        equal += [f"{a}\\cdot {b}^{{1/2}}", f"{a}*sqrt({b})"]
        wrong = [
            f"-{gold}",
            f"{b}\\sqrt{{{a}}}",
            f"{a + 1}\\sqrt{{{b}}}",
            f"{a}\\sqrt{{{b + 1}}}",
            f"\\sqrt{{{a * b}}}",
        ]
        value = a * math.sqrt(b)
        yield (
            "roots",
            gold,
            equal,
            [*(w for w in wrong if a != b or "sqrt" not in w), f"{value:.3f}", f"{value:.9f}", f"{a}"],
        )


def _power(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        base, n = rng.choice([2, 3, 5, 7]), rng.randint(40, 300)
        equal = [f"{base**n}", f"{base}^{{{n - 1}}}\\cdot {base}", f"{base * base}^{{{n / 2:g}}}", f"{base}^{{{n}}}+0"]
        wrong = [f"{base}^{{{n + 1}}}", f"{base**n + 1}", f"{base}^{{{n}}}-1", f"{base}^{{-{n}}}", f"{n}^{{{base}}}"]
        yield "powers and factorials", f"{base}^{{{n}}}", equal, wrong
        equal = [f"{base}^{{-{n}}}", f"\\left(\\frac{{1}}{{{base}}}\\right)^{{{n}}}", f"\\frac1{{{base**n}}}"]
        wrong = [
            f"\\frac{{1}}{{{base}^{{{n + 1}}}}}",
            "0",
            f"-\\frac{{1}}{{{base}^{{{n}}}}}",
            f"{float(base) ** -n:.6e}",
        ]
        yield "powers and factorials", f"\\frac{{1}}{{{base}^{{{n}}}}}", equal, wrong


def _scientific(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        digits, n = rng.randint(11, 99), rng.randint(3, 30)
        lead = f"{digits / 10}"
        equal = [f"{lead}e{n}", f"{lead} \\cdot 10^{{{n}}}", f"{digits}\\times 10^{{{n - 1}}}", f"{lead} × 10^{n}"]
        equal += [f"{digits * 10 ** (n - 1)}"]
        wrong = [f"{lead}\\times 10^{{{n + 1}}}", f"{lead}\\times 10^{{-{n}}}", f"-{lead}e{n}", lead, f"{lead}e{n - 1}"]
        yield "scientific", f"{lead}\\times 10^{{{n}}}", equal, wrong


def _point(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        x, y = rng.sample(range(-20, 20), 2)
        if x == -y:
            y += 41
        equal = [
            f"({x},{y})",
            f"\\left({x}, {y}\\right)",
            f"({2 * x}/2, {y}.0)",
            f"x={x}, y={y}",
            f"(x, y) = ({x}, {y})",
        ]
        wrong = [
            f"({y},{x})",
            f"({x},{y + 1})",
            f"({x},{y},0)",
            f"\\{{{x},{y}\\}}",
            f"[{x},{y}]",
            f"x={y}, y={x}",
            f"{x}",
        ]
        yield "tuples", f"({x}, {y})", equal, wrong


def _set(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        a, b, c = rng.sample(range(-30, 60), 3)
        gold = f"\\{{{a}, {b}, {c}\\}}"
        equal = [
            f"\\{{{c},{a},{b}\\}}",
            f"{b}, {c}, {a}",
            f"\\left\\{{{b},{a},{c}\\right\\}}",
            f"{a}, {b} \\text{{ and }} {c}",
        ]
        wrong = [f"\\{{{a},{b}\\}}", f"{a},{b},{c + 90}", f"\\{{{a},{b},{c},{c + 90}\\}}", f"{a}", f"({c},{b},{a})"]
        yield "sets", gold, equal, wrong


def _interval(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        low = rng.randint(-20, 10)
        high = low + rng.randint(2, 20)
        equal = [f"{low}<x\\le {high}", f"\\left({low}, {high}\\right]", f"x\\in({low},{high}]", f"{high}\\geq x>{low}"]
        wrong = [f"[{low},{high})", f"({low},{high})", f"[{low},{high}]", f"({low},{high + 1}]", f"{low}\\le x<{high}"]
        yield "intervals", f"({low},{high}]", equal, [*wrong, f"x\\le {high}", f"\\{{{low},{high}\\}}"]
        equal = [f"[{low},\\infty)", f"{low}\\le x", f"x ≥ {low}", f"x\\in[{low},+\\infty)", f"-x\\le {-low}"]
        wrong = [f"x>{low}", f"x\\le {low}", f"x\\ge {low + 1}", f"({low},\\infty)", f"{low}", f"x={low}"]
        yield "intervals", f"x\\ge {low}", equal, wrong


def _plus_minus(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        a, b = rng.sample(range(2, 40), 2)
        equal = [f"{a - b}, {a + b}", f"{a + b} \\text{{ or }} {a - b}", f"x={a}±{b}", f"\\{{{a + b},{a - b}\\}}"]
        yield (
            "plus-minus",
            f"{a}\\pm {b}",
            equal,
            [f"{a + b}", f"{a - b}", f"{b}\\pm {a}", f"\\pm {a + b}", f"{a + b},{a + b}"],
        )


def _quadratic(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        p, q = rng.sample([-7, -5, -4, -3, 2, 3, 5, 6, 8], 2)
        if p == -q:
            q += 9
        gold = f"x^2{p + q:+d}x{p * q:+d}"
        equal = [f"(x{p:+d})(x{q:+d})", f"{p * q}{p + q:+d}x+x^{{2}}", f"x(x{p + q:+d}){p * q:+d}"]
        wrong = [f"x^2{-p - q:+d}x{p * q:+d}", f"x^2{p + q:+d}x{-p * q:+d}", f"(x{-p:+d})(x{-q:+d})", f"{gold}+1"]
        yield (
            "expressions",
            gold,
            equal,
            [*wrong, gold.replace("x", "y"), gold.replace("x", "X"), f"x^3{p + q:+d}x{p * q:+d}"],
        )


def _complex(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        a, b = rng.sample(range(2, 20), 2)
        equal = [f"{b}i+{a}", f"{a} + {b} \\cdot i", f"{a}-{b}i^3", f"\\frac{{{2 * a}+{2 * b}i}}{{2}}"]
        yield "complex", f"{a}+{b}i", equal, [f"{a}-{b}i", f"{b}+{a}i", f"-{a}+{b}i", f"{a}+{b}", f"{a + b}i", f"{a}"]


def _matrix(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        a, b, c, d = rng.sample(range(-9, 10), 4)
        inner = f"{a} & {b} \\\\ {c} & {d}"
        equal = [
            f"\\begin{{bmatrix}}{inner}\\end{{bmatrix}}",
            f"\\begin{{pmatrix}}{inner.replace(' ', '')}\\end{{pmatrix}}",
        ]
        swapped = [
            f"{b} & {a} \\\\ {c} & {d}",
            f"{a} & {c} \\\\ {b} & {d}",
            f"{a} & {b} \\\\ {c} & {d + 1}",
            f"{a} & {b}",
        ]
        wrong = [f"\\begin{{pmatrix}}{other}\\end{{pmatrix}}" for other in swapped]
        yield "matrices", f"\\begin{{pmatrix}}{inner}\\end{{pmatrix}}", equal, wrong


def _line(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        a, b = rng.sample(range(2, 15), 2)
        equal = [f"{a}x+{b}", f"y-{a}x={b}", f"{b}=y-{a}x", f"{a}x-y+{b}=0", f"2y={2 * a}x+{2 * b}"]
        wrong = [f"y={b}x+{a}", f"y={a}x-{b}", f"y=-{a}x+{b}", f"x={a}y+{b}", f"{a}x+{b}=0", f"y={a}x"]
        yield "equations", f"y={a}x+{b}", equal, wrong


def _choice(rng: random.Random, each: int) -> Golds:
    for gold in rng.sample("ABCDE", min(each, 5)):
        other = rng.choice([letter for letter in "ABCDE" if letter != gold])
        equal = [
            f"({gold})",
            f"\\text{{{gold}}}",
            f"\\textbf{{({gold})}}",
            f"{gold}.",
            f"{gold}) 12",
            f"\\mathrm{{{gold}}}",
        ]
        yield "choices", gold, equal, [other, f"({other})", f"{gold}{other}", f"{gold} or {other}", "12", f"not {gold}"]


def _unit(rng: random.Random, each: int) -> Golds:
    for unit, longer, wrong in (("cm", "centimeters", "m"), ("kg", "kilograms", "g"), ("min", "minutes", "hours"))[
        :each
    ]:
        n = rng.randint(3, 400)
        equal = [f"{n}", f"{n} {unit}", f"{n}\\,\\mathrm{{{unit}}}", f"{n}\\text{{ {longer}}}", f"{n}.0 {longer}"]
        yield (
            "units",
            f"{n}\\text{{ {unit}}}",
            equal,
            [f"{n}\\text{{ {wrong}}}", f"{n + 1}\\text{{ {unit}}}", f"-{n}", f"{n}x"],
        )


def _pi(rng: random.Random, each: int) -> Golds:
    for _ in range(each):
        a, b = rng.choice([(2, 3), (3, 4), (5, 6), (7, 8), (5, 2), (4, 9)])
        gold = f"\\frac{{{a}\\pi}}{{{b}}}"
        equal = [
            f"\\frac{{{a}}}{{{b}}}\\pi",
            f"{a}π/{b}",
            f"\\pi\\cdot\\frac{{{a}}}{{{b}}}",
            f"\\frac{{{2 * a}\\pi}}{{{2 * b}}}",
        ]
        value = a * math.pi / b
        wrong = [f"-{gold}", f"\\frac{{{b}\\pi}}{{{a}}}", f"\\frac{{{a}}}{{{b}}}", f"{value:.2f}", f"{value:.10f}"]
        yield "logs and trig", gold, equal, wrong
