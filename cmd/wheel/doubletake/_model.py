"""Trained models in numpy: the numbers of `pipeline predict`, and κ."""

import json
import operator
import os
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np

from ._columns import COLUMNS
from ._honest import Honest
from ._quadrature import line, points, softplus


class Model:
    """A model.json, the folder of one, or the folder of a split with several
    (seed-0, seed-1, …), which then predict together.

    inputs, outcomes: names. units: of both. card: what the file card.json
    states, {} without one. uncalibrated: why there is no calibrated prediction,
    "" where there is one.
    """

    def __init__(self, path):
        path = os.fspath(path)
        files = [path]
        if os.path.isdir(path):
            files = [os.path.join(path, "model.json")]
            if not os.path.exists(files[0]):
                seeds = [d for d in os.listdir(path) if d.startswith("seed-")]
                seeds.sort(key=lambda d: (int(d[5:]) if d[5:].isdigit() else 1 << 62, d))
                files = [os.path.join(path, d, "model.json") for d in seeds]
                files = [f for f in files if os.path.exists(f)]
            if not files:
                raise FileNotFoundError("%s: expected model.json, or seed-*/model.json" % path)
        self.paths = files
        self._nets = [_Net(f) for f in files]
        self.card = {}
        card = os.path.join(os.path.dirname(files[0]), "card.json")
        if os.path.exists(card):
            with open(card, encoding="utf-8") as f:
                self.card = json.load(f)
        first = self._nets[0]
        for n in self._nets:
            if (n.n_in, n.n_out) != (first.n_in, first.n_out):
                raise ValueError("%s: expected the inputs and outcomes of %s" % (n.path, first.path))
        inputs = self.card.get("inputs") or [{"name": "x%d" % (i + 1)} for i in range(first.n_in)]
        outcomes = self.card.get("outcomes") or [{"name": "y%d" % (i + 1)} for i in range(first.n_out)]
        if len(inputs) != first.n_in or len(outcomes) != first.n_out:
            raise ValueError("%s: card and model are not of one training" % card)
        self.inputs = [i["name"] for i in inputs]
        self.outcomes = [o["name"] for o in outcomes]
        self.units = {i["name"]: i.get("unit", "") for i in inputs + outcomes}
        self._split = os.path.dirname(os.path.dirname(os.path.abspath(files[0])))
        honest = os.path.join(self._split, "honest.json")
        self._honest, self.uncalibrated = None, "no calibrated model"
        if os.path.exists(honest):
            h = Honest(honest)
            if not h.absent and (h.held_out != self.card.get("held_out") or h.inputs != self.inputs):
                raise ValueError("%s: expected the inputs and the held-out set of %s" % (honest, first.path))
            self._honest, self.uncalibrated = None if h.absent else h, h.absent
        self._checked = self._records()

    def __repr__(self):
        return "<Model of %d network%s: %s of %s; held out: %s; %s>" % (
            len(self._nets), "s"[:len(self._nets) - 1], ", ".join(self.outcomes), ", ".join(self.inputs),
            self.card.get("held_out") or "unknown", self.uncalibrated or "calibrated")

    def _records(self):
        """The outcomes whose network intervals were checked on held-out values, by the report."""
        path = os.path.join(self._split, "..", "..", "report", "metrics.json")
        if not self.card or not os.path.exists(path):
            return set()
        with open(path, encoding="utf-8") as f:
            j = json.load(f)
        others, own = self.card.get("record_of_splits"), (self.card["split"], self.card["held_out"])
        out = set()
        for s in j["splits"] if j["experiment"] == self.card["experiment"] else []:
            if s["name"] in others if others else (s["name"], s["held_out"]) == own:
                for r in s.get("network", []):
                    if r["rmse"] is not None and r["coverage"] is not None:
                        out.add(r["outcome"])
        return out

    def _rows(self, x):
        """Conditions as rows in the order of inputs."""
        if hasattr(x, "keys"):
            missing = [k for k in self.inputs if k not in x]
            if missing:
                raise ValueError("%s missing; the model's inputs are %s" % (", ".join(missing), ", ".join(self.inputs)))
            columns = np.broadcast_arrays(*(np.asarray(x[k], dtype=float) for k in self.inputs))
            x = np.stack([c.ravel() for c in columns], axis=1)
        x = np.asarray(x, dtype=float)
        if x.ndim < 2:
            x = x.reshape(-1, len(self.inputs))
        if x.ndim != 2 or x.shape[1] != len(self.inputs):
            raise ValueError("expected rows of %d inputs (%s), found the shape %s" % (len(self.inputs), ", ".join(self.inputs), x.shape))
        if not np.isfinite(x).all():
            raise ValueError("expected finite conditions")
        return x

    def predict(self, x, level=None, extrapolate=False):
        """Predicts at conditions x: rows of inputs, or a dict, Table or DataFrame
        with a column per input (numbers are repeated). Own units. level is that of
        the intervals, by default that of the configuration, and 95 % of the network.
        extrapolate also gives those that nothing supports."""
        x = self._rows(x)
        one = [n.estimate(x) for n in self._nets]
        mean = lambda name: np.mean([e[name] for e in one], axis=0)
        mu, cov = mean("mu"), mean("cov")
        apart = sum((e["mu"] - mu) ** 2 for e in one)
        variance, silent = mean("var") + apart / len(one), np.zeros(mu.shape, bool)
        alpha = 0.05 if level is None else 1 - level
        if not extrapolate:
            silent |= self._outside(x)[:, None]
        unchecked = [not extrapolate and o not in self._checked for o in self.outcomes]
        half = np.where(silent | unchecked, np.nan, NormalDist().inv_cdf(1 - alpha / 2) * np.sqrt(variance))
        with np.errstate(invalid="ignore"):
            chebyshev = np.where((cov > 0) & ~silent, np.sqrt(cov / alpha), np.nan)
        network = SimpleNamespace(
            mean=mu, low=mu - half, high=mu + half, variance=variance, cov=cov, delta=mean("delta"), kappa=mean("kappa"),
            zigzag=mean("zigzag"), spread=apart / (len(one) - 1) if len(one) > 1 else np.full(mu.shape, np.nan),
            mean_low=mu - chebyshev, mean_high=mu + chebyshev,
        )
        return Prediction(self, x, network, self._honest and self._honest.predict(x, level, extrapolate))

    def _outside(self, x):
        """Which rows are outside the training range of an input."""
        if not self.card:
            return np.zeros(len(x), bool)
        low, high = (np.array([i[k] for i in self.card["inputs"]]) for k in ("min", "max"))
        tolerance = 1e-9 * np.maximum(np.abs(low), np.abs(high))
        return ((x < low - tolerance) | (x > high + tolerance)).any(axis=1)

    def given(self, x, y):
        """Mean and variance of a second answer: outcomes y (rows of outcomes, own
        units) are fed back. Of several models the mean, and the variance of their
        mixture."""
        x = self._rows(x)
        y = np.asarray(y, dtype=float).reshape(len(x), len(self.outcomes))
        one = [n.answer(x, y) for n in self._nets]
        mu = np.mean([m for m, _ in one], axis=0)
        return mu, np.mean([v + (m - mu) ** 2 for m, v in one], axis=0)


