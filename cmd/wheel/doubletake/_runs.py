"""The tables and models below a folder of results."""

import json
import os
from collections.abc import Mapping

from ._arrow import read
from ._model import Model


class Runs(Mapping):
    """Tables by their name below the folder: "drone/triplets",
    "drone/splits/3-blades/seed-0/predictions". A table is read when it is first
    used, and kept."""

    def __init__(self, path):
        self.path = os.fspath(path)
        if not os.path.isdir(self.path):
            raise FileNotFoundError("%s: expected a folder of results, such as runs" % self.path)
        self._paths, self._tables, self._splits = {}, {}, []
        for folder, folders, files in os.walk(self.path):
            folders[:] = sorted(d for d in folders if not d.startswith("."))
            for f in sorted(files):
                p = os.path.join(folder, f)
                name = os.path.relpath(p, self.path).replace(os.sep, "/")
                if f.endswith(".arrow"):
                    self._paths[name[: -len(".arrow")]] = p
                if f == "model.json":
                    split = os.path.dirname(os.path.dirname(name))
                    if split not in self._splits:
                        self._splits.append(split)

    def __getitem__(self, name):
        if name not in self._tables:
            if name not in self._paths:
                raise KeyError("no table %r; there are %s" % (name, ", ".join(self._paths) or "none"))
            self._tables[name] = read(self._paths[name])
        return self._tables[name]

    def __iter__(self):
        return iter(self._paths)

    def __len__(self):
        return len(self._paths)

    @property
    def splits(self):
        """The names of the splits that have models: "drone/splits/3-blades"."""
        return list(self._splits)

    def model(self, split):
        """The models of a split, which predict together."""
        return Model(os.path.join(self.path, split))

    def metrics(self, experiment="."):
        """The numbers of an experiment's report, report/metrics.json."""
        with open(os.path.join(self.path, experiment, "report", "metrics.json"), encoding="utf-8") as f:
            return json.load(f)

    def __repr__(self):
        return "<Runs %s: %s>" % (self.path, ", ".join(self))


def load(path="runs"):
    """Opens a folder of results: runs, or runs/EXPERIMENT."""
    return Runs(path)
