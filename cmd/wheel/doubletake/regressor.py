"""The calibrated model of doubletake in the shape of scikit-learn, which this module needs."""

import atexit
import io
import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import Model, _ask, _csv

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6
    validate_data = lambda estimator, *data, **checks: estimator._validate_data(*data, **checks)

_folders = {}  # by the archive of their models: an estimator holds bytes, so that it can be copied and pickled


class Regressor(RegressorMixin, BaseEstimator):
    """fit(X, y1, y2, groups): two independent measurements of each row, and its group (a propeller, a day): errors on
    left-out groups make the intervals. Without groups they are ten parts of the rows, for new rows that are like these;
    without y2 a row counts as its own repeat. settings: of `train:` in pipeline.yaml."""
    def __init__(self, seeds=1, epochs=100, settings=None):
        self.seeds, self.epochs, self.settings = seeds, epochs, settings

    def fit(self, X, y, y2=None, groups=None):
        X, y = validate_data(self, X, y, dtype=float, multi_output=True, y_numeric=True, ensure_min_samples=2)
        pair = [y.astype(float), check_array(y if y2 is None else y2, dtype=float, ensure_2d=False)]
        groups = np.arange(len(X)) % min(10, len(X)) if groups is None else np.asarray(groups)
        self.varying_, self.flat_ = np.flatnonzero(np.ptp(X, axis=0) > 0), pair[0].ndim == 1
        columns = {"x%d" % j: X[:, j] for j in self.varying_}
        train = {"inputs": list(columns), "seeds": self.seeds, "optimizer": {"epochs": self.epochs},
                 "honest": {"groups": "thing"}, "splits": {"final": {"test": "none"}}, **(self.settings or {})}
        fit = {"ingest": {"table": {"file": "pairs.csv", "inputs": list(columns)}}, "train": train}
        for k, v in enumerate(pair):
            columns.update(("y%d_%d" % (j, k + 1), c) for j, c in enumerate(v.reshape(len(X), -1).T))
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps({"version": 1, "workdir": folder, "experiments": {"fit": fit}})
            files = {"fit.yaml": text, "pairs.csv": _csv({**columns, "thing": ["g%s" % g for g in groups]})}
            _ask("run", "fit.yaml", "--to", "train", "--progress", "none", **files)
            self.archive_ = Path(shutil.make_archive(Path(folder, "fit"), "zip", Path(folder, "fit"))).read_bytes()
        return self

    def _more_tags(self):
        return {"multioutput": True}

    def predict(self, X, return_std=False):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        if self.archive_ not in _folders:
            _folders[self.archive_] = tempfile.mkdtemp()
            atexit.register(shutil.rmtree, _folders[self.archive_], True)
            zipfile.ZipFile(io.BytesIO(self.archive_)).extractall(_folders[self.archive_])
        p = Model(_folders[self.archive_]).predict(X[:, self.varying_], extrapolate=True)
        mean, sd = (v[:, 0] if self.flat_ else v for v in (p.mean, p.sd))
        return (mean, sd) if return_std else mean