class Prediction:
    """What models predict at n conditions: arrays of n × outcomes in own units,
    variances and covariances in unit². p["cl"] has the same as columns of one
    outcome.

    mean, low, high: the calibrated prediction, with the ends of the central interval
    of one measurement, of the probability level. sd: its standard uncertainty, of
    which sd_epistemic is that of the mean, by the left-out groups, and sd_noise the
    rest. sd_claimed: the model's own claim of the former. no_interval: why there is
    none, "" where there is one. NaN where the split has no calibrated model.

    network: the same of the networks alone. mean: of the models' means. variance: of
    one measurement, low and high the ends of its interval. cov: C. delta: δ. kappa:
    κ. zigzag: |m(μ) − μ|. spread: sample variance of the models' means, NaN of one
    model. mean_low, mean_high: Chebyshev's interval μ ± √(C/α), which holds the true
    mean if C is right; NaN where C ≤ 0.
    """

    _names = ("mean", "low", "high", "sd", "sd_epistemic", "sd_noise", "sd_claimed")

    def __init__(self, model, x, network, calibrated):
        self.inputs, self.outcomes, self.units, self.x = model.inputs, model.outcomes, model.units, x
        self.network, self.level, why = network, None, [model.uncalibrated] * len(x)
        if calibrated is not None:
            self.level, why = calibrated.level, calibrated.no_interval
        for name in self._names:
            setattr(self, name, np.full(network.mean.shape, np.nan) if calibrated is None else getattr(calibrated, name))
        self.no_interval = np.repeat(np.array(why, object)[:, None], len(self.outcomes), axis=1)

    def __repr__(self):
        return "<Prediction of %s at %d conditions, %s>" % (
            ", ".join(self.outcomes), len(self.x), "not calibrated" if self.level is None else "level %g" % self.level)

    def __getitem__(self, outcome):
        j = self.outcomes.index(outcome)
        of = lambda source, names: {k: getattr(source, k)[:, j] for k in names}
        return SimpleNamespace(
            unit=self.units[outcome], network=SimpleNamespace(**of(self.network, vars(self.network))),
            **of(self, self._names + ("no_interval",)),
        )

    def frame(self):
        """A pandas.DataFrame with the columns of `pipeline predict --csv`, as far as this
        package has their numbers, and kappa."""
        import pandas

        f = pandas.DataFrame(self.x, columns=self.inputs)
        for network in False, True:
            for j, o in enumerate(self.outcomes):
                for name, attribute in COLUMNS:
                    if attribute.startswith("network.") == network:
                        f[name % o] = operator.attrgetter(attribute)(self)[:, j]
        f.attrs = {"units": dict(self.units)}
        return f


