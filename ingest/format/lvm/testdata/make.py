"""Writes LVM files after the layout that National Instruments publishes (no program but
LabVIEW writes them), and in truth.json what lvm_read 1.21 (https://github.com/ladisk/lvm_read)
reads from them. Run in this folder, with lvm_read on PYTHONPATH: python3 make.py"""
import json

import numpy as np
import lvm_read

rng = np.random.default_rng(12)
truth = {}


def header(headings="Yes", columns="No", decimal=".", version="2", separator="\t"):
    lines = [["LabVIEW Measurement", ""], ["Writer_Version", version], ["Reader_Version", "2"],
             ["Separator", "Tab" if separator == "\t" else "Comma"]]
    if decimal:
        lines.append(["Decimal_Separator", decimal])
    lines += [["Multi_Headings", headings], ["X_Columns", columns], ["Time_Pref", "Absolute"], ["Operator", "wing"],
              ["Date", "2026/11/22"], ["Time", "09:51:39.1970510124996275989"], ["***End_of_Header***", ""], [""]]
    return lines


def segment(names, n, columns="No", units=None, dx="1.953125E-5", samples=None, comments=False, x0=0, decimal=".", units_line=True):
    k = len(names)
    gap = [""] if columns == "Multi" else []
    each = lambda key, values: [key] + [v for i, x in enumerate(values) for v in ([x] + gap if i + 1 < k else [x])] + [""]
    lines = [each("Channels", [str(k)] + [""] * (k - 1)), each("Samples", [str(samples or n)] * k), each("Date", ["2026/11/22"] * k)]
    if units_line:
        lines.append(each("Y_Unit_Label", units or ["Volts"] * k))
    lines += [each("X_Dimension", ["Time"] * k), each("X0", ["0.0000000000000000E+0"] * k), each("Delta_X", [dx] * k),
              ["***End_of_Header***"] + [""] * k]
    if columns == "Multi":
        lines.append([c for name in names for c in ("X_Value", name)] + ["Comment"])
    else:
        lines.append(["X_Value"] + names + ["Comment"])
    y = rng.standard_normal((n, k))
    for i in range(n):
        x = "%.6f" % (x0 + i * float(dx.replace(",", ".")))
        numbers = ["%.6f" % v for v in y[i]]
        if columns == "Multi":
            row = [c for v in numbers for c in (x, v)]
        else:
            row = [x if columns == "One" else ""] + numbers
        if comments:
            row.append("" if i % 4 else "lost communication")
        lines.append(row)
    return [[c.replace(".", decimal) if c and c[0] in "-0123456789" else c for c in row] for row in lines]


def write(name, lines, separator="\t", end="\r\n", read=True):
    text = end.join(separator.join(row) for row in lines) + end
    open(name, "w", newline="", encoding="latin-1").write(text)
    if read:
        data = lvm_read.read(name, read_from_pickle=False, dump_file=False)
        parts = [data[i]["data"] for i in range(data["Segments"])]
        width = sum(cell not in ("", "Comment") for cell in next(row for row in lines if row[0] == "X_Value"))
        x = np.concatenate(parts)[:, :width - (data["X_Columns"] == "No")]
        truth[name] = [[None if np.isnan(v) else v for v in c] for c in x.T.tolist()]


write("no_x.lvm", header() + segment(["Force", "Response (Trigger)"], 21, units=["N", "m/s^2"]))
write("comma_decimal.lvm", header(decimal=",") + segment(["Force", "Acc"], 21, decimal=",", dx="3.906250E-5"))
write("one_x.lvm", header(columns="One") + segment(["Force", "Acc"], 21, columns="One", dx="0.000250"))
write("multi_x.lvm", header(columns="Multi") + segment(["Voltage", "Acc", "Mic"], 21, columns="Multi", units=["Volts", "g", "Pa"], dx="0.000500"))
write("no_decimal.lvm", header(decimal=None, version="0.92") + segment(["ax", "ay"], 21, dx="0.000977"), end="\n")
write("comments.lvm", header(headings="No", columns="One") + segment(["p"], 21, columns="One", dx="1.000000", samples=1, comments=True))
write("segments.lvm", header() + segment(["a", "b"], 9) + [[""]] + segment(["a", "b"], 12))
body = segment(["a", "b", "c"], 21, dx="0.001000", columns="One")
for row in body[9:]:
    row[2] = ""  # an empty channel
write("empty.lvm", header(columns="One") + body)
long = segment(["a"], 700, dx="0.001000")
write("long.lvm", header() + long)
write("separated_by_commas.lvm", header(separator=",") + segment(["a", "b"], 21, dx="0.001000"), separator=",", read=False)
json.dump(truth, open("truth.json", "w"))
