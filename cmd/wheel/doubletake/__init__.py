"""Results of doubletake as numpy arrays. Every number comes from the program pipeline, which the wheel brings along.

    import doubletake

    t = doubletake.load("runs")["drone/triplets"]           # a dict of numpy arrays
    t["rpm"], t.units["rpm"], t.frame()                     # frame() needs pandas
    m = doubletake.Model("runs/drone/splits/3-blades")
    p = m.predict({"blades": 3, "rpm": [4000, 5000], "theta_deg": 0})
    for event in doubletake.run("pipeline.yaml"):
        print(event["event"], event.get("task", ""))
    doubletake.judge(frame, "runs/drone", groups="rotor")   # another program's predictions
"""

import csv
import io
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections import UserDict
from functools import cached_property
from types import SimpleNamespace

import numpy as np

__all__ = ["Judgement", "Model", "Prediction", "RunError", "Runs", "Table", "judge", "load", "program", "read", "run"]
__version__ = "0+source"


class RunError(RuntimeError):
    """The program ended with an error. status: 1 a stage failed, 2 usage, 3 input data, 130 interrupted."""
    def __init__(self, status, text):
        super().__init__(text or "pipeline ended with status %d" % status)
        self.status = status


def program():
    """The program: the environment variable DOUBLETAKE_PIPELINE, the one of this package, or the one in PATH."""
    name, user = ("pipeline.exe", "nt_user") if os.name == "nt" else ("pipeline", "posix_user")
    installed = [os.path.join(p, name) for p in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user))]
    installed = [p for p in installed if os.access(p, os.X_OK)] + [shutil.which("pipeline")]
    found = os.environ.get("DOUBLETAKE_PIPELINE") or installed[0]
    if not found:
        raise FileNotFoundError("the program pipeline is not installed: set DOUBLETAKE_PIPELINE, or install the wheel")
    return found


def _ask(*arguments):
    done = subprocess.run([program(), *arguments], capture_output=True, encoding="utf-8")
    if done.returncode:
        raise RunError(done.returncode, done.stderr.strip())
    return done.stdout


