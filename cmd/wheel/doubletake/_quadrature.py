"""The fixed rules by which C, δ and κ are integrated over the first answer
(docs/method.md, "How C is integrated")."""

import functools
import math
from statistics import NormalDist

import numpy as np

_REACH, _TAIL = 9.0, 6.0


def line(net, x, mu, var):
    """C, δ and κ of one outcome: exact where the answer is piecewise linear in ε.

    m = a + bε on a piece, C = σ Σ b·ΔΦ by Stein's lemma. Only E[v] is integrated
    numerically, by Gauss and Legendre on each piece.
    """
    sd = np.sqrt(var[:, 0])
    out = np.empty((3, len(x)))
    (w, b), rest = net.layers[0], net.layers[1:]
    wy = w[net.n_in]
    fixed = x @ w[: net.n_in] + b + (w[-1] if net.flag else 0)
    for i in range(len(x)):
        at = np.array([-_REACH, _REACH])
        z = (fixed[i] + mu[i, 0] * wy) + np.outer(at, sd[i] * wy)
        for w, b in rest:
            at, z = _kinks(at, z)
            z = np.maximum(z, 0) @ w + b
        m, r = z[:, 0] - mu[i, 0], z[:, 1]
        width = np.diff(at)
        slope = np.diff(m) / width
        a = m[:-1] - slope * at[:-1]
        cdf, pdf = _cdf(at), _pdf(at)
        mass, first = np.diff(cdf), pdf[:-1] - pdf[1:]
        second = mass + at[:-1] * pdf[:-1] - at[1:] * pdf[1:]
        delta = np.sum(a * mass + slope * first)
        square = np.sum(a * a * mass + 2 * a * slope * first + slope * slope * second)
        e, weight = _legendre(at)
        v = weight @ (softplus(np.interp(e, at, r)) * _pdf(e))
        out[:, i] = sd[i] * np.sum(slope * mass), delta, v + (square - delta * delta) - var[i, 0]
    return out[0][:, None], out[1][:, None], out[2][:, None]


def _kinks(at, z):
    """Adds the places where a unit changes its sign, and its values there."""
    a, b = z[:-1], z[1:]
    k, u = np.nonzero(((a < 0) & (b > 0)) | ((a > 0) & (b < 0)))
    share = a[k, u] / (a[k, u] - b[k, u])
    new = np.unique(np.concatenate([at, at[k] + (at[k + 1] - at[k]) * share]))
    k = np.clip(np.searchsorted(at, new, "right") - 1, 0, len(at) - 2)
    share = ((new - at[k]) / (at[k + 1] - at[k]))[:, None]
    return new, z[k] * (1 - share) + z[k + 1] * share


def _legendre(at):
    """Nodes and weights of five points on panels that end at the places at."""
    ends = np.unique(np.concatenate([at, [-_TAIL, _TAIL]]))
    middle, half = [], []
    for lo, hi in zip(ends, ends[1:]):
        n = math.ceil((hi - lo) / (0.5 if -_TAIL <= lo and hi <= _TAIL else 1.5))
        h = (hi - lo) / n
        middle.extend(lo + (k + 0.5) * h for k in range(n))
        half.extend([h / 2] * n)
    x, w = np.polynomial.legendre.leggauss(5)
    half = np.array(half)[:, None]
    return (np.array(middle)[:, None] + half * x).ravel(), (half * w).ravel()


def softplus(r):
    """The variance of a raw variance."""
    return np.maximum(r, 0) + np.log1p(np.exp(-np.abs(r))) + 1e-6


def _pdf(z):
    return np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _cdf(z):
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])


@functools.lru_cache(maxsize=None)
def points(d):
    """Points (P × d) and weights for d > 1 outcomes, of the standard normal law."""
    if d in (2, 3, 4):
        return _tensor(d, {2: 15, 3: 7, 4: 5}[d])
    if d <= 20:
        half = _halton(d, 512 if d <= 5 else 1024)
    else:
        half = _fixed(d, 1024)
    n = len(half)
    if d < n // 8:  # covariance one: the part linear in ε is exact
        l = np.linalg.cholesky(half.T @ half / n)
        half = np.linalg.solve(l, half.T).T
    nodes = np.concatenate([half, -half]).astype(np.float32).astype(float)
    return nodes, np.full(2 * n, 1 / (2 * n))


def _tensor(d, q):
    x, w = np.polynomial.hermite_e.hermegauss(q)
    w = w / w.sum()
    grid = np.indices((q,) * d).reshape(d, -1)
    return x.astype(np.float32).astype(float)[grid].T, w[grid].prod(axis=0)


def _halton(d, n):
    """Halton points with reversed digits, as normals."""
    quantile = NormalDist().inv_cdf
    x = np.empty((n, d))
    prime = 1
    for j in range(d):
        prime = next(p for p in range(prime + 1, 1 << 30) if all(p % f for f in range(2, p)))
        for i in range(n):
            f, u, k = 1.0, 0.0, i + 1
            while k > 0:
                f /= prime
                u += f * (-k % prime)
                k //= prime
            x[i, j] = quantile(u)
    return x


def _fixed(d, n):
    """Independent normals by PCG-DXSM, the same ones always."""
    m64, m128 = (1 << 64) - 1, (1 << 128) - 1

    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & m64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & m64
        return z ^ z >> 31

    seed = mix((mix(0x9E3779B97F4A7C15) + 7 * 0xD1342543DE82EF95) & m64)
    state = seed << 64 | mix(seed + 1 & m64)
    quantile = NormalDist().inv_cdf
    out = []
    for _ in range(n * d):
        state = (state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) & m128
        hi, lo = state >> 64, state & m64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & m64
        hi ^= hi >> 48
        hi = hi * (lo | 1) & m64
        out.append(quantile(((hi >> 11) + 0.5) * 2.0**-53))
    return np.array(out).reshape(n, d)
