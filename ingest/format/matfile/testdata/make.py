"""Writes truth/*.mat with scipy.io.savemat and truth.json with the values written.

Run: python3 make.py (numpy 1.24, scipy 1.10). Expected values are flattened from
the Python objects handed to savemat, never read back from the files.
"""
import json
import os

import numpy as np
from scipy.io import savemat
from scipy.sparse import csc_matrix

os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("truth", exist_ok=True)
rng = np.random.default_rng(20)
CLASS = {"float64": "double", "float32": "single", "bool": "uint8"}


def flat(path, v, out):
    """Lists what MATLAB would show under path."""
    if isinstance(v, dict):
        for k, x in v.items():
            flat(f"{path}.{k}", x, out)
    elif isinstance(v, str):
        out["texts"].append({"name": path, "rows": [v] if v else []})
    elif v.dtype.names:
        for i, rec in enumerate(v.ravel(order="F")):
            p = path if v.size == 1 else f"{path}({i + 1})"
            for k in v.dtype.names:
                flat(f"{p}.{k}", rec[k], out)
    elif v.dtype == object:
        for i, x in enumerate(v.ravel(order="F")):
            flat(f"{path}{{{i + 1}}}", x, out)
    elif v.dtype.kind == "U":
        out["texts"].append({"name": path, "rows": [s for s in v]})
    elif np.iscomplexobj(v):
        flat(path + ".real", v.real, out)
        flat(path + ".imag", v.imag, out)
    else:
        dims = list(v.shape)
        if v.ndim < 2:  # oned_as="row"; a number is 1 by 1
            dims = [1, v.size]
        out["vars"].append({
            "name": path, "class": CLASS.get(str(v.dtype), str(v.dtype)), "logical": v.dtype == bool, "dims": dims,
            "values": [None if np.isnan(x) else "inf" if x == np.inf else "-inf" if x == -np.inf else float(x)
                       for x in v.ravel(order="F")],
        })


def obj(*items):
    a = np.empty((1, len(items)), object)
    for i, x in enumerate(items):
        a[0, i] = x
    return a


A = np.array
dtypes = {}
for t in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]:
    i = np.iinfo(t)
    big = 2**53 if i.max > 2**53 else i.max
    dtypes[t] = A([[i.min if i.min > -(2**53) else -(2**53), 0, 1, 7], [big, 100, 2, 3]], dtype=t)
dtypes["float32"] = rng.standard_normal((5, 3)).astype("float32")
dtypes["float64"] = rng.standard_normal((5, 3))
dtypes["special"] = A([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308])
dtypes["logical"] = A([[True, False, True]])
dtypes["z_complex"] = A([[1 + 2j, 3.0]])

structs = {
    "opp": {"vInf": A([[40, 40, 41]], dtype="uint8"), "RPS_M1": A([[93.740581, 109.37, 123.02]]), "site": "low-turbulence tunnel",
            "inner": {"deep": {"gain": A([[0.5]])}, "mark": A([[1, 2]], dtype="int32")}},
}
arr = np.empty((2, 2), dtype=[("x", object), ("label", object)])
for k, (i, j) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
    arr[i, j]["x"] = rng.standard_normal((k + 1, 1))
    arr[i, j]["label"] = f"point {k + 1}"
structs["s"] = arr

cells = {
    "c": obj(A([[1.5, 2.5]]), A([[3.0], [4.0]]), "text in a cell", A([[7]], dtype="int16")),
    "nested": obj(obj(A([[1.0]]), obj(A([[2.0, 3.0]]))), {"a": A([[4.0]]), "b": obj(A([[5.0]]), A([[6.0]]))}),
    "grid": obj(*[rng.standard_normal((9, 2)) for _ in range(6)]).reshape(2, 3),
    "z_cell": obj(A([[1.0]]), A([[1j]])),
}
shapes = {
    "row": np.arange(7.0)[None, :], "column": np.arange(7.0)[:, None], "scalar": A([[42.0]]), "cube": rng.standard_normal((4, 3, 2)),
    "empty": np.zeros((0, 0)), "empty03": np.zeros((0, 3)), "matrix": rng.standard_normal((50, 4)), "wide": rng.standard_normal((4, 50)),
    "a_very_long_name_of_a_variable_that_has_exactly_sixty_two_char": A([[1.0]]),
    "a_struct": {"a_field_name_of_more_than_thirty_one_characters_but_below_64": A([[2.0]])},
}
texts = {
    "name": "NACA 0012", "unit": "N·m", "greek": "θ = 90°", "emoji": "rotor 🚁 2", "nothing": "", "one": "x",
    "table": A(["first ", "second"]),
}
# One large enough that nothing fits into a block or the cache (5.6 MiB decompressed),
# its values computed in the test: x[i, j] = floor(i / 50) + 1000 j + (i mod 7) / 4.
i, j = np.ogrid[:120000, :6]
big = {"before": A([[1.0]]), "big": (i // 50 + 1000 * j + (i % 7) / 4)}

truth = {}
for name, v in [("dtypes", dtypes), ("structs", structs), ("cells", cells), ("shapes", shapes), ("texts", texts)]:
    for packed in (False, True):
        file = name + ("_z" if packed else "") + ".mat"
        savemat("truth/" + file, v, do_compression=packed, long_field_names=True)
        out = {"vars": [], "texts": [], "unread": []}
        for k, x in v.items():
            flat(k, x, out)
        truth[file] = out
sparse = {"before": A([[1.0]]), "sp": csc_matrix(A([[0.0, 1.0], [2.0, 0.0]])), "after": A([[2.0]])}
savemat("truth/sparse.mat", sparse)
truth["sparse.mat"] = {"vars": [], "texts": [], "unread": ["sp"]}
flat("before", sparse["before"], truth["sparse.mat"])
flat("after", sparse["after"], truth["sparse.mat"])
savemat("truth/big_z.mat", big, do_compression=True)
savemat("truth/v4.mat", {"x": A([[1.0, 2.0]])}, format="4")
json.dump(truth, open("truth/truth.json", "w"), ensure_ascii=False, separators=(",", ":"), default=bool)
