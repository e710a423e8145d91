"""Writes pairs.csv and pairs-8000.csv from the 208 runs of
github.com/StrawsonDesign/motor_propeller_testing (commit 7031418, folder
rawdata): points of two motors that turned one propeller at speeds within 1 % of
each other.

    python3 make.py rawdata

A run is a motor a to m with a propeller 1 to 8 at 7 or 11 V. Of each propeller
the points above 3000 1/min are taken by ascending speed. A point is paired with the next
point of another motor that has no partner yet, if that is at most 1 % faster.
The thrust in gf is divided by the square of the point's own speed in 1000 1/min,
which corrects it to the pair's mean speed: thrust grows with the square of speed.
pairs-8000.csv has the pairs above 8000 1/min without motor b on the
propellers 4 and 7.
"""
import csv
import sys

# name, blades, pitch in inches, by the source's table of names
PROPELLERS = {
    1: ("Cyclone T5040C", 3, 4.0), 2: ("Cyclone T5045C", 3, 4.5), 3: ("Gemfan 5x4.5", 3, 4.5),
    4: ("Gemfan 5x4", 2, 4.0), 5: ("HQProp 5x4", 4, 4.0), 6: ("Lumenier 5x4.5", 2, 4.5),
    7: ("Lumenier 5x4", 3, 4.0), 8: ("Lumenier 5x5.3", 3, 5.3),
}


def points(folder, propeller):
    """The points of a propeller: speed in 1/min, thrust in gf, motor, run."""
    out = []
    for motor in "abcdefghijklm":
        for volt in ("11", "7"):
            with open(f"{folder}/{motor}{propeller}_{volt}.csv", encoding="utf-8-sig", newline="") as f:
                for r in csv.DictReader(f):
                    speed, thrust = float(r["Motor Electrical Speed (RPM)"]), float(r["Thrust (gf)"])
                    if speed > 3000 and thrust > 0:
                        out.append((speed, thrust, motor, f"{motor}{propeller}_{volt}"))
    return sorted(out, key=lambda p: (p[0], p[3]))


def pairs(pts):
    used = set()
    for i, a in enumerate(pts):
        if i in used:
            continue
        for k in range(i + 1, len(pts)):
            b = pts[k]
            if b[0] - a[0] > 0.01 * a[0]:
                break
            if k not in used and a[2] != b[2]:
                used |= {i, k}
                yield a, b
                break


with open("pairs.csv", "w", newline="") as all_out, open("pairs-8000.csv", "w", newline="") as fast_out:
    every, fast = csv.writer(all_out, lineterminator="\n"), csv.writer(fast_out, lineterminator="\n")
    for w in (every, fast):
        w.writerow(["run", "propeller", "blades", "pitch_in", "rpm", "kt_1", "kt_2"])
    for propeller, (_, blades, pitch) in PROPELLERS.items():
        for a, b in pairs(points(sys.argv[1], propeller)):
            kt = [f"{p[1] / (p[0] / 1000) ** 2:.6f}" for p in (a, b)]
            rpm = (a[0] + b[0]) / 2
            row = [f"{a[3]} + {b[3]}", propeller, blades, pitch, f"{rpm:g}", *kt]
            every.writerow(row)
            if rpm > 8000 and not (propeller in (4, 7) and "b" in (a[2], b[2])):
                fast.writerow(row)
