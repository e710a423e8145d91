"""Writes UFF files by pyuff 2.5.6 (https://github.com/ladisk/pyuff), variants of
them as exporters are known to write them, and in truth.json what pyuff reads from
the files. Run in this folder, with pyuff on PYTHONPATH: python3 make.py"""
import json
import os

import numpy as np
import pyuff

rng = np.random.default_rng(58)
truth = {}


def dataset(n=23, binary=0, func=1, even=1, node=1, name="NONE", double=True, whole=True):
    time = func == 1
    x = np.arange(n) / 51200 if even else np.cumsum(rng.integers(1, 9, n) / 64)
    if not time:
        x = np.arange(n) * 0.5
    data = rng.standard_normal(n) + (0 if time else 1j * rng.standard_normal(n))
    kind = (4 if double else 2) + (0 if time else 2 if double else 3)
    if not time and not double:
        kind = 5
    return dict(
        type=58, binary=binary, func_type=func, ord_data_type=kind, data=data, x=x, abscissa_spacing=even,
        id1="test %d" % node, id3="24-Nov-26 10:00:00", rsp_ent_name=name, rsp_node=node, rsp_dir=-3,
        ref_node=0 if time else 7, ref_dir=0 if time else 1, abscissa_axis_lab="Time" if time else "Frequency",
        abscissa_spec_data_type=17 if time else 18, abscissa_axis_units_lab="s" if time else "Hz",
        ordinate_spec_data_type=12, ordinate_axis_lab="Acceleration", ordinate_axis_units_lab="m/s^2",
        orddenom_spec_data_type=0 if time else 13, orddenom_axis_units_lab="NONE" if time else "N")


def note(name):
    sets = pyuff.UFF(name).read_sets()
    out = []
    for s in sets if isinstance(sets, list) else [sets]:
        if not s["abscissa_spacing"]:
            out.append(s["x"].tolist())
        if np.iscomplexobj(s["data"]):
            out += [s["data"].real.tolist(), s["data"].imag.tolist()]
        else:
            out.append(s["data"].tolist())
    truth[name] = out


def write(name, sets, double=True):
    if os.path.exists(name):
        os.remove(name)
    pyuff.UFF(name).write_sets(sets, "add", force_double=double)
    note(name)
    return open(name, "rb").read()


for binary in 0, 1:
    for even in 0, 1:
        for func in 1, 4:
            write("%s_%s_%s.uff" % ("binary" if binary else "text", "even" if even else "uneven", "real" if func == 1 else "complex"),
                  dataset(binary=binary, even=even, func=func))
for even in 0, 1:
    for func in 1, 4:
        write("single_%d_%d.uff" % (even, func), dataset(even=even, func=func, double=False), double=False)
text = write("several.uff", [dataset(node=i, name="mic %d" % i, double=False) for i in (1, 2, 3)], double=False)
both = write("mixed.uff", [dataset(node=1), dataset(node=2, binary=1), dataset(node=3, func=4, binary=1)])


def variant(name, of, b):
    open(name, "wb").write(b)
    truth[name] = truth[of]


# Trailing blanks, CRLF, blanks before the first delimiter's line end, no line end at the end.
lines = text.decode().splitlines()
variant("blanks.uff", "several.uff", "\n".join(s.rstrip().ljust(80) for s in lines).encode() + b"\n")
variant("crlf.uff", "several.uff", "\r\n".join(lines).encode())
variant("no_end.uff", "several.uff", text.rstrip())
# Binary: CR LF before the delimiter, stated numbers of bytes that are wrong, zeros as padding, high byte first.
single = open("binary_even_real.uff", "rb").read()
at = single.index(b"58b")
variant("crlf_before.uff", "mixed.uff", both.replace(b"    -1\n    -1\n", b"\r\n    -1\r\n    -1\r\n"))
variant("odd_bytes.uff", "binary_even_real.uff", single[:at] + single[at:].replace(b"%12d" % 184, b"%12d" % 187, 1))
variant("no_bytes.uff", "binary_even_real.uff", single[:at] + single[at:].replace(b"%12d" % 184, b"%12d" % 0, 1))
variant("padding.uff", "binary_even_real.uff", single[:-7] + b"\0\0\0\0" + single[-7:])
body = len(single) - 7 - 184
big = np.frombuffer(single[body:-7], "<f8").astype(">f8").tobytes()
variant("big.uff", "binary_even_real.uff", single[:body].replace(b"58b     1", b"58b     2") + big + single[-7:])
# Fortran: exponents with D, and of three digits without a letter.
one = open("text_even_real.uff").read()
variant("fortran.uff", "text_even_real.uff", one.replace("e+", "D+").replace("e-", "D-").encode())
json.dump(truth, open("truth.json", "w"))
