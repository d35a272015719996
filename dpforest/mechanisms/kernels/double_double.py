"""Numbers as sums of two doubles: some 106 bits, for sums whose last error is to be known.

Of each number the second double is at most half of the first's last digit. With u = 2^-53 a sum
then errs by at most 3 u^2 of what comes out, and a product by 5 u^2 (Joldes, Muller and Popescu,
"Tight and rigorous error bounds for basic building blocks of double-word arithmetic", ACM TOMS
2017): both less than 2^-103. A quotient of three steps errs by the products of its first two and
by its last sum, 9 u^2 and less than 2^-102. These hold while nothing overflows; what underflows
loses less than 2^-1000 more. No library's exp is used: other machines have another one.

Dekker 1971; Hida, Li and Bailey 2001. **Tests**: tests/mechanisms/test_double_double.py.
"""

from __future__ import annotations

from dpforest.kernels.compiling import kernel

_SPLIT = 134217729.0  # 2^27 + 1
_LN2_HI, _LN2_LO = 0.6931471805599453, 2.3190468138462996e-17
#: Scores beyond are as good as endless: exp(-60) is below 2^-86.
LARGEST_SCORE = 60.0
#: An argument is made so many halvings smaller before its series, which then has few terms.
_HALVINGS = 8
_TERMS = 10


@kernel(inline="always")
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b, rounded, and what that lost."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel(inline="always")
def two_product(a: float, b: float) -> tuple[float, float]:
    """a b, rounded, and what that lost; for sizes below 2^996."""
    p = a * b
    t = _SPLIT * a
    a_hi = t - (t - a)
    a_lo = a - a_hi
    t = _SPLIT * b
    b_hi = t - (t - b)
    b_lo = b - b_hi
    return p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


@kernel(inline="always")
def add(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> tuple[float, float]:
    """Sum of two numbers."""
    s, e = two_sum(a_hi, b_hi)
    t, f = two_sum(a_lo, b_lo)
    s, e = two_sum(s, e + t)
    return two_sum(s, e + f)


@kernel(inline="always")
def multiply(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> tuple[float, float]:
    """Product of two numbers."""
    p, e = two_product(a_hi, b_hi)
    return two_sum(p, e + (a_hi * b_lo + a_lo * b_hi))


@kernel()
def divide(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> tuple[float, float]:
    """Quotient of two numbers: three steps of long division."""
    q = a_hi / b_hi
    hi, lo = q, 0.0
    rest_hi, rest_lo = a_hi, a_lo
    for _ in range(2):
        p_hi, p_lo = multiply(q, 0.0, b_hi, b_lo)
        rest_hi, rest_lo = add(rest_hi, rest_lo, -p_hi, -p_lo)
        q = rest_hi / b_hi
        hi, lo = add(hi, lo, q, 0.0)
    return hi, lo


@kernel()
def exponential(hi: float, lo: float) -> tuple[float, float]:
    """exp of a number of size at most `LARGEST_SCORE`, within 2^-95 of itself.

    With u = 2^-53: k ln 2 is off by 87 times 2^-106 and by 5 u^2 of 60, together 2^-97.4, and so is
    r, which is at most .35. Terms that are left out of exp(r / 2^8) - 1 are 2^-120 of it, its
    rounding is 9 u^2, and each doubling adds 3.2 u^2, in all less than 2^-100. A power of two
    loses nothing: |k| <= 87.
    """
    k = round(hi / _LN2_HI)
    p_hi, p_lo = multiply(float(k), 0.0, _LN2_HI, _LN2_LO)
    r_hi, r_lo = add(hi, lo, -p_hi, -p_lo)
    scale = 0.5**_HALVINGS
    r_hi, r_lo = r_hi * scale, r_lo * scale
    # exp(r) - 1 by Horner's rule; its smallness keeps all digits while it is doubled.
    e_hi, e_lo = 1.0, 0.0
    for n in range(_TERMS, 1, -1):
        e_hi, e_lo = multiply(e_hi, e_lo, r_hi, r_lo)
        e_hi, e_lo = divide(e_hi, e_lo, float(n), 0.0)
        e_hi, e_lo = add(e_hi, e_lo, 1.0, 0.0)
    e_hi, e_lo = multiply(e_hi, e_lo, r_hi, r_lo)
    for _ in range(_HALVINGS):
        s_hi, s_lo = multiply(e_hi, e_lo, e_hi, e_lo)
        e_hi, e_lo = add(2.0 * e_hi, 2.0 * e_lo, s_hi, s_lo)
    e_hi, e_lo = add(e_hi, e_lo, 1.0, 0.0)
    power = 2.0**k
    return e_hi * power, e_lo * power


@kernel()
def logistic(hi: float, lo: float) -> tuple[float, float]:
    """1 / (1 + exp(-z)), within 2^-80: exp(-60) beyond the largest score, and 2^-95 below it.

    What is no number stays none: an error would tell that a sum overflowed.
    """
    if hi != hi:
        return hi, hi
    if hi > LARGEST_SCORE:
        return 1.0, 0.0
    if hi < -LARGEST_SCORE:
        return 0.0, 0.0
    if hi >= 0.0:
        e_hi, e_lo = exponential(-hi, -lo)
        b_hi, b_lo = add(e_hi, e_lo, 1.0, 0.0)
        return divide(1.0, 0.0, b_hi, b_lo)
    e_hi, e_lo = exponential(hi, lo)
    b_hi, b_lo = add(e_hi, e_lo, 1.0, 0.0)
    return divide(e_hi, e_lo, b_hi, b_lo)
