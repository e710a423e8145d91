"""Tests of the package doubletake with numpy alone: python3 -m unittest.

main_test.go writes their input to the folder DOUBLETAKE_TEST_DATA: tables and
models, each with the values that the program has of them, and a configuration.
DOUBLETAKE_PIPELINE names the program.
"""

import csv
import json
import math
import operator
import os
import struct
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

import doubletake
from doubletake._columns import COLUMNS
from doubletake._honest import Honest
from doubletake._scale import scaled_erfc

DATA = os.environ["DOUBLETAKE_TEST_DATA"]


def path(*names):
    return os.path.join(DATA, *names)


def document(*names):
    with open(path(*names), encoding="utf-8") as f:
        return json.load(f)


def number(text):
    return math.nan if text is None else float(text)


class Tables(unittest.TestCase):
    def test_every_type(self):
        for want in document("tables.json"):
            t = doubletake.read(path(want["file"]))
            self.assertEqual(t.metadata, want["metadata"])
            self.assertEqual(list(t), [c["name"] for c in want["columns"]])
            for c in want["columns"]:
                v = t[c["name"]]
                self.assertEqual((t.units[c["name"]], t.descriptions[c["name"]]), (c["unit"], c["description"]))
                self.assertEqual(len(v), len(c["values"]))
                if c["kind"] == "float64":
                    np.testing.assert_array_equal(v, np.array([number(x) for x in c["values"]], float))
                    self.assertEqual(v.dtype, float)
                elif c["kind"] == "list":
                    for got, one in zip(v, c["values"]):
                        np.testing.assert_array_equal(got, np.array([number(x) for x in one], np.float32))
                        self.assertEqual(got.dtype, np.float32)
                elif c["kind"] == "int64":
                    self.assertEqual([int(x) for x in v], [int(x) for x in c["values"]])
                    self.assertEqual(v.dtype, np.int64)
                else:
                    self.assertEqual(v.tolist(), c["values"])
            self.assertEqual(t.rows, len(want["columns"][0]["values"]))

    def test_equal_lists_are_a_matrix(self):
        self.assertEqual(doubletake.read(path("types.arrow"))["same"].shape, (5, 2))

    def test_where(self):
        t = doubletake.read(path("types.arrow"))
        u = t.where(t["emergent"])
        self.assertEqual((u.rows, u.units), (3, t.units))

    def test_damage_is_told(self):
        with open(path("types.arrow"), "rb") as f:
            b = f.read()
        bad = path("bad.arrow")

        def refused(data):
            with open(bad, "wb") as f:
                f.write(data)
            with self.assertRaisesRegex(doubletake.FormatError, "bad.arrow"):
                doubletake.read(bad)

        refused(b"")
        refused(b[: len(b) // 2])
        refused(b[:-10] + struct.pack("<i", 1 << 30) + b[-6:])
        # Damage anywhere is an error that names the file, or other values.
        rng = np.random.default_rng(1)
        for _ in range(300):
            d = bytearray(b)
            for at in rng.integers(0, len(b), 3):
                d[at] = rng.integers(256)
            with open(bad, "wb") as f:
                f.write(d)
            try:
                doubletake.read(bad)
            except doubletake.FormatError as e:
                self.assertIn("bad.arrow", str(e))


class Models(unittest.TestCase):
    # Of σ, or σ² of variances and covariances. The program works in float32 where
    # there are several outcomes, this package in float64.
    TOLERANCE = 1e-6

    def compare(self, name, got, want, scale):
        worst = np.max(np.abs(got - np.array(want)) / scale)
        self.assertLess(worst, self.TOLERANCE, name)

    def test_equal_to_the_program(self):
        cases = document("models.json")
        self.assertGreater(len(cases), 8)
        for case in cases:
            with self.subTest(case["name"]):
                m = doubletake.Model(path(case["name"]))
                p = m.predict(np.array(case["x"])).network
                shape = p.mean.shape
                want = {k: np.array(case[k]).reshape(shape) for k in ("mean", "variance", "cov", "delta", "kappa", "zigzag")}
                sd = np.sqrt(want["variance"])
                for k in ("mean", "delta", "zigzag"):
                    self.compare(k, getattr(p, k), want[k], sd)
                for k in ("variance", "cov", "kappa"):
                    self.compare(k, getattr(p, k), want[k], sd**2)
                given = m.given(np.array(case["x"]), want["mean"] + sd)
                self.compare("given", given[0], np.array(case["given_mean"]).reshape(shape), sd)
                self.compare("given", given[1], np.array(case["given_variance"]).reshape(shape), sd**2)

    def test_calibrated_equal_to_the_program(self):
        runs = doubletake.load(path("calibrated"))
        cases = document("calibrated.json")
        refused = sum((case["Refused"] for case in cases), [])
        self.assertTrue(len(cases) == 7 and any(refused) and not all(refused))
        self.assertTrue(any("farther than any" in text for text in refused))
        for case in cases:
            with self.subTest(case["split"]):
                m = runs.model(case["split"])
                self.assertEqual(m.uncalibrated, "")
                p = m.predict(case["X"], extrapolate=True)
                want = {k: np.array(case[k.title()]).reshape(p.mean.shape) for k in ("mean", "claim", "epistemic", "variance", "half", "half68")}
                sd = np.sqrt(want["variance"])
                self.compare("mean", p.mean, want["mean"], sd)
                for k, v in ("sd_claimed", want["claim"]), ("sd_epistemic", want["epistemic"]), ("sd", want["variance"]):
                    self.compare(k, getattr(p, k), np.sqrt(v), np.sqrt(v))
                self.compare("sd_noise", p.sd_noise, np.sqrt(want["variance"] - want["epistemic"]), sd)
                for half, q in ("half", p), ("half68", m.predict(case["X"], level=0.68, extrapolate=True)):
                    self.compare(half, q.low, want["mean"] - want[half], sd)
                    self.compare(half, q.high, want["mean"] + want[half], sd)
                q = m.predict(case["X"])
                self.assertEqual(q.no_interval[:, 0].tolist(), case["Refused"])
                np.testing.assert_array_equal(np.isnan(q.low), q.no_interval != "")
                np.testing.assert_array_equal(q.low[~np.isnan(q.low)], p.low[~np.isnan(q.low)])
                self.assertEqual(m.predict(np.empty((0, len(m.inputs)))).low.shape, (0, p.mean.shape[1]))

    def test_cells(self):
        """A process that is conditioned on averages predicts as one of these rows does."""
        split = path("calibrated", "rotor", "splits", "out")
        j = document("calibrated", "rotor", "splits", "out", "honest.json")
        m = j["model"]
        y, spread = (np.array(m[k]).reshape(-1, m["outcomes"]) for k in ("y", "spread"))
        m["cells"] = [
            {"x": m["x"], "y": y[:, k].tolist(), "variance": (spread[:, k] + h["nugget"] ** 2).tolist()}
            for k, h in enumerate(m["hyperparameters"])
        ]
        for k in "x", "y", "spread":
            m[k] = []
        cells = path("cells.json")
        with open(cells, "w", encoding="utf-8") as f:
            json.dump(j, f)
        x = np.array([[4.0, 4000.0], [3.0, 3500.0]])
        got, want = Honest(cells).predict(x), Honest(os.path.join(split, "honest.json")).predict(x)
        for k in "mean", "low", "high", "sd_claimed":
            np.testing.assert_array_equal(getattr(got, k), getattr(want, k))

    def test_scaled_erfc(self):
        x = np.concatenate([[0], np.logspace(-6, 1.4, 500)])
        want = [math.exp(v * v) * math.erfc(v) for v in x]
        np.testing.assert_allclose(scaled_erfc(x), want, rtol=1e-11)

    def test_columns_equal_to_the_program(self):
        """The table, CSV and JSON of the program, and this package, have the same numbers."""
        list(doubletake.run(path("pipeline.yaml")))
        at = [[0, 2], [1, 1], [9, 3], [1, 9]]  # the last two have no interval
        ask = ";".join("a=%d,b=%d" % tuple(x) for x in at)
        for split in "b3", "all", "plain":
            folder = path("runs/wing/splits" if split != "plain" else "runs/plain/splits", split)
            tell = lambda *more: subprocess.run(
                [doubletake.program(), "predict", folder, "--at", ask, *more], check=True, capture_output=True, encoding="utf-8",
            ).stdout
            rows = list(csv.DictReader(tell("--csv").splitlines()))
            conditions = json.loads(tell("--json"))["conditions"]
            table = [line.split() for line in tell("--network").splitlines() if line.startswith("lift ")]
            p = doubletake.Model(folder).predict(at)
            self.assertEqual(np.isnan(p.low[:, 0]).tolist(), [split == "plain"] * 2 + [True] * 2)
            self.assertEqual(np.isnan(p.network.low[:, 0]).tolist(), [False] * 2 + [True] * 2)
            for i, (row, condition) in enumerate(zip(rows, conditions)):
                self.assertEqual(list(condition["prediction"]), [k for k in row if k.startswith(("lift", "network_"))])
                for name, v in condition["prediction"].items():
                    self.assertEqual(row[name], "" if v is None else v if isinstance(v, str) else self.digits(row[name], v), name)
                for name, attribute in COLUMNS:
                    name, v = name % "lift", operator.attrgetter(attribute)(p)[i, 0]
                    if name == "network_lift_kappa":  # of this package alone
                        continue
                    if isinstance(v, str):
                        self.assertEqual(row[name], v)
                    elif math.isnan(v):
                        self.assertEqual(row[name], "", name)
                    else:
                        self.assertAlmostEqual(v, float(row[name]), delta=1e-5 * max(1, abs(v)), msg=name)
                # outcome, unit, mean, low, …, high, σ; the network's rows have √C there
                own = table[2 * i] if split != "plain" else table[i]
                network = table[2 * i + 1] if split != "plain" else table[i]
                for printed, name in (own, "lift"), (network, "network_lift"):
                    name = "network_lift" if split == "plain" else name
                    names = [name] + ([name + "_low", name + "_high"] if row[name + "_low"] else [])
                    texts = [printed[2]] + ([printed[3], printed[5]] if row[name + "_low"] else [])
                    self.assertEqual(printed[3] == "none", not row[name + "_low"])
                    if name == "lift":
                        names, texts = names + ["lift_sd"], texts + [printed[6 if row["lift_low"] else 4]]
                    for column, text in zip(names, texts):
                        step = 10.0 ** -len(text.partition(".")[2])
                        self.assertAlmostEqual(float(text), float(row[column]), delta=0.501 * step, msg=column)

    def digits(self, text, v):
        """The program's digits read back equal."""
        return text if float(text) == v else repr(v)

    def test_names_and_units(self):
        list(doubletake.run(path("pipeline.yaml")))
        m = doubletake.load(path("runs")).model("wing/splits/b3")
        self.assertEqual((m.inputs, m.outcomes, len(m.paths)), (["a", "b"], ["lift"], 2))
        self.assertEqual((m.units["a"], m.units["lift"]), ("deg", "N"))
        p = m.predict({"b": 1, "a": [0, 1, 2]})
        q = m.predict([[0, 1], [1, 1], [2, 1]])
        np.testing.assert_array_equal(p.mean, q.mean)
        lift, n = p["lift"], p.network
        self.assertEqual((lift.unit, lift.low.shape, lift.network.cov.shape), ("N", (3,), (3,)))
        there = n.cov > 0
        np.testing.assert_allclose((n.mean_high - n.mean_low)[there], 2 * np.sqrt(n.cov[there] / 0.05))
        self.assertTrue(np.isnan(n.mean_low[~there]).all())
        for bad, word in (({"a": 1}, "b missing"), ([[1, 2, 3]], "rows of 2 inputs"), ([[1, math.nan]], "finite")):
            with self.assertRaisesRegex(ValueError, word):
                m.predict(bad)
        with self.assertRaises(FileNotFoundError):
            doubletake.Model(path("runs"))


class Program(unittest.TestCase):
    def test_of_the_wheel(self):
        """The program among the scripts of the environment, or of the user, by its name on either system."""
        for system, user, name in (("posix", "posix_user", "pipeline"), ("nt", "nt_user", "pipeline.exe")):
            with tempfile.TemporaryDirectory() as folder:
                where = os.path.join(folder, name)
                with open(where, "w", encoding="utf-8"):
                    os.chmod(where, 0o755)
                for scheme in (None, user):
                    def scripts(kind, s=None):
                        return folder if s == scheme else "/nowhere"

                    with mock.patch.dict(os.environ), mock.patch("os.name", system), \
                            mock.patch("sysconfig.get_path", scripts):
                        os.environ.pop("DOUBLETAKE_PIPELINE", None)
                        self.assertEqual(doubletake.program(), where)


class Runs(unittest.TestCase):
    def test_run_and_load(self):
        config = path("pipeline.yaml")
        events = list(doubletake.run(config, "--force"))
        kinds = [e["event"] for e in events]
        self.assertEqual((kinds[0], kinds[-1]), ("plan", "end"))
        runs = doubletake.load(path("runs"))
        self.assertIn("wing/triplets", runs)
        self.assertEqual(sorted(runs.splits), ["plain/splits/plain", "wing/splits/all", "wing/splits/b3"])
        self.assertEqual(runs.metrics("wing")["experiment"], "wing")
        t = runs["wing/splits/b3/seed-1/predictions"]
        self.assertIs(t, runs["wing/splits/b3/seed-1/predictions"])
        self.assertEqual(t.units["lift_cov"], "N²")
        model = doubletake.Model(path("runs/wing/splits/b3/seed-1"))
        p = model.predict(t)
        self.assertRegex(repr(model), "^<Model of 1 network: lift.* of .*; held out: .+; .+>$")
        self.assertRegex(repr(p), "^<Prediction of lift.* at %d conditions, .+>$" % t.rows)
        for name, mine in (("mu", "mean"), ("cov", "cov"), ("kappa", "kappa")):
            sd = np.sqrt(t["lift_var"])
            worst = np.max(np.abs(getattr(p["lift"].network, mine) - t["lift_" + name]) / (sd if name == "mu" else sd**2))
            self.assertLess(worst, 1e-6, name)
        with self.assertRaisesRegex(KeyError, "wing/triplets"):
            runs["triplets"]
        self.judged(runs)

    def judged(self, runs):
        """The report's numbers are the means over the seeds' judgements; columns and files are judged alike."""
        report = next(s for s in runs.metrics("wing")["splits"] if s["name"] == "b3")
        seeds = [runs["wing/splits/b3/seed-%d/predictions" % k] for k in range(report["seeds"])]
        found = [doubletake.judge(t, path("runs", "wing"), split="b3") for t in seeds]
        for key in ("r2", "e", "abs_cov"):
            mean = np.mean([j.document["splits"][0]["test"][key]["mean"] for j in found])
            self.assertAlmostEqual(mean, report["test"][key]["mean"], delta=1e-12 * abs(mean), msg=key)
        self.assertIn("b = 3 held out: the stated interval", repr(found[0]))
        pairs, t = runs["wing/triplets"], seeds[0].where(seeds[0]["set"] == "test")
        alike = doubletake.judge({"run": t["run"], "lift": t["lift_mu"], "lift_sd": np.sqrt(t["lift_var"])}, pairs)
        rows = [next(r for r in j.rows if r["outcome"] == "lift") for j in (alike, found[0])]
        for key in ("rmse", "coverage", "half_width"):
            self.assertAlmostEqual(rows[0][key], rows[1][key], delta=1e-12)
        with self.assertRaisesRegex(doubletake.RunError, "b3"):
            doubletake.judge(t, path("runs", "wing"), split="b4")

    def test_errors(self):
        with self.assertRaises(doubletake.RunError) as e:
            list(doubletake.run(path("pipeline.yaml"), "--experiment", "wig"))
        self.assertEqual(e.exception.status, 2)
        self.assertIn('did you mean "wing"?', str(e.exception))

    def test_closing_interrupts(self):
        events = doubletake.run(path("pipeline.yaml"), "--force")
        next(events)
        events.close()
        self.assertEqual([e["event"] for e in doubletake.run(path("pipeline.yaml"))][-1], "end")


if __name__ == "__main__":
    unittest.main()
