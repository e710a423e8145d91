"""The calibrated model of a split, honest.json, in numpy: a Gaussian process, and
what the training groups that were left out teach about its error."""

import bisect
import json
import math
from types import SimpleNamespace

import numpy as np

from ._scale import Scale

TINY = 1e-12  # added to squared scaled distances
MIN_VARIANCE = 1e-9  # of the latent function, standardised
MIN_DISTANCE = 1e-4  # added to every distance to the measured groups
EDGE = 1e-9  # share of the range by which a value may exceed the measured ones


class Honest:
    """absent: why there are no intervals, "" where there are."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            j = json.load(f)
        if j.get("format") != "doubletake-honest-model" or j.get("version") != 2:
            raise ValueError("%s: expected a doubletake-honest-model of version 2, found %r version %r" % (path, j.get("format"), j.get("version")))
        self.path, self.held_out, self.absent = path, j["held_out"], j.get("absent", "")
        self.inputs = [i["name"] for i in j.get("inputs") or []]
        record = j.get("record") or {}
        self.checked = record.get("coverage") is not None
        self.calibration = c = j.get("calibration")
        if c is None:
            self.absent = self.absent or "no calibration"
            return
        if c["axis"] is not None and c["condition"] not in self.inputs:
            self.absent = "the groups' condition %s is no input" % c["condition"]
            return
        if "model" not in j:
            self.absent = "the calibrated model is made of networks; pipeline predict evaluates it"
            return
        self.scale, self.deviation = Scale(c["scale"]), np.array(c["deviation"])
        self.logarithm, self.orders, m = j.get("logarithm"), j.get("orders"), j["model"]
        self.form = (j.get("representation") or {}).get("form")
        self.columns, self.others = m["columns"], m["others"] or []
        self.x_mean, self.x_std = np.array(m["input_mean"]), np.array(m["input_std"])
        self.y_mean, self.y_std = m["outcome_mean"], m["outcome_std"]
        self.hyper, self.noise, out = m["hyperparameters"], m["noise"], m["outcomes"]
        rows = lambda v: np.array(v).reshape(-1, len(self.columns))
        if m.get("cells"):  # per outcome: rows, values, variances with the nugget
            self.given = [(rows(c["x"]), np.array(c["y"]), np.array(c["variance"])) for c in m["cells"]]
        else:
            y, spread = np.array(m["y"]).reshape(-1, out), np.array(m["spread"]).reshape(-1, out)
            self.given = [(rows(m["x"]), y[:, j], spread[:, j] + h["nugget"] ** 2) for j, h in enumerate(self.hyper)]
        self._factors = None

    def predict(self, x, level=None, extrapolate=False):
        """Calibrated predictions at conditions x, own units."""
        z, c = self._features(x), self.calibration
        if self._factors is None:
            self._factors = [self._factor(j) for j in range(len(self.hyper))]
        mean, claim, noise = (np.empty((len(z), len(self.hyper))) for _ in range(3))
        for j in range(len(self.hyper)):
            for s in range(0, len(z), 512):
                part = slice(s, s + 512)
                mean[part, j], claim[part, j] = self._at(j, z[part])
            noise[:, j] = self._noise(j, z)
            s = self.y_std[j]
            mean[:, j], claim[:, j], noise[:, j] = mean[:, j] * s + self.y_mean[j], claim[:, j] * s * s, noise[:, j] * s * s
        shape = len(x), len(c["mean"])  # in order form a column of harmonics
        mean, claim, noise = mean.reshape(shape), claim.reshape(shape), noise.reshape(shape)
        for j, p in enumerate(self.form["outcome_powers"] if self.form else []):
            if p:  # the process predicts y over this factor
                factor = np.exp(self._logs(x, p))
                mean[:, j], claim[:, j], noise[:, j] = mean[:, j] * factor, claim[:, j] * factor**2, noise[:, j] * factor**2
        level = c["level"] if level is None else level
        distance, why = self._where(x)
        if extrapolate:
            why = [""] * len(x)
        unit2, law = self.deviation**2, np.empty((3, mean.size))
        value = (claim / unit2).ravel(), np.repeat(distance, shape[1]), (noise / unit2).ravel()
        for s in range(0, mean.size, 512):
            law[:, s : s + 512] = self.scale.at(*(v[s : s + 512] for v in value), level)
        epistemic, variance, half = law.reshape((3,) + shape)
        half = np.where(np.array(why, object)[:, None] == "", half * self.deviation, np.nan)
        return SimpleNamespace(
            level=level, no_interval=why, mean=mean, low=mean - half, high=mean + half, sd_claimed=np.sqrt(claim),
            sd=np.sqrt(variance) * self.deviation, sd_epistemic=np.sqrt(epistemic) * self.deviation,
            sd_noise=np.sqrt(np.maximum(variance - epistemic, 0)) * self.deviation,
        )

    def _features(self, x):
        """Standardised inputs of the process: a row each condition, or each harmonic of one."""
        x = np.array(x, float)
        o = self.orders
        if self.form:
            c = [self._logs(x, c["powers"]) if c.get("powers") else x[:, c["from"]] for c in self.form["columns"]]
            return (np.column_stack(c)[:, self.columns] - self.x_mean) / self.x_std
        take = [o["Speed"], o["Blades"]] if o else [k for k, log in enumerate(self.logarithm) if log]
        if (x[:, take] <= 0).any():
            raise ValueError("expected positive values of %s" % ", ".join(self.inputs[k] for k in take))
        if o:
            blades, m = np.repeat(x[:, o["Blades"]], o["Harmonics"]), np.tile(np.arange(1.0, o["Harmonics"] + 1), len(x))
            x[:, o["Speed"]] = np.log(x[:, o["Speed"]])
            x = np.column_stack([np.repeat(x, o["Harmonics"], axis=0), np.log(m * blades), m])
        else:
            x[:, take] = np.log(x[:, take])
        return (x[:, self.columns] - self.x_mean) / self.x_std

    def _logs(self, x, powers):
        """The sum of powers·ln x of the inputs that have a power."""
        x, take = np.array(x, float), [k for k, p in enumerate(powers) if p]
        if (x[:, take] <= 0).any():
            raise ValueError("expected positive values of %s" % ", ".join(self.inputs[k] for k in take))
        return np.log(x[:, take]) @ np.array(powers)[take]

    def _kernel(self, h, a, b):
        k = h["constant"] ** 2 + (a * np.square(h["linear"])) @ b.T
        k += h["amplitude"] ** 2 * matern(a, b, h["length"], range(len(h["length"])))
        if h["shared"] > 0:
            k += h["shared"] ** 2 * matern(a, b, h["lengths"], self.others)
        return k

    def _factor(self, j):
        """The Cholesky factor of the covariance of the conditions, and its inverse times y."""
        h, (x, y, variance) = self.hyper[j], self.given[j]
        k = self._kernel(h, x, x) + np.diag(variance)
        for jitter in (0, 1e-10, 1e-8, 1e-6):  # only where rounding leaves it indefinite
            try:
                l = np.linalg.cholesky(k + jitter * np.eye(len(k)))
                break
            except np.linalg.LinAlgError:
                if jitter == 1e-6:
                    raise
        w = solve(l, y[:, None])
        return l, solve(l.T[::-1, ::-1], w[::-1])[::-1, 0]

    def _at(self, j, z):
        h, (l, weights) = self.hyper[j], self._factors[j]
        k = self._kernel(h, self.given[j][0], z)
        r = math.sqrt(5 * TINY)
        own = h["constant"] ** 2 + (h["amplitude"] ** 2 + h["shared"] ** 2) * (1 + r + r * r / 3) * math.exp(-r)
        own = own + np.square(z * h["linear"]).sum(axis=1)
        variance = np.maximum(own - np.square(solve(l, k)).sum(axis=0), MIN_VARIANCE) + h["nugget"] ** 2
        return weights @ k, variance

    def _noise(self, j, z):
        n, d = self.noise[j], len(self.columns)
        f = [np.ones(len(z))] + [z[:, i] for i in range(d)] + [z[:, i] * z[:, k] for i in range(d) for k in range(i, d)]
        return np.clip(np.exp(np.clip(np.array(n["coefficients"]) @ np.array(f), -30, 10)), n["min"], n["max"])

    def _where(self, x):
        """The distance to the measured groups, and why no left-out group covers a condition."""
        c, axis, distance, words = self.calibration, self.calibration["axis"], np.ones(len(x)), []
        reach = max((g["farthest"] for g in c["groups"] or []), default=0)
        for i, row in enumerate(x):
            if axis is not None:
                distance[i] = between(axis, row[self.inputs.index(c["condition"])])
            why = []
            for v, r in zip(row, c["inputs"]):
                tolerance = EDGE * max(r["max"] - r["min"], abs(r["max"]), abs(r["min"]))
                if r["min"] - tolerance <= v <= r["max"] + tolerance:
                    continue
                text = "%s %.6g is outside %.6g to %.6g" % (r["name"], v, r["min"], r["max"])
                if not r["from_group"]:
                    why.append("not calibrated in this direction: %s, and no left-out group tests that" % text)
                elif axis is None or distance[i] > reach * (1 + EDGE):
                    why.append("%s, farther than any left-out group" % text)
            if c["k"] == 0 and not self.checked:
                why.append("it was checked on no held-out value")
            words.append("; ".join(why))
        return distance, words


def matern(a, b, lengths, use):
    """The Matérn-5/2 correlation of rows a and b by some of their columns."""
    q = np.full((len(a), len(b)), TINY)
    for length, k in zip(lengths, use):
        q += np.square((a[:, k, None] - b[None, :, k]) / length)
    r = np.sqrt(5 * q)
    return (1 + r + r * r / 3) * np.exp(-r)


def solve(l, b, block=64):
    """The inverse of a lower triangular matrix times b, in blocks: numpy has no such solver."""
    x = np.array(b)
    for s in range(0, len(l), block):
        e = min(s + block, len(l))
        x[s:e] = np.linalg.solve(l[s:e, s:e], x[s:e] - l[s:e, :s] @ x[:s])
    return x


def between(axis, z):
    """The distance of z to the measured values."""
    v, unit = axis["values"], axis["range"]
    i = bisect.bisect_left(v, z)
    if i < len(v) and v[i] == z:
        d = 0.0
    elif i == 0:
        d = 2 * (v[0] - z) / unit
    elif i == len(v):
        d = 2 * (z - v[-1]) / unit
    else:
        d = 2 * (z - v[i - 1]) * (v[i] - z) / ((v[i] - v[i - 1]) * unit)
    return d + MIN_DISTANCE
