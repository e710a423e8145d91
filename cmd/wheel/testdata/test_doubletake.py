"""Tests of the package doubletake with numpy alone: python3 -m unittest.

main_test.go writes their input to the folder DOUBLETAKE_TEST_DATA: tables with the values that they were written from,
and a configuration. DOUBLETAKE_PIPELINE names the program.
"""

import csv
import io
import json
import math
import os
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

import doubletake

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
        bad = path("bad.arrow")
        with open(path("types.arrow"), "rb") as f, open(bad, "wb") as g:
            g.write(f.read()[:-200])
        with self.assertRaisesRegex(doubletake.RunError, "bad.arrow"):
            doubletake.read(bad)


class Models(unittest.TestCase):
    def setUp(self):
        list(doubletake.run(path("pipeline.yaml")))

    def test_columns_are_those_of_the_program(self):
        """Expected values: pipeline predict --csv."""
        at = [[0, 2], [1, 1], [9, 3], [1, 9]]  # the last two have no interval
        ask = ";".join("a=%d,b=%d" % tuple(x) for x in at)
        ends = {"mean": "", "variance": "_var", "spread": "_between_seeds_var"}
        for split in "b3", "all", "plain":
            folder = path("runs/wing/splits" if split != "plain" else "runs/plain/splits", split)
            out = subprocess.run(
                [doubletake.program(), "predict", folder, "--at", ask, "--csv"], check=True, capture_output=True, encoding="utf-8",
            ).stdout
            rows = list(csv.DictReader(io.StringIO(out)))
            p = doubletake.Model(folder).predict(at)
            self.assertEqual(np.isnan(p.low[:, 0]).tolist(), [split == "plain"] * 2 + [True] * 2)
            self.assertEqual(np.isnan(p.network.low[:, 0]).tolist(), [False] * 2 + [True] * 2)
            seen = 0
            for prefix, columns in ("lift", vars(p["lift"])), ("network_lift", vars(p["lift"].network)):
                for attribute, values in columns.items():
                    if not isinstance(values, np.ndarray):
                        continue
                    for row, v in zip(rows, values):
                        text = row[prefix + ends.get(attribute, "_" + attribute)]
                        self.assertTrue(text == v if isinstance(v, str) else text == "" and math.isnan(v) or float(text) == v, attribute)
                        seen += 1
            self.assertEqual(seen, 4 * (len([k for k in rows[0] if "lift" in k]) - 1))  # without the raw covariance

    def test_second_answer(self):
        """Fed its own mean, a network answers with a mean whose distance is the zigzag."""
        m = doubletake.Model(path("runs/wing/splits/b3/seed-1"))
        x = [[0, 2], [1, 1]]
        p = m.predict(x).network
        mu, variance = m.given(x, p.mean)
        np.testing.assert_allclose(np.abs(mu - p.mean), p.zigzag, rtol=1e-9, atol=1e-12)
        self.assertTrue((variance > 0).all())

    def test_level(self):
        m = doubletake.Model(path("runs/wing/splits/b3"))
        wide, narrow = m.predict([0, 2]), m.predict([0, 2], level=0.68, extrapolate=True)
        self.assertEqual((wide.level, narrow.level), (m.level, 0.68))
        self.assertTrue(narrow.high - narrow.low < wide.high - wide.low)

    def test_names_and_units(self):
        m = doubletake.load(path("runs")).model("wing/splits/b3")
        self.assertEqual((m.inputs, m.outcomes, len(m.paths), m.uncalibrated), (["a", "b"], ["lift"], 2, ""))
        self.assertEqual((m.units["a"], m.units["lift"]), ("deg", "N"))
        p = m.predict({"b": 1, "a": [0, 1, 2]})
        q = m.predict([[0, 1], [1, 1], [2, 1]])
        np.testing.assert_array_equal(p.mean, q.mean)
        lift, n = p["lift"], p.network
        self.assertEqual((lift.unit, lift.low.shape, lift.network.cov.shape), ("N", (3,), (3,)))
        there = n.cov > 0
        np.testing.assert_allclose((n.mean_high - n.mean_low)[there], 2 * np.sqrt(n.cov[there] / 0.05))
        self.assertTrue(np.isnan(n.mean_low[~there]).all())
        self.assertEqual(m.predict(np.empty((0, 2))).low.shape, (0, 1))
        for bad, word in (({"a": 1}, "b missing"), ([[1, 2, 3]], "rows of 2 inputs"), ([[1, math.nan]], "finite")):
            with self.assertRaisesRegex(ValueError, word):
                m.predict(bad)
        with self.assertRaisesRegex(doubletake.RunError, "expected model.json"):
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
            np.testing.assert_array_equal(getattr(p["lift"].network, mine), t["lift_" + name], name)
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
        self.assertRegex(repr(found[0]), "b = 3 held out: ± .*The stated interval")
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
