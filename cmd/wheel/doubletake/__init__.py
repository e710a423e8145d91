"""Results of doubletake as numpy arrays. Every number comes from the program pipeline, which the wheel brings along.

    runs = doubletake.Run("runs")                                  # prints splits with grades
    t = runs["drone/triplets"]                                     # a dict of numpy arrays
    p = runs.predict("drone/3-blades", blades=3, rpm=[4000, 5000], theta_deg=0, level=0.9)
    p["bpf1_db_low"], p.mean, p.to_pandas(), p.to_xarray()
    doubletake.judge(frame, "runs/drone", groups="rotor")          # another program's predictions
    from doubletake.regressor import Regressor                     # in the shape of scikit-learn
"""

import atexit
import csv
import difflib
import io
import json
import os
import shutil
import sysconfig
import threading
from collections import UserDict
from functools import cached_property
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from types import SimpleNamespace

import numpy as np

__version__ = "0+source"


class RunError(RuntimeError, ValueError):
    """The program ended with an error. status: 1 a stage failed, 2 usage, 3 input data, 130 interrupted."""
    def __init__(self, status, text):
        super().__init__(text or "pipeline ended with status %d" % status)
        self.status = status


def program():
    """The program: the environment variable DOUBLETAKE_PIPELINE, the one of this package, or the one in PATH."""
    name, user = ("pipeline.exe", "nt_user") if os.name == "nt" else ("pipeline", "posix_user")
    installed = [os.path.join(p, name) for p in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user))]
    there = (p for p in installed if os.access(p, os.X_OK))
    found = os.environ.get("DOUBLETAKE_PIPELINE") or next(there, shutil.which("pipeline"))
    if not found:
        raise FileNotFoundError("the program pipeline is not installed: set DOUBLETAKE_PIPELINE, or install the wheel")
    return found


_lock, _running = threading.Lock(), {}
atexit.register(lambda: [(p.kill(), p.communicate()) for (pid, _), p in _running.items() if pid == os.getpid()])


def _ask(*arguments, **files):
    """What the program prints. `pipeline session` is started for the first question of a process, and kept."""
    key = (os.getpid(), program())
    with _lock:
        if key not in _running or _running[key].poll() is not None:
            _running[key] = Popen([key[1], "session"], stdin=PIPE, stdout=PIPE, encoding="utf-8")
        p = _running[key]
        try:
            p.stdin.write(json.dumps({"arguments": arguments, "dir": os.getcwd(), "files": files}) + "\n")
            p.stdin.flush()
            answer = json.loads(p.stdout.readline() or '{"status": 1, "messages": ""}')
        except BaseException:  # such as an interrupt: its answer must not be taken for that to the next question
            p.kill()
            raise
    if answer["status"]:
        raise RunError(answer["status"], answer["messages"].strip())
    return answer["output"]


def run(config="pipeline.yaml", *arguments):
    """Runs what is out of date and yields events: dicts with "event" (plan, start, done, failed, skipped, note,
    message, end), "task", "stage", "seconds". Closing the generator interrupts the program, which keeps finished results."""
    text, command = [], [program(), "run", os.fspath(config), "--progress", "json", *arguments]
    with Popen(command, stdout=DEVNULL, stderr=PIPE, encoding="utf-8") as p:
        try:
            for line in p.stderr:
                if line.startswith("{"):
                    yield json.loads(line)
                else:
                    text.append(line)
        except BaseException:
            p.terminate()
            p.stderr.read()  # it still writes until it ends
            raise
    if p.returncode:
        raise RunError(p.returncode, "".join(text).strip())


def _unknown(what, name, known):
    near = difflib.get_close_matches(str(name), known, 1, 0.5) or [k for k in known if str(name) in k]
    hint = "; did you mean %r?" % near[0] if near else ""
    return KeyError("no %s %r%s (there are %s)" % (what, name, hint, ", ".join(known[:12]) + ", …" * (len(known) > 12)))


