"""The law of a value of a new group, as left-out groups teach it: a mixture of normal
laws about the predicted mean, whose variances are λ·q + κ·σ²."""

import math
from statistics import NormalDist

import numpy as np

LAMBDA = np.exp(np.linspace(math.log(0.01), math.log(300), 90))
NEGLIGIBLE = 1e-10  # weight below which a λ is left out
MIN_CLAIM = 1e-9  # the variance to which a smaller claim is raised

# (1+2x)·exp(x²)·erfc(x) for x ≥ 0, within 5e-12 of it, as a polynomial of (x−3)/(x+3).
SCALED_ERFC = (
    0.000000054902, 0.000001694670, -0.000000339417, -0.000017412213, 0.000004638048, 0.000122778664, -0.000105009266,
    -0.000778655343, 0.001888647542, 0.002529047709, -0.023770508303, 0.068308081221, -0.119273663884, 0.129645154890,
    -0.047562294343, -0.135621106045, 1.253008058270,
)


class Scale:
    def __init__(self, stored):
        self.ratio, self.factor = stored["ratio"], stored["claim_factor"]
        self.floor = max(stored["claim_floor"], MIN_CLAIM)
        kappa, share = atoms(**stored["noise"])
        weights = np.array(stored["weights"])
        shape, k = np.nonzero(weights > NEGLIGIBLE)
        # One value a law.
        self.shape, self.scale = np.repeat(shape, len(kappa)), np.repeat(LAMBDA[k], len(kappa))
        self.kappa, self.weight = np.tile(kappa, len(k)), np.outer(weights[shape, k], share).ravel()
        self.merged = len(kappa) > 1

    def at(self, claim, distance, noise, level):
        """Variance of the mean, that of one measurement and the half width of its interval,
        where the model claims a variance, at a distance to the measured groups."""
        claim, distance = self.factor * np.maximum(claim, self.floor), self.ratio * distance
        q = np.stack([claim, np.sqrt(claim * distance), distance], axis=1)[:, self.shape] * self.scale
        epistemic, variances = q @ self.weight, q + noise[:, None] * self.kappa
        variance = variances @ self.weight
        weights = np.broadcast_to(self.weight, variances.shape)
        if self.merged:
            variances, weights = merge(variances, weights)
        return epistemic, variance, half_width(variances, weights, level)


def atoms(scale, freedom=0):
    """Values of κ = scale·freedom/χ² with their probabilities: Gauss's quadrature of the χ² law."""
    if freedom == 0:
        return np.array([scale]), np.ones(1)
    k, alpha = np.arange(7.0 if freedom >= 10 else 20.0), freedom / 2 - 1
    off = np.sqrt(k[1:] * (k[1:] + alpha))
    x, vectors = np.linalg.eigh(np.diag(2 * k + 1 + alpha) + np.diag(off, 1) + np.diag(off, -1))
    return scale * freedom / (2 * x), vectors[0] ** 2


def merge(variances, weights):
    """Replaces laws whose variances agree to 3 %, in the first five bits of their mantissa, by
    one with their mean variance, as the program does."""
    rows = len(variances)
    bins = variances.view(np.int64) >> 47
    bins -= bins.min()
    width = bins.max() + 1
    bins += width * np.arange(rows)[:, None]
    total = lambda w: np.bincount(bins.ravel(), w.ravel(), rows * width).reshape(rows, width)
    weight = total(weights)
    return np.where(weight > 0, total(weights * variances) / np.where(weight > 0, weight, 1), 1), weight


def half_width(variances, weights, level):
    """Half width of the central interval of normal laws about 0: the root of
    Σ w·erfc(√(y/2v)) = 1 − level, where y is its square, for each row. The logarithm of the sum
    is convex in y, so that Newton's steps from below cannot pass the root."""
    weights = weights / weights.sum(axis=1, keepdims=True)
    y = NormalDist().inv_cdf((1 + level) / 2) ** 2 * (weights * variances).sum(axis=1)
    for _ in range(50):
        x2 = y[:, None] / (2 * variances)
        x, density = np.sqrt(x2), weights * np.exp(-x2)
        outside = (density * scaled_erfc(x)).sum(axis=1)
        slope = (density * x).sum(axis=1) / math.sqrt(math.pi)
        step = np.maximum(1 + outside / slope * np.log(outside / (1 - level)), 0.1)
        y = y * step
        if (np.abs(step - 1) < 1e-10).all():
            break
    return np.sqrt(y)


def scaled_erfc(x):
    """exp(x²)·erfc(x) for x ≥ 0: numpy has no such function."""
    return np.polyval(SCALED_ERFC, (x - 3) / (x + 3)) / (1 + 2 * x)
