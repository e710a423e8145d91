"""Reads a folder of other projects' test files with this program and with Python,
and prints what agrees:

    go build -o /tmp/pipeline ../../cmd/pipeline
    python3 bench/ingest/corpus.py /tmp/pipeline FOLDER...

Each line of the table is a subfolder and an ending. Files are counted as
  right     every channel equals a row, column or plane of what Python reads
  refused   an error, or arrays listed as not read, and no channel that differs
  wrong     a channel that Python does not find in the file, or no answer in time
  ours      read here, while Python's reader fails
Values are compared by number of samples, least, greatest, mean and first values.
WAV is read by scipy, NPY and NPZ by numpy, MAT by scipy and h5py, HDF5 by h5py,
netCDF by netCDF4, TDMS by npTDMS if it is installed."""
import collections
import json
import os
import subprocess
import sys
import warnings

import h5py
import numpy as np
import scipy.io
import scipy.io.wavfile

warnings.simplefilter("ignore")
LIMIT_S = 20


def arrays(x, depth=0):
    """Every array of numbers within a value."""
    if depth > 40:
        return
    if isinstance(x, dict):
        for k, v in x.items():
            if not str(k).startswith("__"):
                yield from arrays(v, depth + 1)
        return
    if scipy.sparse.issparse(x):
        return
    x = np.asarray(x)
    if x.dtype.names:
        for n in x.dtype.names:
            yield from arrays(x[n], depth + 1)
    elif x.dtype == object:
        for v in x.ravel():
            if v is not x:
                yield from arrays(v, depth + 1)
    elif np.iscomplexobj(x):
        yield from (x.real, x.imag)
    elif x.dtype.kind in "iufb" and x.size > 0:
        yield x


def hdf5(path):
    out = []
    with h5py.File(path, "r") as f:
        def visit(_, d):
            if isinstance(d, h5py.Dataset) and d.dtype.kind in "iufbcV" and d.shape is not None:
                try:
                    out.extend(arrays(d[()]))
                except Exception:
                    pass
        f.visititems(visit)
    return out


def netcdf(path):
    import netCDF4
    out = []

    def walk(g):
        for v in g.variables.values():
            x = v[...]
            if getattr(x, "dtype", None) is not None and x.dtype.kind in "iufb":
                out.append(np.ma.filled(np.ma.asarray(x).astype("f8"), np.nan))
            elif getattr(x, "dtype", None) is not None:
                out.extend(arrays(np.ma.getdata(x)))
        for s in g.groups.values():
            walk(s)
    with netCDF4.Dataset(path) as f:
        walk(f)
    return out


def wav(path):
    x = scipy.io.wavfile.read(path)[1]
    if x.dtype.kind == "u":
        return [(x.astype("f8") - 128) / 128]
    return [x / 2.0 ** (8 * x.dtype.itemsize - 1) if x.dtype.kind == "i" else x]


def tdms(path):
    import nptdms
    return [c[:] for g in nptdms.TdmsFile.read(path).groups() for c in g.channels() if np.asarray(c[:]).dtype.kind in "iufb"]


def mat(path):
    if h5py.is_hdf5(path):
        return hdf5(path)
    return list(arrays(scipy.io.loadmat(path)))


READERS = {
    ".wav": wav, ".npy": lambda p: list(arrays(np.load(p))), ".npz": lambda p: list(arrays(dict(np.load(p)))), ".mat": mat,
    ".h5": hdf5, ".hdf5": hdf5, ".nc": netcdf, ".nc4": netcdf, ".tdms": tdms}


def signature(x):
    x = np.asarray(x, "f8")
    good = x[np.isfinite(x)]
    return (len(x), len(x) - len(good), float(good.min()) if len(good) else None, float(good.max()) if len(good) else None,
            float(good.mean()) if len(good) else None, [float(v) if np.isfinite(v) else None for v in x[:5]])


def series(x):
    """Every series along every axis of an array."""
    x = np.asarray(x)
    for axis in range(x.ndim):
        if x.shape[axis] == 0 or x.shape[axis] < 2 and x.size > 1 or x.size // x.shape[axis] > 4096:
            continue
        yield from np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])


def close(a, b, tol):
    return a is None and b is None or a is not None and b is not None and abs(a - b) <= tol * max(abs(a), abs(b), 1e-300)


def same(c, s, tol):
    return c["samples"] == s[0] and c["not_finite"] == s[1] and close(c["min"], s[2], tol) and close(c["max"], s[3], tol) and \
        len(c["first"]) == len(s[5]) and all(close(a, b, tol) for a, b in zip(c["first"], s[5])) and (
            s[4] is None or c["mean"] is None or abs(c["mean"] - s[4]) <= tol * max(abs(s[2]), abs(s[3]), 1e-300))


def judge(program, path, reader):
    try:
        r = subprocess.run([program, "inspect", "--json", path], capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "wrong", "no answer"
    if r.returncode not in (0, 3):
        return "wrong", f"exit {r.returncode}: {r.stderr[-200:]}"
    if r.returncode == 3:
        return "refused", r.stderr.strip()[-200:]
    rec = json.loads(r.stdout).get("recording") or {"channels": []}
    try:
        theirs = [signature(s) for x in reader(path) for s in series(x)]
    except Exception as e:
        return "ours", repr(e)[:200]
    tol = 1e-6 if reader is netcdf else 1e-9  # netCDF4 unpacks in float32 where the scale is one
    by = collections.defaultdict(list)
    for s in theirs:
        by[s[0]].append(s)
    for c in rec["channels"]:
        if not any(same(c, s, tol) for s in by[c["samples"]]):
            return "wrong", f"channel {c['name']}"
    unread = [u for u in rec.get("unread") or [] if u["fault"]]
    return ("refused", unread[0]["reason"][:200]) if unread else ("right", "")


def main():
    program, folders = sys.argv[1], sys.argv[2:]
    table = collections.defaultdict(collections.Counter)
    for folder in folders:
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path, end = os.path.join(root, name), os.path.splitext(name)[1].lower()
                if end not in READERS or os.path.getsize(path) == 0:
                    continue
                top = os.path.relpath(path, folder).split(os.sep)[0]
                verdict, why = judge(program, path, READERS[end])
                table[top, end][verdict] += 1
                if verdict != "right":
                    print(f"{verdict}\t{path}\t{why}", file=sys.stderr)
    columns = ["right", "refused", "wrong", "ours"]
    print("| folder | ending | files | " + " | ".join(columns) + " |\n|---|---|" + "---:|" * (1 + len(columns)))
    for (top, end), n in sorted(table.items()):
        print(f"| {top} | {end} | {sum(n.values())} | " + " | ".join(str(n[c]) for c in columns) + " |")


if __name__ == "__main__":
    main()
