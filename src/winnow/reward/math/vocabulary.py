"""The words of mathematical answers: functions, Greek letters, units, scales, and words that are none of these."""

from __future__ import annotations

from fractions import Fraction


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTIONS = _words(
    """
    sin cos tan cot sec csc arcsin arccos arctan arccot asin acos atan sinh cosh tanh coth arcsinh arccosh arctanh
    ln log lg exp sqrt abs floor ceil max min gcd lcm Re Im arg
    """
)
INVERSE = {name: f"arc{name}" for name in ("sin", "cos", "tan", "cot", "sinh", "cosh", "tanh")}
CONSTANTS = {"pi": "pi", "e": "e", "i": "i", "infty": "infinity", "infinity": "infinity"}
GREEK = _words(
    """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon
    phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega pi
    """
)

# Words that are mathematics and no answer in words.
MATHEMATICAL = _words(
    """
    sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp sqrt max min gcd lcm mod pi infinity
    alpha beta gamma delta epsilon theta lambda omega sigma phi
    """
)
# Short words that would be read as products of variables.
SHORT_WORDS = _words(
    """
    yes no odd all one two six ten red dog cat day mon tue wed thu fri sat sun may jan feb mar apr jun jul aug sep oct
    nov dec up dne
    """
)
# Short words that are counted: 7 men.
SHORT_COUNTS = _words("men boy day dog cat box bag pen egg car bus toy pie cup way row bin cow pig hen bee ant jar can")

SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}

# These say something about the value and are no unit.
NO_UNIT = SCALES.keys() | _words(
    """
    or not sqrt sin cos tan log ln exp mod theta alpha beta gamma delta phi omega sigma lambda over under plus minus
    times divided less more than is are was infinity pi undefined percent percentage approximately about only
    """
)
# Numbers and fractions; their plurals are fractions too: 5 thirds.
NUMBER_WORDS = _words(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety half halve quarter third fourth fifth sixth
    seventh eighth ninth tenth eleventh twelfth twentieth hundredth thousandth millionth billionth dozen hundred
    thousand lakh crore million billion trillion quadrillion gross score
    """
)
# These change the value of the number before them, or take it back.
CHANGES_VALUE = NUMBER_WORDS | _words(
    """
    double doubles triple triples treble quadruple quintuple doubled tripled quadrupled halves halved quartered
    twice thrice once fold point myriad percentile factorial negative negatives positive below above beneath
    reciprocal reciprocals inverse inverses inverted negated squared cubed square cube squareroot root power
    exponent opposite complement wrong incorrect false invalid no none never nor neither without maybe perhaps
    possibly otherwise else instead but either except excluding unless fewer greater smaller larger almost nearly
    roughly least most short mod modulo base remainder plus minus add added subtract subtracted multiplied factor
    decimal actually rather wait unknown undefined binary octal hexadecimal
    """
)
# These stand between units and mean nothing.
UNIT_NOISE = _words("of and the a an in each total")

# A dimension, and lines of names that mean the same with their size.
_UNITS = """
length   0.001          mm millimeter millimetre
length   0.01           cm centimeter centimetre
length   1              m meter metre
length   1000           km kilometer kilometre
length   0.0254         in inch inches
length   0.3048         ft foot feet
length   0.9144         yd yard
length   1609.344       mi mile
mass     0.001          mg milligram
mass     1              g gram
mass     1000           kg kilogram kilo
mass     28.349523125   oz ounce
mass     453.59237      lb lbs pound
mass     1000000        tonne
time     0.001          ms millisecond
time     1              s sec second
time     60             min minute
time     3600           h hr hour
time     86400          day
time     604800         week
months   1              month
months   12             year yr
volume   0.001          mL ml milliliter millilitre
volume   1              L liter litre
volume   3.785411784    gal gallon
dollars  0.01           cent ¢
dollars  1              dollar usd $ buck
euros    1              euro eur €
pounds   1              gbp £
rupees   1              rupee rs inr ₹
yen      1              yen jpy ¥
angle    1              degree deg °
radians  1              radian rad
current  1              A amp ampere
voltage  1              V volt
power    1              W watt
power    1000           kW kilowatt
energy   1              J joule
energy   1000           kJ kilojoule
energy   0.0000000000000000001602176634  eV
force    1              N newton
amount   1              mol mole
temperature 1           K kelvin
celsius  1              celsius °C
charge   1              coulomb
pressure 1              Pa pascal
pressure 1000           kPa kilopascal
pressure 101325         atm
resistance 1            ohm
rate     1              Hz hertz
"""
UNITS = {
    name: (dimension, Fraction(size))
    for dimension, size, *names in map(str.split, _UNITS.strip().splitlines())
    for name in names
}
UNIT_SHORTHAND = {"mph": "mile/hour", "kph": "km/hour", "kmh": "km/hour", "sqft": "ft^2", "cc": "cm^3"}
UNIT_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