def _lines(head, lines):
    return "\n".join([head, *lines] if len(lines) < 10 else [head, *lines[:8], "… and %d more" % (len(lines) - 8)])


def _csv(columns):
    columns, out = {k: np.asarray(columns[k]).ravel().tolist() for k in columns.keys()}, io.StringIO()
    if len({len(v) for v in columns.values()}) > 1:
        raise ValueError("expected columns of equal length, found %s" % {k: len(v) for k, v in columns.items()})
    text = lambda v: "" if v is None else str(v).removesuffix(".0")
    csv.writer(out).writerows([list(columns), *(map(text, row) for row in zip(*columns.values()))])
    return out.getvalue()


class Table(dict):
    """Columns by name, as numpy arrays of equal length, in the file's order. Numbers are float64 (missing: NaN) or
    int64, flags bool, texts objects of type str. A column of lists is a float32 array of two axes where all have one
    length, else an array of arrays. units, descriptions: per column. metadata: what the file states about itself."""
    inputs = ()

    def __init__(self, columns=(), units=None, descriptions=None, metadata=None):
        super().__init__(columns)
        self.rows, self.units = len(next(iter(self.values()), ())), units or {}
        self.descriptions, self.metadata = descriptions or {}, metadata or {}

    def __missing__(self, name):
        raise _unknown("outcome" if self.inputs else "column", name, [k for k in self if k not in self.inputs])

    def where(self, mask):
        return Table({k: v[mask] for k, v in self.items()}, self.units, self.descriptions, self.metadata)

    def to_pandas(self):
        import pandas
        frame = pandas.DataFrame({k: list(v) if v.ndim > 1 else v for k, v in self.items()})
        frame.attrs = {"units": self.units, "descriptions": self.descriptions, "metadata": self.metadata}
        return frame

    def to_xarray(self):
        """A Dataset. A prediction's conditions are coordinates, and where they are a grid its dimensions."""
        import xarray as xr
        steps = {k: len(np.unique(self[k])) for k in self.inputs if len(np.unique(self[k])) > 1}
        data = xr.Dataset({k: (("row", k + "_index")[:v.ndim], v) for k, v in self.items()}).set_coords(self.inputs)
        if steps and np.prod(list(steps.values())) == self.rows == len(set(zip(*(self[k] for k in steps)))):
            fixed = {k: self[k][0] for k in self.inputs if k not in steps}
            data = data.drop_vars(list(fixed)).set_index(row=list(steps))
            data = (data.unstack("row") if len(steps) > 1 else data.rename(row=next(iter(steps)))).assign_coords(fixed)
        for k in self:
            data[k].attrs.update(units=self.units.get(k, ""), long_name=self.descriptions.get(k, ""))
        return data

    def __repr__(self):
        names = ", ".join(k + (" [" + self.units[k] + "]" if self.units.get(k) else "") for k in self)
        return "<Table of %d rows: %s>" % (self.rows, names)


def _column(kind, values):
    if kind != "list of float32":
        return np.array(values, {"float64": float, "int64": np.int64, "bool": bool}.get(kind, object))
    lists = [np.array(v, np.float32) for v in values]
    return np.array(lists) if len({len(v) for v in lists}) == 1 else np.array([*lists, None], object)[:-1]


def read(path):
    t = json.loads(_ask("inspect", os.fspath(path), "--json", "--values"))["table"]
    of = lambda key: {c["name"]: c.get(key, "") for c in t["columns"]}
    return Table({c["name"]: _column(c["type"], c["values"] or []) for c in t["columns"]}, of("unit"), of("description"),
                 {m["Key"]: m["Value"] for m in t["metadata"] or ()})


