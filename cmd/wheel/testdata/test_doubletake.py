"""Tests of the package doubletake: python3 -m unittest. Where pandas, xarray or scikit-learn is absent, theirs are skipped.

main_test.go writes their input to the folder DOUBLETAKE_TEST_DATA: tables with the values that they were written from,
and a configuration. DOUBLETAKE_PIPELINE names the program.
"""

import csv
import io
import json
import math
import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

import doubletake

DATA = os.environ["DOUBLETAKE_TEST_DATA"]
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "export.md")


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
            for name, values in [*p.items(), *p.network.items()]:
                for row, v in zip(rows, values):
                    text = row[name]
                    self.assertTrue(text == v if isinstance(v, str) else text == "" and math.isnan(v) or float(text) == v, name)
                    seen += "lift" in name
            self.assertEqual(seen, 4 * (len([k for k in rows[0] if "lift" in k]) - 1))  # without the raw covariance
            for attribute in "mean", "low", "no_interval", "variance", "spread", "cov":
                prefix, values = ("", p) if hasattr(p, attribute) else ("network_", p.network)
                np.testing.assert_array_equal(
                    getattr(values, attribute)[:, 0], values[prefix + "lift" + ends.get(attribute, "_" + attribute)])

    def test_level(self):
        m = doubletake.Model(path("runs/wing/splits/b3"))
        wide, narrow = m.predict([0, 2]), m.predict([0, 2], level=0.68, extrapolate=True)
        self.assertEqual(narrow.level, 0.68)
        self.assertTrue(narrow.high - narrow.low < wide.high - wide.low)
        self.assertTrue(narrow.network.high - narrow.network.low < wide.network.high - wide.network.low)

    def test_keywords_make_all_combinations(self):
        """As `--at` does, whose rows are in the same order."""
        r = doubletake.Run(path("runs"))
        p, m = r.predict("wing/b3", a=[0, 1, 2], b=[1, 2], level=0.9), r.model("wing/b3")
        q = m.predict([[0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]], level=0.9)
        np.testing.assert_array_equal(p.mean, q.mean)
        self.assertEqual((p.level, p.rows, p["a"].tolist()), (0.9, 6, [0, 0, 1, 1, 2, 2]))
        with self.assertRaisesRegex(KeyError, r"no condition 'bb'; did you mean 'b'\? \(there are a, b\)"):
            m.predict(a=1, bb=2)
        with self.assertRaisesRegex(KeyError, "no outcome 'lft_low'; did you mean 'lift_low'"):
            p["lft_low"]
        with self.assertRaisesRegex(KeyError, "no split 'wing/b4'; did you mean 'wing/b3'"):
            r.predict("wing/b4", a=1, b=2)
        self.assertFalse(hasattr(p, "median"))

    def test_reprs_have_ten_lines_at_most(self):
        r = doubletake.Run(path("runs"))
        self.assertRegex(repr(r), "<Run .*runs: [0-9]+ tables, 3 splits with models>\n")
        self.assertRegex(repr(r), r"wing/b3 +(holds|wide|undecided|fails) +b3 \(b = 3 held out")
        self.assertEqual(len(repr(r).splitlines()), 3)
        p = r.predict("wing/b3", a=np.linspace(0, 2, 20), b=1)
        self.assertRegex(repr(p).splitlines()[1], r"^a=0.0, b=1.0: lift .* \(.* … .*\) N$")
        self.assertEqual(len(repr(p).splitlines()), 10)

    def test_session_stays(self):
        """One process answers; it is replaced where it ended, and reads models again that a run has changed."""
        m = doubletake.Model(path("runs/wing/splits/b3"))
        m.predict([0, 2])
        (process,) = doubletake._running.values()
        m.predict([0, 2])
        self.assertIsNone(process.poll())
        process.kill()
        process.communicate()
        self.assertEqual(m.predict([0, 2]).rows, 1)
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "b3")
            shutil.copytree(m.path, copy)
            m = doubletake.Model(copy)
            before = m.predict([0, 2]).network.mean
            for k in "01":  # seed 1 becomes seed 0's
                shutil.copytree(os.path.join(m.path, "seed-" + k), os.path.join(folder, k))
            shutil.rmtree(os.path.join(copy, "seed-1"))
            self.assertNotEqual(before, m.predict([0, 2]).network.mean)

    def test_xarray(self):
        try:
            import xarray  # noqa: F401
        except ImportError:
            self.skipTest("no xarray")
        m = doubletake.Model(path("runs/wing/splits/b3"))
        d = m.predict(a=[0, 1, 2], b=[1, 2]).to_xarray()
        self.assertEqual((d["lift"].dims, d["lift"].shape), (("a", "b"), (3, 2)))
        self.assertEqual((d["lift_low"].attrs["units"], d["a"].attrs["units"]), ("N", "deg"))
        self.assertEqual(float(d["lift"].sel(a=2, b=1)), m.predict(a=2, b=1).mean[0, 0])
        self.assertEqual(m.predict(a=[0, 1, 2], b=1).to_xarray()["lift"].dims, ("a",))
        self.assertEqual(m.predict([[0, 1], [1, 2], [2, 2]]).to_xarray()["lift"].dims, ("row",))
        self.assertEqual(m.predict(a=1, b=1).network.to_xarray()["network_lift_cov"].attrs["units"], "N²")
        f = m.predict(a=[0, 1, 2], b=1).to_pandas()
        self.assertEqual((f.attrs["units"]["lift"], list(f["a"])), ("N", [0, 1, 2]))
        t = doubletake.Run(path("runs"))["wing/triplets"].to_xarray()
        self.assertEqual((t["a"].dims, t["a"].attrs["units"]), (("row",), "deg"))

    def test_names_and_units(self):
        m = doubletake.Run(path("runs")).model("wing/b3")
        self.assertEqual((m.inputs, m.outcomes, len(m.paths), m.uncalibrated), (["a", "b"], ["lift"], 2, ""))
        self.assertEqual((m.units["a"], m.units["lift"]), ("deg", "N"))
        p = m.predict({"b": 1, "a": [0, 1, 2]})
        q = m.predict([[0, 1], [1, 1], [2, 1]])
        np.testing.assert_array_equal(p.mean, q.mean)
        n = p.network
        self.assertEqual((p.units["lift"], p.low.shape, n["network_lift_cov"].shape), ("N", (3, 1), (3,)))
        there = n.cov > 0
        np.testing.assert_allclose((n.mean_high - n.mean_low)[there], 2 * np.sqrt(n.cov[there] / 0.05))
        self.assertTrue(np.isnan(n.mean_low[~there]).all())
        self.assertEqual(m.predict(np.empty((0, 2))).low.shape, (0, 1))
        for bad, word in (({"a": 1}, "a column b"), ([[1, 2, 3]], "rows of a, b"), ([[1, math.nan]], "a number")):
            with self.assertRaisesRegex(ValueError, word):
                m.predict(bad)
        with self.assertRaisesRegex(doubletake.RunError, "expected model.json"):
            doubletake.Model(path("runs"))