def run(config="pipeline.yaml", *arguments):
    """Runs what is out of date and yields events as they come: dicts with "event" (plan, start, done, failed, note,
    message, end), "task", "stage", "seconds". Further arguments are the program's, such as "--experiment", "drone".
    Closing the generator interrupts the program, which keeps finished results. RunError where the program fails."""
    command = [program(), "run", os.fspath(config), "--progress", "json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as p:
        text = []
        try:
            for line in p.stderr:
                try:
                    event = json.loads(line)
                except ValueError:
                    text.append(line.rstrip("\n"))
                    continue
                yield event
        except BaseException:
            p.terminate()
            for _ in p.stderr:  # it still writes until it ends
                pass
            raise
        status = p.wait()
    if status:
        raise RunError(status, "\n".join(text))


def _numbers(cells):
    return np.array([float(c or "nan") for c in cells])


def _frame(columns, **about):
    import pandas
    f = pandas.DataFrame(columns)
    f.attrs = about
    return f


class Table(dict):
    """Columns by name, as numpy arrays of equal length, in the file's order. Numbers are float64 (missing: NaN) or
    int64, flags bool, texts objects of type str. A column of lists is a float32 array of two axes where all lists have
    one length, else an object array of float32 arrays. units, descriptions: per column, "" where there is none.
    metadata: what the file states about itself."""
    def __init__(self, columns=(), units=None, descriptions=None, metadata=None):
        super().__init__(columns)
        self.units, self.descriptions, self.metadata = units or {}, descriptions or {}, metadata or {}

    @property
    def rows(self):
        return len(next(iter(self.values()))) if self else 0

    def where(self, mask):
        return Table({k: v[mask] for k, v in self.items()}, self.units, self.descriptions, self.metadata)

    def frame(self):
        columns = {k: list(v) if v.ndim > 1 else v for k, v in self.items()}
        return _frame(columns, units=self.units, descriptions=self.descriptions, metadata=self.metadata)

    def __repr__(self):
        names = ", ".join(k + (" [" + self.units[k] + "]" if self.units.get(k) else "") for k in self)
        return "<Table of %d rows: %s>" % (self.rows, names)


def _column(kind, cells):
    if kind == "double":
        return _numbers(cells)
    if kind == "long":
        return np.array([int(c) for c in cells], np.int64)
    if kind != "float":
        texts = np.array(cells, object)
        return texts == "true" if kind == "boolean" else texts
    lists = [np.array(c.split(), np.float32) for c in cells]
    if len({len(v) for v in lists}) == 1:
        return np.array(lists)
    out = np.empty(len(lists), object)
    out[:] = lists
    return out


def read(path):
    name = os.path.basename(path).removesuffix(".arrow") + ".csv"
    csv.field_size_limit(1 << 30)
    with tempfile.TemporaryDirectory() as folder:
        _ask("export", os.fspath(path), folder, "--format", "csv")
        with open(os.path.join(folder, name + "-metadata.json"), encoding="utf-8") as f:
            about = json.load(f)
        with open(os.path.join(folder, name), encoding="utf-8", newline="") as f:
            rows = list(csv.reader(f))
    columns = about["tableSchema"]["columns"]
    cells = list(zip(*rows[1:])) or [()] * len(columns)
    of = lambda key: {c["titles"]: c.get(key, "") for c in columns}
    return Table({c["titles"]: _column(c["datatype"], v) for c, v in zip(columns, cells)}, of("schema:unitText"),
                 of("dc:description"), {n["key"]: n["value"] for n in about["notes"]})


class Runs(UserDict):
    """Tables by their name below the folder: "drone/triplets", "drone/splits/3-blades/seed-0/predictions". A table is
    read when it is first used, and kept. splits: those that have models, "drone/splits/3-blades"."""
    def __init__(self, path="runs"):
        super().__init__()
        self.path, self.splits = os.fspath(path), []
        if not os.path.isdir(self.path):
            raise FileNotFoundError("%s: expected a folder of results, such as runs" % self.path)
        for folder, folders, files in os.walk(self.path):
            folders[:] = sorted(d for d in folders if not d.startswith("."))
            for p in sorted(os.path.join(folder, f) for f in files):
                name = os.path.relpath(p, self.path).replace(os.sep, "/")
                if p.endswith(".arrow"):
                    self.data[name.removesuffix(".arrow")] = p
                split = os.path.dirname(os.path.dirname(name))
                if os.path.basename(p) == "model.json" and split not in self.splits:
                    self.splits.append(split)

    def __getitem__(self, name):
        if name not in self.data:
            raise KeyError("no table %r; there are %s" % (name, ", ".join(self.data) or "none"))
        if isinstance(self.data[name], str):
            self.data[name] = read(self.data[name])
        return self.data[name]

    def model(self, split):
        return Model(os.path.join(self.path, split))

    def metrics(self, experiment="."):
        with open(os.path.join(self.path, experiment, "report", "metrics.json"), encoding="utf-8") as f:
            return json.load(f)


load = Runs


# Attributes whose columns end otherwise than _ATTRIBUTE.
_ENDS = {"mean": "", "variance": "_var", "spread": "_between_seeds_var"}


class Model:
    """A model.json, the folder of one, or the folder of a split with several (seed-0, seed-1, …), which then predict
    together. inputs, outcomes: names. units: of both. paths: of the files. card: what is known of the training.
    uncalibrated: why there is no calibrated prediction, "" where there is one; level: that of its intervals."""
    def __init__(self, path):
        self.path = os.fspath(path)
        self.card = json.loads(_ask("inspect", self.path, "--json"))["model"]
        self.paths, self.uncalibrated = self.card.pop("paths"), self.card.pop("uncalibrated")
        self.level = self.card.pop("level", None)
        inputs, outcomes = self.card["inputs"], self.card["outcomes"]
        self.inputs, self.outcomes = [i["name"] for i in inputs], [o["name"] for o in outcomes]
        self.units = {i["name"]: i.get("unit", "") for i in inputs + outcomes}

    def __repr__(self):
        return "<Model of %d network%s: %s of %s; held out: %s; %s>" % (
            len(self.paths), "s"[:len(self.paths) - 1], ", ".join(self.outcomes), ", ".join(self.inputs),
            self.card["held_out"] or "unknown", self.uncalibrated or "calibrated")

    def _rows(self, x):
        if hasattr(x, "keys"):
            if missing := [k for k in self.inputs if k not in x]:
                raise ValueError("%s missing; the inputs are %s" % (", ".join(missing), ", ".join(self.inputs)))
            x = np.stack([c.ravel() for c in np.broadcast_arrays(*(x[k] for k in self.inputs))], axis=1)
        x = np.asarray(x, dtype=float)
        x = x.reshape(-1, len(self.inputs)) if x.ndim < 2 else x
        if x.ndim != 2 or x.shape[1] != len(self.inputs) or not np.isfinite(x).all():
            raise ValueError("expected finite rows of %d inputs (%s), found the shape %s" % (
                len(self.inputs), ", ".join(self.inputs), x.shape))
        return x

    def _ask(self, x, names, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "conditions.csv")
            with open(path, "w", encoding="utf-8", newline="") as f:
                csv.writer(f).writerows([names] + (x if len(x) else np.zeros((1, len(names)))).tolist())
            head, *rows = csv.reader(io.StringIO(_ask("predict", self.path, "--conditions", path, *more)))
        return dict(zip(head, zip(*rows) if len(x) else [()] * len(head)))

    def predict(self, x, level=None, extrapolate=False):
        """Predicts at conditions x: rows of inputs, or a dict, Table or DataFrame with a column per input. level: of the
        intervals, else the configuration's, of the network 95 %. extrapolate: also those that nothing supports."""
        more = ["--extrapolate"] * extrapolate + ([] if level is None else ["--alpha", repr(1 - level)])
        return Prediction(self, self._rows(x), level, more)

    def given(self, x, y):
        """Mean and variance of the second answer, of several models together: outcomes y are fed back."""
        x = self._rows(x)
        y = np.reshape(y, (len(x), len(self.outcomes)))
        found = self._ask(np.hstack([x, y]), self.inputs + self.outcomes, "--given")
        of = lambda end: np.stack([_numbers(found["network_" + o + end]) for o in self.outcomes], axis=1)
        return of(""), of("_var")


class Prediction:
    """What models predict at n conditions: arrays of n × outcomes in own units, variances and covariances in unit².
    p["cl"] has the same as columns of one outcome. mean, low, high: the calibrated prediction, and the interval of one
    measurement, of the probability level. sd: its standard uncertainty, sd_epistemic that of the mean by the left-out
    groups, sd_noise the rest, sd_claimed the model's own claim. no_interval: why there is none, "" where there is one.
    before_measuring: the grade by the left-out groups. NaN where the split has no calibrated model.
    network: of the networks alone, asked for when it is used: mean, low, high, variance of one measurement, cov: C,
    delta: δ, kappa: κ, zigzag: |m(μ) − μ|, spread: sample variance of the models' means, mean_low, mean_high: the
    interval μ ± √(C/α) of the true mean, NaN where C ≤ 0."""
    def __init__(self, model, x, level, more):
        self.inputs, self.outcomes, self.units, self.x = model.inputs, model.outcomes, model.units, x
        self.level, self._model, self._more = None if model.uncalibrated else level or model.level, model, more
        self._own = self._columns("calibrated", "")
        vars(self).update(self._own)

    def _columns(self, only, prefix):
        """The program's columns by attribute, n × outcomes."""
        found = self._model._ask(self.x, self.inputs, "--csv", "--only", only, *self._more)
        names, out, first = list(found), {}, prefix + self.outcomes[0]
        at, to = names.index(first), names.index("distance")
        for name in names[at:at + (to - at) // len(self.outcomes)]:
            end = name[len(first):]
            cells = [found[prefix + o + end] for o in self.outcomes]
            text = end in ("_no_interval", "_before_measuring")
            attribute = next((a for a, e in _ENDS.items() if e == end), end[1:])
            out[attribute] = np.stack([np.array(c, object) if text else _numbers(c) for c in cells], axis=1)
        return out

    @cached_property
    def network(self):
        return SimpleNamespace(**self._columns("network", "network_"))

    def __getitem__(self, outcome):
        j = self.outcomes.index(outcome)
        return _Outcome(all=self, index=j, unit=self.units[outcome], **{k: v[:, j] for k, v in self._own.items()})

    def frame(self):
        """A pandas.DataFrame with the columns of `pipeline predict --csv`, without the sampled raw covariance."""
        columns = dict(zip(self.inputs, self.x.T))
        for prefix, arrays in ("", self._own), ("network_", vars(self.network)):
            for j, o in enumerate(self.outcomes):
                columns.update((prefix + o + _ENDS.get(k, "_" + k), v[:, j]) for k, v in arrays.items())
        return _frame(columns, units=self.units)

    def __repr__(self):
        return "<Prediction of %s at %d conditions, %s>" % (
            ", ".join(self.outcomes), len(self.x), "not calibrated" if self.level is None else "level %g" % self.level)


class _Outcome(SimpleNamespace):
    @property
    def network(self):
        return SimpleNamespace(**{k: v[:, self.index] for k, v in vars(self.all.network).items()})


_ROW = ("rmse", "rmse_se", "r2", "noise_ceiling", "sd", "level", "coverage", "coverage_68", "coverage_90", "coverage_95",
        "coverage_98", "half_width")


class Judgement:
    """What pipeline judge found. document: all of it, with the keys of metrics.json. verdict, sentence: of the groups
    together where there are several, else of the first split. rows: a dict for each split, outcome and prediction ("as
    stated", or "calibrated" on left-out groups), in own units; frame() has them. warnings: what was not judged."""
    def __init__(self, document):
        self.document, self.rows = document, []
        first = (document.get("pooled") or document["splits"])[0]
        self.verdict, self.sentence, self.warnings = first["verdict"], first["sentence"], document["warnings"]
        for s in document["splits"]:
            method, honest = (s.get("methods") or [{}])[0], s.get("honest", {})
            stated = [method.get(k, {}).get("mean") for k in ("interval_score", "crps")]
            learned = [honest.get(k) for k in ("interval_score", "crps")]
            for name, outcomes, (score, crps) in (
                    ("calibrated", honest.get("outcomes", []), learned), ("as stated", s["network"], stated)):
                for o in outcomes:
                    row = {"split": s["name"], "outcome": o["outcome"], "prediction": name, "verdict": o["verdict"]}
                    e = s["test"]["outcomes"][o["outcome"]]["e"]["mean"]
                    self.rows.append({**row, **{k: o[k] for k in _ROW}, "e": e, "interval_score": score, "crps": crps})

    def frame(self):
        return _frame(self.rows)

    def __repr__(self):
        return "<Judgement: %s>" % self.sentence


def _table(value, path):
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    text = lambda v: "" if v is None else str(v).removesuffix(".0")
    columns = {k: [text(v) for v in np.asarray(value[k]).tolist()] for k in value.keys()}
    if len({len(v) for v in columns.values()}) != 1:
        raise ValueError("expected columns of equal length, found %s" % {k: len(v) for k, v in columns.items()})
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows([list(columns)] + list(zip(*columns.values())))
    return path


def judge(frame, pairs, groups=None, split=None, level=0.95):
    """Judges predictions by pairs that were not trained on (docs/judge.md). frame: a dict, Table or DataFrame with the
    conditions and each outcome's mean in a column of its name, if there are any with _low, _high, _sd, _sd_epistemic,
    _sd_noise; or the path of a table. pairs: the same with OUTCOME_1 and OUTCOME_2, or an experiment's folder. groups:
    the column with the group that a prediction was trained without. split: judge what this split holds out."""
    more = [w for flag, v in (("--groups", groups), ("--split", split)) if v for w in (flag, v)]
    with tempfile.TemporaryDirectory() as folder:
        files = [_table(v, os.path.join(folder, name)) for v, name in ((frame, "1.csv"), (pairs, "2.csv"))]
        found = _ask("judge", files[0], "--against", files[1], "--level", repr(level), "--json", *more)
    return Judgement(json.loads(found))