class _Net:
    """One network. Weights are those of the file, arithmetic is float64."""

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as f:
            j = json.load(f)
        if j.get("format") != "doubletake-model" or j.get("version") != 1:
            raise ValueError("%s: expected a doubletake-model of version 1, found %r version %r" % (path, j.get("format"), j.get("version")))
        self.n_in, self.n_out = j["inputs"], j["outcomes"]
        self.flag = j["feedback"] == "flag"
        self.none = np.float32(j["feedback_when_none"])
        self.x_mean, self.x_std = np.array(j["input_mean"]), np.array(j["input_std"])
        self.y_mean, self.y_std = np.array(j["outcome_mean"]), np.array(j["outcome_std"])
        # float32, as the program has them.
        self.layers = [(np.array(l["weights"], np.float32).astype(float), np.array(l["bias"], np.float32).astype(float)) for l in j["layers"]]
        if j["config"].get("head"):
            raise ValueError("%s: head %s is not evaluated here; use pipeline predict" % (path, j["config"]["head"]))
        if self.layers[0][0].shape[0] != self.n_in + self.n_out + self.flag or self.layers[-1][0].shape[1] != 2 * self.n_out:
            raise ValueError("%s: expected layers for %d inputs and %d outcomes" % (path, self.n_in, self.n_out))

    def scaled(self, x):
        return ((x - self.x_mean) / self.x_std).astype(np.float32).astype(float)

    def raw(self, x, y):
        """Means and raw variances, standardised; y None: nothing fed back."""
        none = y is None
        if none:
            y = np.full((len(x), self.n_out), float(self.none))
        parts = [x, y]
        if self.flag:
            parts.append(np.full((len(x), 1), 0.0 if none else 1.0))
        z = np.concatenate(parts, axis=1)
        for w, b in self.layers[:-1]:
            z = np.maximum(z @ w + b, 0)
        w, b = self.layers[-1]
        z = z @ w + b
        return z[:, : self.n_out], z[:, self.n_out :]

    def answer(self, x, y=None):
        if y is not None:
            y = ((y - self.y_mean) / self.y_std).astype(np.float32).astype(float)
        m, r = self.raw(self.scaled(x), y)
        return m * self.y_std + self.y_mean, softplus(r) * self.y_std**2

    def estimate(self, x):
        """Both answers compared at conditions x, own units."""
        x, s = self.scaled(x), self.y_std
        mu, r = self.raw(x, None)
        var = softplus(r)
        again, _ = self.raw(x, mu)
        if self.n_out == 1:
            cov, delta, kappa = line(self, x, mu, var)
        else:
            cov, delta, kappa = self.cubature(x, mu, var)
        return {
            "mu": mu * s + self.y_mean, "var": var * s**2, "cov": cov * s**2, "delta": delta * s,
            "kappa": kappa * s**2, "zigzag": np.abs(again - mu) * s,
        }

    def cubature(self, x, mu, var):
        """C, δ and κ of several outcomes by the fixed points."""
        nodes, weights = points(self.n_out)
        cov, delta, kappa = (np.empty(mu.shape) for _ in range(3))
        sd = np.sqrt(var)
        # Of the first layer only what y adds changes from point to point.
        (w, b), rest = self.layers[0], self.layers[1:]
        fixed = x @ w[: self.n_in] + b + (w[-1] if self.flag else 0)
        wy = w[self.n_in : self.n_in + self.n_out]
        for i in range(len(x)):
            z = fixed[i] + (mu[i] + sd[i] * nodes) @ wy
            for w, b in rest:
                z = np.maximum(z, 0) @ w + b
            c, v = z[:, : self.n_out] - mu[i], softplus(z[:, self.n_out :])
            delta[i] = weights @ c
            cov[i] = sd[i] * (weights @ (nodes * c))
            kappa[i] = weights @ v + (weights @ c**2 - delta[i] ** 2) - var[i]
        return cov, delta, kappa