class Run(UserDict):
    """Tables by their name below the folder: "drone/triplets", "drone/splits/3-blades/seed-0/predictions". A table is
    read when it is first used, and kept. splits: the folders of those that have models, by name: "drone/3-blades"."""
    def __init__(self, path="runs"):
        super().__init__()
        self.path, self.splits, self._models = os.fspath(path), {}, {}
        if not os.path.isdir(self.path):
            raise FileNotFoundError("%s: expected a folder of results, such as runs" % self.path)
        for p in sorted(p for p in Path(path).glob("**/*.arrow") if ".cache" not in p.parts):
            name = p.relative_to(path).with_suffix("").as_posix()
            self.data[name] = os.fspath(p)
            if p.stem == "predictions":
                self.splits[name.rsplit("/", 2)[0].replace("splits/", "", 1)] = p.parent.parent

    def __getitem__(self, name):
        if name not in self.data:
            raise _unknown("table", name, list(self))
        if isinstance(self.data[name], str):
            self.data[name] = read(self.data[name])
        return self.data[name]

    def model(self, split=None):
        """The models of a split; None: of the only one, or of the one that holds nothing out."""
        if split is not None and split not in self.splits:
            raise _unknown("split", split, list(self.splits))
        self._models[split] = self._models.get(split) or Model(self.splits.get(split, self.path))
        return self._models[split]

    def predict(self, split=None, **conditions):
        return self.model(split).predict(**conditions)

    def metrics(self, experiment="."):
        return json.loads(Path(self.path, experiment, "report", "metrics.json").read_text(encoding="utf-8"))

    def __repr__(self):
        folders = [os.path.dirname(os.path.dirname(name)) for name in self if name.endswith("report/metrics")]
        lines = ["%-24s %-9s  %s" % (os.path.join(folder, s["name"]), s["verdict"], s["sentence"][:83])
                 for folder in folders for s in self.metrics(folder)["splits"]] or ["no report yet"]
        return _lines("<Run %s: %d tables, %d splits with models>" % (self.path, len(self), len(self.splits)), lines)


class Prediction(Table):
    """What models predict, with the columns of `pipeline predict --csv`: conditions, and of an outcome cl the columns
    cl, cl_low, cl_high, cl_sd, … in its unit, NaN where the split has no calibrated model. The attributes mean, low,
    high, sd, sd_epistemic, sd_noise, no_interval, … have the same of all outcomes, n × outcomes. level: of the
    intervals. network: that of the networks, also variance, cov, delta, kappa, zigzag, spread, mean_low, mean_high."""
    def __init__(self, model, ask, n, only="calibrated"):
        found = json.loads(ask("--only", only))
        rows = [{**c["at"], **c["prediction"]} for c in found["conditions"]]
        kind = lambda k: object if any(isinstance(r[k], str) for r in rows) else float
        super().__init__({k: np.array([r[k] for r in rows], kind(k))[:n] for k in rows[0]}, found["units"])
        self.inputs, self.outcomes, self.level = list(found["conditions"][0]["at"]), model.outcomes, found["level"]
        self._prefix, self._network = "network_"[:9 * (only == "network")], lambda: Prediction(model, ask, n, "network")

    def __getattr__(self, name):
        end = {"mean": "", "variance": "_var", "spread": "_between_seeds_var"}.get(name, "_" + name)
        if name.startswith("_") or self._prefix + self.outcomes[0] + end not in self:
            raise AttributeError("a prediction has no %s" % name)
        return np.stack([self[self._prefix + o + end] for o in self.outcomes], axis=1)

    network = cached_property(lambda self: self._network())

    def __repr__(self):
        head = "<Prediction of %s at %d conditions, level %s>" % (", ".join(self.outcomes), self.rows, self.level)
        at = lambda i: ", ".join("%s=%s" % (k, self[k][i]) for k in self.inputs)
        text = lambda o, *v: "%s %.4g (%.4g … %.4g) %s" % (o, *v, self.units[o])
        found = enumerate(zip(self.mean, self.low, self.high))
        return _lines(head, ["%s: %s" % (at(i), ", ".join(map(text, self.outcomes[:3], *v))) for i, v in found])


