"""Exact rationals at the door, doubles and transcendental bounds on the private side."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.exceptions import ParameterError, ParameterTypeError

Reader = TypeVar("Reader", bound=Callable[..., Any])

#: Steps of a unit that square roots in plans are rounded down to.
ROOT_STEPS = 10**24
#: Upper bounds of logarithms are multiples of this: small against any budget, cheap to add up.
_GRID_STEP = Decimal(1).scaleb(-40)

_DIGITS = 60
#: Longest text of a number, and its largest power of ten.
_LONGEST, _LARGEST_EXPONENT = 1000, 1000
#: Digits of a numerator or denominator that books hold; Python itself prints 4,300.
MOST_DIGITS = 4000
#: What is too long for books is rounded up to this many decimal places.
_PLACES = 1000
_NUMBER = re.compile(
    r"\s*[-+]?([0-9]+/[0-9]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE](?P<exponent>[-+]?[0-9]{1,9}))?)\s*"
)
_WHOLE = rf"[1-9][0-9]{{0,{MOST_DIGITS - 1}}}"
_EXACT = re.compile(rf"0|-?{_WHOLE}(/{_WHOLE})?")
#: Texts of so many characters in all are kept with what they say.
_KEPT = 300
_UPWARDS = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
_WIDE = Context(prec=400, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)


class TooManyDigitsError(ValueError):
    """Amounts that come to one of more digits than books hold; never seen by a caller."""


def to_rational(value: Any, parameter: str) -> Fraction:
    """Read a caller's number exactly; a float means its shortest decimal.

    Parameters
    ----------
    value : int, float, str, Decimal, Fraction or numpy scalar
        ``0.1`` is one tenth, as is ``"0.1"`` and ``"1/10"``.
    parameter : str
        Name for the error.

    Returns
    -------
    Fraction

    Raises
    ------
    ParameterTypeError
        For a bool or anything that is not a number.
    ParameterError
        For NaN, an infinity, text that is not a number, or a number of thousands of digits.

    Notes
    -----
    Text is in ASCII digits, with an exponent if need be and no underscores. How long a number would
    be is known before it is worked out: "1e99999999" is refused at once.
    """
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal, str)):
        raise ParameterTypeError(parameter, value, "must be a number", _repair(parameter))
    if isinstance(value, numbers.Rational):  # int, Fraction and numpy integers
        exact = Fraction(int(value.numerator), int(value.denominator))
        if is_long(exact):
            raise ParameterError(parameter, value, "has too many digits", _repair(parameter))
        return exact
    # numpy's float64 is a float whose own repr is not a number.
    text = float.__repr__(value) if isinstance(value, float) else str(value)
    read = _read_number(text)
    if read is None:
        raise ParameterError(parameter, value, "must be a finite number", _repair(parameter))
    return read


def is_long(value: Amount, digits: int = MOST_DIGITS) -> bool:
    """True if an amount has more digits than :func:`parse_amount` reads back, or than some."""
    if isinstance(value, float):  # infinite
        return False
    beyond = _power_of_ten(digits)
    return value.denominator >= beyond or abs(value.numerator) >= beyond


@lru_cache(maxsize=16)
def _power_of_ten(exponent: int) -> int:
    return 10**exponent


def check_length(loss: PrivacyLoss, digits: int = MOST_DIGITS) -> None:
    """Refuse a loss that could not be written down, before it is granted.

    Raises
    ------
    ParameterError
        Where an amount has more digits than :func:`parse_amount` reads back, or than some.
    """
    amounts = (loss.epsilon, loss.rho, loss.delta) if loss.delta else (loss.epsilon, loss.rho)
    if any(is_long(amount, digits) for amount in amounts):
        raise ParameterError(
            "loss", loss, f"comes to an amount of more than {digits} digits, which no books hold",
            "Ask for amounts of few digits, such as 0.5, or open another accountant",
        )  # fmt: skip


def exact_loss(loss: PrivacyLoss, parameter: str, repair: str) -> PrivacyLoss:
    """A loss that books may hold: rationals, or infinite, none of them negative.

    One float would make floats of all sums that it enters, and a negative amount is a refund.

    Parameters
    ----------
    loss : PrivacyLoss
    parameter : str
        What the error names.
    repair : str

    Raises
    ------
    ParameterError
    """
    amounts = loss.epsilon, loss.rho, loss.delta
    exact = all(isinstance(a, (Fraction, int)) or a == math.inf for a in amounts)
    if not exact or min(amounts) < 0:
        raise ParameterError(
            parameter, loss, "must have an exact loss that is not negative", repair
        )
    # Anything else may come to say something else after it was read.
    read = loss if type(loss) is PrivacyLoss else PrivacyLoss(*amounts)
    check_length(read)
    return read


def short_up(value: Amount) -> Amount:
    """An amount that books hold: itself, or where it has too many digits a bound above it.

    Of 1,000 decimal places then, and infinite where it has too many digits before them.
    """
    if not is_long(value):
        return value
    steps = math.ceil(value * _power_of_ten(_PLACES))
    rounded = Fraction(steps, _power_of_ten(_PLACES))
    return math.inf if is_long(rounded) else rounded


def shortened_down(value: Fraction, bits: int = 64) -> Fraction:
    """The largest dyadic fraction of so many significant bits, or one more, not above a number.

    Sums of such fractions have the denominator of the finest one, however many there are.
    """
    if value <= 0:
        return Fraction(0)
    shift = bits - (value.numerator.bit_length() - value.denominator.bit_length())
    scale = Fraction(2) ** shift
    return math.floor(value * scale) / scale


def _read_number(text: str) -> Fraction | None:
    """A decimal number or a ratio of whole numbers; None for anything else, or a longer one."""
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None or abs(int(found["exponent"] or 0)) > _LARGEST_EXPONENT:
        return None
    try:
        return Fraction(text)
    except ZeroDivisionError:
        return None


def _repair(parameter: str) -> str:
    """Kinds of numbers to give; of a delta small ones, since half is no guarantee."""
    if parameter == "delta":
        return 'Give 0, or a number such as 1e-6, "1e-6" or Decimal("1e-6")'
    return 'Give a number such as 0.5, "0.5", Fraction(1, 2) or Decimal("0.5")'


def float_down(value: Amount) -> float:
    """Return the largest double that is not larger than ``value``."""
    if value == math.inf:
        return math.inf
    exact = Fraction(value)
    try:
        nearest = float(exact)
    except OverflowError:
        return -math.inf if exact < 0 else math.nextafter(math.inf, 0.0)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def float_up(value: Amount) -> float:
    """Return the double nearest above ``value`` when read as its shortest decimal.

    One tenth gives ``0.1``, because that is what ``0.1`` means to :func:`to_rational`.
    """
    return _shortest(value, towards=math.inf)


def shortest_down(value: Amount) -> float:
    """Return the double nearest below ``value`` when read as its shortest decimal.

    For display only: as a binary number it may lie above ``value`` by half a unit in the
    last place. A kernel's parameter comes from :func:`float_down`.
    """
    return _shortest(value, towards=-math.inf)


def _shortest(value: Amount, towards: float) -> float:
    if value == math.inf:
        return math.inf
    exact = Fraction(value)
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if towards > 0 else math.nextafter(math.inf, 0.0)
    while _wrong_side(Fraction(repr(nearest)), exact, towards):
        nearest = math.nextafter(nearest, towards)
        if math.isinf(nearest):
            return nearest
    return nearest


def _wrong_side(read_back: Fraction, exact: Fraction, towards: float) -> bool:
    return read_back < exact if towards > 0 else read_back > exact


def exact_text(value: Amount) -> str:
    """Write an amount so that :func:`parse_amount` reads the same amount back."""
    return "inf" if value == math.inf else str(Fraction(value))


def parse_amount(text: str) -> Amount:
    """Read what :func:`exact_text` wrote; ValueError for anything else.

    Other forms of numbers are refused, since one like 1e999999999 would be worked out.
    """
    if not is_exact(text):
        raise ValueError("not an exact amount")
    if text == "inf":
        return math.inf
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def is_exact(text: str) -> bool:
    """True if a text is one that :func:`exact_text` may have written, at a glance."""
    return text == "inf" or _EXACT.fullmatch(text) is not None


def kept_by_text(read: Reader) -> Reader:
    """Decorator: what a reader makes of short texts is kept.

    Books write the same few down thousands of times, for each tree and each level.

    Parameters
    ----------
    read : callable
        Of texts alone; what it gives is frozen.
    """
    kept = lru_cache(maxsize=1024)(read)

    @wraps(read)
    def reading(*texts: str) -> Any:
        return (kept if sum(map(len, texts)) <= _KEPT else read)(*texts)

    return cast(Reader, reading)


@kept_by_text
def parse_loss(epsilon: str, rho: str, delta: str) -> PrivacyLoss:
    """Read three amounts that :func:`exact_text` wrote; a delta is finite."""
    return PrivacyLoss(parse_amount(epsilon), parse_amount(rho), parse_finite(delta))


def parse_finite(text: str) -> Fraction:
    """Read what :func:`exact_text` wrote of a finite amount; ValueError for anything else."""
    amount = parse_amount(text)
    if isinstance(amount, float):
        raise ValueError("not a finite amount")
    return amount


def added_up(amounts: Iterable[Amount]) -> Amount:
    """The sum of amounts, while it has no more digits than :func:`parse_amount` reads back.

    Adding up hundreds of rationals that share no divisor takes ever longer, and whoever writes a
    file may choose them so.

    Raises
    ------
    TooManyDigitsError
        Where the sum of the first few has more digits.
    """
    amounts = iter(amounts)
    above, below, beyond = 0, 1, _power_of_ten(MOST_DIGITS)
    for amount in amounts:
        if isinstance(amount, float):
            return sum(amounts, Fraction(above, below) + amount)  # infinite from here on
        if below % amount.denominator:
            total = Fraction(above, below) + amount
            above, below = total.numerator, total.denominator
        else:  # no common divisor is looked for: most amounts are multiples of one
            above += amount.numerator * (below // amount.denominator)
        if (below >= beyond or abs(above) >= beyond) and is_long(Fraction(above, below)):
            raise TooManyDigitsError("a sum of amounts has too many digits")
    return Fraction(above, below)


def sqrt_down(value: Fraction) -> Fraction:
    """Return a lower bound of the square root, within 2**-100 relative of it."""
    if value <= 0:
        return Fraction(0)
    # floor(sqrt(n * d * 4^k)) / (d * 2^k) is below sqrt(n / d).
    product = value.numerator * value.denominator
    shift = max(0, 200 - product.bit_length()) // 2 + 1
    return Fraction(math.isqrt(product << (2 * shift)), value.denominator << shift)


def sqrt_in_steps(value: Fraction, steps: int = ROOT_STEPS) -> Fraction:
    """Return the largest multiple of ``1 / steps`` that is not above the square root."""
    return Fraction(math.isqrt(math.floor(value * steps * steps)), steps)


def mixture_epsilon(probabilities: Sequence[Fraction], epsilons: Sequence[Amount]) -> Amount:
    """Pure epsilon of one record that enters side j with probability p_j, secretly.

    Parameters
    ----------
    probabilities : sequence of Fraction
        p_j of each side, drawn for each record independently of all others. What is missing
        to one is the probability of being left out, a side with epsilon = 0.
    epsilons : sequence of Fraction or math.inf
        Total of everything that is run on side j.

    Returns
    -------
    Fraction or math.inf
        Upper bound of ln sum_j p_j exp(epsilon_j), at most ``max(epsilons)``, and exactly that
        when all sides (the left-out one too) are equal. At most 1e-39 above the true value
        for epsilons up to 1e15.

    Notes
    -----
    Let P_0 be the output's law without the record, P_j with it on side j. Then
    P = sum_j p_j P_j, and exp(-epsilon_j) P_0 <= P_j <= exp(epsilon_j) P_0 pointwise, so
    P <= P_0 sum_j p_j exp(epsilon_j) and P >= P_0 sum_j p_j exp(-epsilon_j). By Jensen
    ln E exp(epsilon) >= E epsilon >= -ln E exp(-epsilon), so the first term bounds both ways.
    Held by tests/accounting/test_rationals.py (against mpmath, and against both terms).
    """
    left_out = 1 - sum(probabilities, Fraction(0))
    sides = [(p, e) for p, e in zip(probabilities, epsilons, strict=True) if p > 0]
    if left_out > 0:
        sides.append((left_out, Fraction(0)))
    largest = max((e for _, e in sides), default=Fraction(0))
    if largest == math.inf or all(e == largest for _, e in sides):
        return largest
    return _log_mean_exp_up(tuple(sides), Fraction(largest))


@lru_cache(maxsize=8192)
def _log_mean_exp_up(sides: tuple[tuple[Fraction, Fraction], ...], largest: Fraction) -> Fraction:
    """Bound largest + ln sum_j p_j exp(epsilon_j - largest) from above; never above largest."""
    total = Decimal(0)
    for probability, epsilon in sides:
        # Every step rounds up; exp and ln round to nearest, so one step up makes them bounds.
        power = exp_up(epsilon - largest)
        total = _UPWARDS.fma(_decimal_up(probability), power, total)
    bound = largest + _ceil_to_grid(_UPWARDS.next_plus(_UPWARDS.ln(total)))
    return min(bound, largest)


def exp_up(exponent: Fraction) -> Decimal:
    """Return an upper bound of exp(exponent), correct to 59 digits."""
    return _UPWARDS.next_plus(_UPWARDS.exp(_decimal_up(exponent)))


def log_up(value: Fraction) -> Fraction:
    """Return an upper bound of ln(value), a multiple of 1e-40."""
    return _ceil_to_grid(_UPWARDS.next_plus(_UPWARDS.ln(_decimal_up(value))))


def _decimal_up(value: Fraction) -> Decimal:
    return _UPWARDS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _ceil_to_grid(value: Decimal) -> Fraction:
    # Rounded as a decimal: one step above zero has an exponent no Fraction could hold.
    return Fraction(_WIDE.quantize(value, _GRID_STEP))
