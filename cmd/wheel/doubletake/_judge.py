"""Judges predictions of any program by pairs: `pipeline judge`."""

import csv
import json
import os
import subprocess
import tempfile

import numpy as np

from ._run import RunError, program

_ROW = ("rmse", "rmse_se", "r2", "noise_ceiling", "sd", "level", "coverage", "coverage_68", "coverage_90", "coverage_95",
        "coverage_98", "half_width")


class Judgement:
    """What pipeline judge found. document: all of it, with the keys of metrics.json. verdict and sentence: those of
    the groups together where there are several, else of the first split. rows: a dict for each split, outcome and
    prediction ("as stated", or "calibrated" on left-out groups), in the outcomes' own units. frame(): the rows as a
    pandas.DataFrame. warnings: what was not judged."""

    def __init__(self, document):
        self.document = document
        first = (document.get("pooled") or document["splits"])[0]
        self.verdict, self.sentence, self.warnings = first["verdict"], first["sentence"], document["warnings"]
        self.rows = []
        for s in document["splits"]:
            method, honest = (s.get("methods") or [{}])[0], s.get("honest", {})
            for prediction, outcomes, score, crps in (
                ("calibrated", honest.get("outcomes", []), honest.get("interval_score"), honest.get("crps")),
                ("as stated", s["network"], method.get("interval_score", {}).get("mean"), method.get("crps", {}).get("mean")),
            ):
                for o in outcomes:
                    row = {"split": s["name"], "outcome": o["outcome"], "prediction": prediction, "verdict": o["verdict"]}
                    row.update((k, o[k]) for k in _ROW)
                    row.update(e=s["test"]["outcomes"][o["outcome"]]["e"]["mean"], interval_score=score, crps=crps)
                    self.rows.append(row)

    def frame(self):
        import pandas

        return pandas.DataFrame(self.rows)

    def __repr__(self):
        return "<Judgement: %s>" % self.sentence


def _cells(column):
    """A column as text that reads back equal."""
    column = np.asarray(column)
    if column.dtype.kind in "biuf":
        return [repr(float(v)).removesuffix(".0") for v in column]
    return ["" if v is None else str(v) for v in column]


def _table(value, path):
    """The path of a table: a path as it is, columns written to path."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    columns = {k: _cells(value[k]) for k in value.keys()}
    if len({len(v) for v in columns.values()}) != 1:
        raise ValueError("expected columns of equal length, found %s" % {k: len(v) for k, v in columns.items()})
    with open(path, "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(columns)
        w.writerows(zip(*columns.values()))
    return path


def judge(frame, pairs, groups=None, split=None, level=0.95):
    """Judges predictions by pairs that were not trained on (docs/judge.md). frame: a dict, Table or DataFrame with the
    conditions and, for each outcome, its mean in a column of its name, if there are any with _low, _high, _sd,
    _sd_epistemic, _sd_noise; or the path of such a table. pairs: the same with OUTCOME_1 and OUTCOME_2, or the path of
    an experiment's folder. groups: the column that says which group a prediction was trained without. split: judge
    what this split of the experiment holds out."""
    with tempfile.TemporaryDirectory() as folder:
        predictions = _table(frame, os.path.join(folder, "predictions.csv"))
        command = [program(), "judge", predictions, "--against", _table(pairs, os.path.join(folder, "pairs.csv")),
                   "--level", repr(float(level)), "--json"]
        for flag, value in (("--groups", groups), ("--split", split)):
            command += [flag, value] if value else []
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise RunError(done.returncode, done.stderr.strip())
    return Judgement(json.loads(done.stdout))
