"""The Python side of ingest/bench: writes the files (write FOLDER), or reads one
of them whole with its usual reader (read NAME FILE) and prints the CPU seconds of
the fastest of three goes, as float64, without the time to start Python."""
import sys
import time

import numpy as np

N, C = 1 << 20, 4


def write(folder):
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
    np.savetxt(folder + "/savetxt.txt", x[:N // 8].astype("f8"))
    np.savetxt(folder + "/short.csv", x[:N // 8], fmt="%.6f", delimiter=",", header="a,b,c,d", comments="")


def read(path):
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
    write(sys.argv[2])
else:
    best = 1e9
    read(sys.argv[2])
    for _ in range(3):
        t = time.process_time()
        x = read(sys.argv[2])
        best = min(best, time.process_time() - t)
    print(best, float(x.sum()), x.shape[0])