class Estimator(unittest.TestCase):
    def setUp(self):
        try:
            from doubletake.regressor import Regressor
        except ImportError:
            self.skipTest("no scikit-learn")
        self.make = Regressor

    def test_checks_of_scikit_learn(self):
        """Every one that scikit-learn has for a regressor, but those that only repeat another with other memory."""
        import warnings
        import sklearn
        from sklearn.utils.estimator_checks import check_estimator
        names = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for estimator, check in check_estimator(self.make(epochs=5), generate_only=True):
                if "readonly_memmap" in check.keywords:
                    continue
                with self.subTest(check.func.__name__):
                    check(estimator)
                    names.append(check.func.__name__)
        self.assertGreaterEqual(len(names), 35, names)
        if sklearn.__version__ != "1.2.1":  # docs/export.md lists the checks of this version
            return
        with open(PAGE, encoding="utf-8") as page:
            listed = page.read().split("Their names, without `check_`:")[1]
        self.assertEqual(sorted("check_" + name for name in listed.strip(" .\n").replace(",\n", ", ").split(", ")), sorted(names))

    def test_pairs_and_groups(self):
        """y = 3 x with noise of deviation 0.1: the deviation of one measurement is a little more."""
        rng = np.random.default_rng(1)
        x = rng.uniform(-1, 1, (60, 1))
        y1, y2 = (3 * x[:, 0] + rng.normal(0, 0.1, 60) for _ in range(2))
        mean, sd = self.make(epochs=5).fit(x, y1, y2, np.arange(60) % 6).predict([[0.5], [-0.5]], return_std=True)
        np.testing.assert_allclose(mean, [1.5, -1.5], atol=0.1)
        self.assertTrue((sd > 0.08).all() and (sd < 0.2).all(), sd)


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
        runs = doubletake.Run(path("runs"))
        self.assertIn("wing/triplets", runs)
        self.assertEqual(sorted(runs.splits), ["plain/plain", "wing/all", "wing/b3"])
        self.assertEqual(runs.metrics("wing")["experiment"], "wing")
        t = runs["wing/splits/b3/seed-1/predictions"]
        self.assertIs(t, runs["wing/splits/b3/seed-1/predictions"])
        self.assertEqual(t.units["lift_cov"], "N²")
        model = doubletake.Model(path("runs/wing/splits/b3/seed-1"))
        p = model.predict(t)
        self.assertRegex(repr(model), "^<Model: lift.* of .*; held out: .+; .+>$")
        self.assertRegex(repr(p), "^<Prediction of lift.* at %d conditions, .+>\n" % t.rows)
        for name, mine in (("mu", "mean"), ("cov", "cov"), ("kappa", "kappa")):
            np.testing.assert_array_equal(getattr(p.network, mine)[:, 0], t["lift_" + name], name)
        with self.assertRaisesRegex(KeyError, "wing/triplets"):
            runs["triplets"]
        self.judged(runs)

    def judged(self, runs):
        """The report's numbers are the means over the seeds' judgements; columns and files are judged alike."""
        report = next(s for s in runs.metrics("wing")["splits"] if s["name"] == "b3")
        seeds = [runs["wing/splits/b3/seed-%d/predictions" % k] for k in range(report["seeds"])]
        found = [doubletake.judge(t, path("runs", "wing"), split="b3") for t in seeds]
        for key in ("r2", "e", "abs_cov"):
            mean = np.mean([j.splits[0]["test"][key]["mean"] for j in found])
            self.assertAlmostEqual(mean, report["test"][key]["mean"], delta=1e-12 * abs(mean), msg=key)
        self.assertRegex(repr(found[0]), "b = 3 held out.*the stated interval")
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
