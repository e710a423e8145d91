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
import unittest

import numpy as np

import doubletake
from doubletake._columns import COLUMNS
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
                p = m.predict(np.array(case["x"]))
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
        words = sum((case["Words"] for case in cases), [])
        self.assertTrue(len(cases) == 6 and any(words) and not all(words))
        for case in cases:
            with self.subTest(case["split"]):
                m = runs.model(case["split"])
                self.assertEqual(m.uncalibrated, "")
                c = m.predict(case["X"]).calibrated
                want = {k: np.array(case[k.title()]).reshape(c.mean.shape) for k in ("mean", "claim", "epistemic", "variance", "half", "half68")}
                sd = np.sqrt(want["variance"])
                self.compare("mean", c.mean, want["mean"], sd)
                for k in ("claim", "epistemic", "variance"):
                    self.compare(k, getattr(c, k), want[k], want[k])
                self.assertEqual(c.words, case["Words"])
                for half, p in ("half", c), ("half68", m.predict(case["X"], level=0.68).calibrated):
                    self.compare(half, p.low, want["mean"] - want[half], sd)
                    self.compare(half, p.high, want["mean"] + want[half], sd)
                self.assertEqual(m.predict(np.empty((0, len(m.inputs)))).calibrated.low.shape, (0, c.mean.shape[1]))

    def test_scaled_erfc(self):
        x = np.concatenate([[0], np.logspace(-6, 1.4, 500)])
        want = [math.exp(v * v) * math.erfc(v) for v in x]
        np.testing.assert_allclose(scaled_erfc(x), want, rtol=1e-11)

    def test_columns_equal_to_the_program(self):
        list(doubletake.run(path("pipeline.yaml")))
        split = path("runs/wing/splits/b3")
        text = subprocess.run(
            [doubletake.program(), "predict", split, "--at", "a=0,b=2;a=1,b=3", "--csv"], check=True, capture_output=True, encoding="utf-8",
        ).stdout
        rows = list(csv.DictReader(text.splitlines()))
        p = doubletake.Model(split).predict([[0, 2], [1, 3]])
        self.assertIsNotNone(p.calibrated)
        compared = 0
        for name, attribute in COLUMNS:
            got = operator.attrgetter(attribute)(p)[:, 0]
            for row, v in zip(rows, got):
                if row.get("lift_" + name):
                    self.assertAlmostEqual(v, float(row["lift_" + name]), delta=1e-5 * max(1, abs(v)), msg=name)
                    compared += 1
        self.assertGreater(compared, 2 * (len(COLUMNS) - 5), text)  # kappa is Python's alone, intervals may be withheld

    def test_names_and_units(self):
        list(doubletake.run(path("pipeline.yaml")))
        m = doubletake.load(path("runs")).model("wing/splits/b3")
        self.assertEqual((m.inputs, m.outcomes, len(m.paths)), (["a", "b"], ["lift"], 2))
        self.assertEqual((m.units["a"], m.units["lift"]), ("deg", "N"))
        p = m.predict({"b": 3, "a": [0, 1, 2]})
        q = m.predict([[0, 3], [1, 3], [2, 3]])
        np.testing.assert_array_equal(p.mean, q.mean)
        self.assertEqual((p["lift"].unit, p["lift"].cov.shape), ("N", (3,)))
        low, high = p.interval(0.05)
        there = p.cov > 0
        np.testing.assert_allclose((high - low)[there], 2 * np.sqrt(p.cov[there] / 0.05))
        self.assertTrue(np.isnan(low[~there]).all())
        for bad, word in (({"a": 1}, "b missing"), ([[1, 2, 3]], "rows of 2 inputs"), ([[1, math.nan]], "finite")):
            with self.assertRaisesRegex(ValueError, word):
                m.predict(bad)
        with self.assertRaises(FileNotFoundError):
            doubletake.Model(path("runs"))


class Runs(unittest.TestCase):
    def test_run_and_load(self):
        config = path("pipeline.yaml")
        events = list(doubletake.run(config, "--force"))
        kinds = [e["event"] for e in events]
        self.assertEqual((kinds[0], kinds[-1]), ("plan", "end"))
        runs = doubletake.load(path("runs"))
        self.assertIn("wing/triplets", runs)
        self.assertEqual(runs.splits, ["wing/splits/b3"])
        self.assertEqual(runs.metrics("wing")["experiment"], "wing")
        t = runs["wing/splits/b3/seed-1/predictions"]
        self.assertIs(t, runs["wing/splits/b3/seed-1/predictions"])
        self.assertEqual(t.units["lift_cov"], "N²")
        p = doubletake.Model(path("runs/wing/splits/b3/seed-1")).predict(t)
        for name, mine in (("mu", "mean"), ("cov", "cov"), ("kappa", "kappa")):
            sd = np.sqrt(t["lift_var"])
            worst = np.max(np.abs(getattr(p["lift"], mine) - t["lift_" + name]) / (sd if name == "mu" else sd**2))
            self.assertLess(worst, 1e-6, name)
        with self.assertRaisesRegex(KeyError, "wing/triplets"):
            runs["triplets"]

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
