"""Writes runs.csv from the processed tows of github.com/UNH-CORE/RM2-tow-tank
(commit fdf80fe355c6, folder Data/Processed): one row a tow, of each the nominal
conditions and the mean coefficients, with the digits of the source.

    python3 make.py FOLDER-WITH-Perf-*.csv
"""
import csv
import sys

folder = sys.argv[1]
with open("runs.csv", "w", newline="") as out:
    w = csv.writer(out, lineterminator="\n")
    w.writerow(["run", "tow_speed_m_s", "tsr", "cp", "cd"])
    for speed in ("0.4", "0.6", "0.8", "1.0", "1.2"):
        for test in ("", "-b"):
            with open(f"{folder}/Perf-{speed}{test}.csv", newline="") as f:
                for r in csv.DictReader(f):
                    run = f"Perf-{speed}{test} tow {int(float(r['run']))}"
                    w.writerow([run, r["tow_speed_nom"], r["tsr_nom"], r["mean_cp"], r["mean_cd"]])