class Model:
    """An experiment, EXPERIMENT/SPLIT, a model.json, or a folder of models, whose seeds predict together. inputs,
    outcomes: names. conditions: what predict takes, also names of things, and what inputs are computed from. card: what
    is known of the training. uncalibrated: why there is no calibrated prediction, "" where there is one."""
    def __init__(self, path):
        self.path = os.fspath(path)
        self.card = json.loads(_ask("inspect", self.path, "--json"))["model"]
        self.paths, self.uncalibrated = self.card.pop("paths"), self.card.pop("uncalibrated")
        self.inputs, self.outcomes = ([q["name"] for q in self.card[k]] for k in ("inputs", "outcomes"))
        self.conditions = self.inputs + self.card.pop("conditions")
        self.units = {q["name"]: q.get("unit", "") for q in self.card["inputs"] + self.card["outcomes"]}

    def __repr__(self):
        about = (", ".join(self.outcomes), ", ".join(self.inputs), self.card["held_out"] or "unknown")
        return "<Model: %s of %s; held out: %s; %s>" % (*about, self.uncalibrated or "calibrated")

    def predict(self, x=None, level=None, extrapolate=False, **conditions):
        """Predicts at conditions: by keyword, where lists make all combinations, or at x, rows of inputs, or a dict,
        Table or DataFrame of columns. level: of the intervals, else the configuration's, of the network 95 %.
        extrapolate: also intervals that nothing supports."""
        for k in set(conditions) - set(self.conditions):
            raise _unknown("condition", k, self.conditions)
        if conditions:
            x = dict(zip(conditions, np.meshgrid(*map(np.atleast_1d, conditions.values()), indexing="ij")))
        elif not hasattr(x, "keys"):
            x, wide = np.asarray(x, float), len(self.inputs)
            if x.ndim > 2 or x.ndim == 2 and x.shape[1] != wide or x.size % wide:
                raise ValueError("expected rows of %s, found the shape %s" % (", ".join(self.inputs), x.shape))
            x = dict(zip(self.inputs, x.reshape(-1, wide).T))
        names = [k for k in x.keys() if k in self.conditions]
        columns = dict(zip(names, np.broadcast_arrays(*map(np.asarray, (x[k] for k in names)))))
        n = columns[names[0]].size if names else 0
        text = _csv(columns if n else {k: 0 for k in names or ["none"]})
        more = ["--extrapolate"] * extrapolate + ([] if level is None else ["--level", repr(level)])
        more += ["--json", "--conditions", "conditions.csv"]
        return Prediction(self, lambda *only: _ask("predict", self.path, *more, *only, **{"conditions.csv": text}), n)


class Judgement(SimpleNamespace):
    """The document of `pipeline judge --json`, with the keys of metrics.json. verdict, sentence: of all groups, or of
    the first split. rows: a dict for each split, outcome and prediction, for pandas.DataFrame."""
    def __repr__(self):
        return "<Judgement: %s>" % self.sentence


def judge(frame, pairs, groups=None, split=None, level=0.95):
    """Judges predictions by pairs that were not trained on (docs/judge.md). frame: a path, dict, Table or DataFrame of
    conditions and outcomes, also OUTCOME_low, _high, _sd, _sd_epistemic, _sd_noise. pairs: the same with OUTCOME_1 and
    OUTCOME_2, or an experiment. groups: the column with the group that a prediction was trained without."""
    more = ["--json"] + [w for flag, v in (("--groups", groups), ("--split", split)) if v for w in (flag, v)]
    files = {name: _csv(v) for name, v in (("1.csv", frame), ("2.csv", pairs)) if hasattr(v, "keys")}
    frame, pairs = "1.csv" if "1.csv" in files else os.fspath(frame), "2.csv" if "2.csv" in files else os.fspath(pairs)
    return Judgement(**json.loads(_ask("judge", frame, "--against", pairs, "--level", repr(level), *more, **files)))
