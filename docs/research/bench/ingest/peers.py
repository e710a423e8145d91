"""The Python side of bench/ingest: writes the files (write FOLDER ROWS), or reads one
of them whole with its usual reader (read NAME FILE) and prints the CPU seconds of
the fastest of three goes, as float64, without the time to start Python."""
import sys
import time

import numpy as np

C = 4


def write(folder, N):
    import h5py
    import scipy.io
    import scipy.io.wavfile
    rng = np.random.default_rng(1)
    x = (0.1 * rng.standard_normal((N, C))).astype("f4")
    i16 = np.round(np.clip(x, -1, 1) * 32767).astype("i2")
    scipy.io.wavfile.write(folder + "/int16.wav", 48000, i16)
    scipy.io.wavfile.write(folder + "/float32.wav", 48000, x)
    np.save(folder + "/float64.npy", x.astype("f8"))
    np.savez(folder + "/stored.npz", x=x)
    np.savez_compressed(folder + "/deflated.npz", x=i16)
    scipy.io.savemat(folder + "/double.mat", {"x": x.astype("f8")})
    scipy.io.savemat(folder + "/deflated.mat", {"x": i16}, do_compression=True)
    with h5py.File(folder + "/contiguous.h5", "w") as f:
        f["x"] = x
    with h5py.File(folder + "/gzip.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(8192, C), compression="gzip", compression_opts=4, shuffle=True)
    try:
        import soundfile
        soundfile.write(folder + "/int16.flac", i16, 48000, "PCM_16")
    except ImportError:
        pass
    for name, kind in ("binary", "58b"), ("text", "58 "):
        with open(folder + "/" + name + ".uff", "wb") as f:
            for c in range(C):
                y = x[:, c].astype("f8")
                if kind == "58 ":
                    y = y[:N // 8]
                f.write(uff_header(kind, len(y), c))
                if kind == "58b":
                    f.write(y.tobytes())
                else:
                    rows = "\n".join("".join("%13.5E" % v for v in y[i:i + 6]) for i in range(0, len(y), 6))
                    f.write(rows.encode() + b"\n")
                f.write(b"    -1\n")
    np.savetxt(folder + "/savetxt.txt", x[:N // 8].astype("f8"))
    np.savetxt(folder + "/short.csv", x[:N // 8], fmt="%.6f", delimiter=",", header="a,b,c,d", comments="")


def uff_header(kind, n, channel):
    first = "    58b     1     2          11%12d     0     0           0           0" % (8 * n) if kind == "58b" else "    58"
    lines = ["    -1", first] + ["NONE"] * 5 + [
        "    1         0    0         0 %-10s%10d%4d NONE               0   0" % ("mic %d" % channel, channel + 1, 3),
        "%10d%10d%10d%13.5E%13.5E%13.5E" % (4 if kind == "58b" else 2, n, 1, 0, 1 / 51200, 0),
        "        17    0    0    0 Time                 s                   ",
        "        15    0    0    0 Pressure             Pa                  "] + [
        "         0    0    0    0 NONE                 NONE                "] * 2
    return ("\n".join(lines) + "\n").encode()


def read_uff(path):
    try:
        import pyuff
        return np.array([s["data"] for s in pyuff.UFF(path).read_sets()]).T
    except ImportError:
        pass
    import struct  # what pyuff does: find the delimiters, then unpack, or cut each line in columns
    with open(path, "rb") as f:
        blocks = f.read().split(b"    -1\n    58")
    out = []
    for b in blocks[1:]:
        lines = b.splitlines(True)
        data = b"".join(lines[12:])[:-7]
        if lines[0].startswith(b"b"):
            out.append(np.asarray(struct.unpack("<%dd" % (len(data) // 8), data[:len(data) // 8 * 8]), "d"))
        else:
            values = []
            for line in data.decode("utf-8", errors="replace").splitlines(True):
                values.extend([float(line[13 * i:13 * (i + 1)]) for i in range(len(line) // 13)])
            out.append(np.asarray(values))
    return np.array(out).T


def read(path):
    if path.endswith(".flac"):
        import soundfile
        return soundfile.read(path, dtype="float64")[0]
    if path.endswith(".uff"):
        return read_uff(path)
    if path.endswith(".wav"):
        import scipy.io.wavfile
        x = scipy.io.wavfile.read(path)[1]
        return x.astype("f8") * (1 / 32768 if x.dtype == np.int16 else 1)
    if path.endswith(".npy"):
        return np.load(path).astype("f8")
    if path.endswith(".npz"):
        return np.load(path)["x"].astype("f8")
    if path.endswith(".mat"):
        import scipy.io
        return scipy.io.loadmat(path)["x"].astype("f8")
    if path.endswith(".h5"):
        import h5py
        with h5py.File(path) as f:
            return f["x"][:].astype("f8")
    if path.endswith(".csv"):
        return np.loadtxt(path, delimiter=",", skiprows=1)
    return np.loadtxt(path)


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]))
else:
    best = 1e9
    read(sys.argv[2])
    for _ in range(3):
        t = time.process_time()
        x = read(sys.argv[2])
        best = min(best, time.process_time() - t)
    print(best, float(x.sum()), x.shape[0])
