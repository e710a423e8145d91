#!/usr/bin/env python3
"""Writes the small recordings of testdata/truth and, in truth.json, what other
programs read from them: scipy.io.wavfile (WAV), numpy.load (NPY) and
numpy.loadtxt (text). WAV files come from sox, scipy and, where neither can,
from struct by the format's definition.

Needs numpy, scipy and sox. Run in this folder: python3 make_truth.py
"""
import json, os, struct, subprocess
import numpy as np
from scipy.io import wavfile

os.makedirs("truth", exist_ok=True)
os.chdir("truth")
rng = np.random.default_rng(7)
truth = {}


def add(name, fmt, rate, x):
    """x: (samples, channels) as it must be delivered."""
    x = np.atleast_2d(np.asarray(x, dtype=np.float64))
    truth[name] = {"format": fmt, "rate": rate, "data": x.T.tolist()}


def full_scale(x):
    """Integers as scipy delivers them to fractions of full scale."""
    if x.ndim == 1:
        x = x[:, None]
    x = x.astype(x.dtype.newbyteorder("="))
    if x.dtype == np.uint8:
        return (x.astype(float) - 128) / 128
    if x.dtype == np.int16:
        return x / 2.0**15
    if x.dtype == np.int32:  # 24 bits come left-justified in 32
        return x / 2.0**31
    return x


def check_wav(name):
    rate, x = wavfile.read(name)
    add(name, "wav", rate, full_scale(x))


# --- WAV by scipy
n = 37
wavfile.write("scipy_u8.wav", 8000, rng.integers(0, 256, (n, 2)).astype(np.uint8))
wavfile.write("scipy_i16.wav", 51200, rng.integers(-2**15, 2**15, (n, 3)).astype(np.int16))
wavfile.write("scipy_i32.wav", 48000, rng.integers(-2**31, 2**31, (n, 2)).astype(np.int32))
wavfile.write("scipy_f32.wav", 44100, rng.normal(size=(n, 13)).astype(np.float32))
wavfile.write("scipy_f64.wav", 12800, rng.normal(size=n))
for f in ["scipy_u8.wav", "scipy_i16.wav", "scipy_i32.wav", "scipy_f32.wav", "scipy_f64.wav"]:
    check_wav(f)

# --- WAV by sox: extensible headers, 24 bits, big-endian, texts
np.savetxt("/tmp/noise.txt", rng.normal(size=(n, 4)))
wavfile.write("/tmp/noise.wav", 51200, (0.2 * rng.normal(size=(n, 4))).clip(-1, 0.99).astype(np.float32))


def sox(*a):
    subprocess.run(["sox", *a], check=True, stderr=subprocess.DEVNULL)


sox("-D", "/tmp/noise.wav", "-b", "24", "sox_i24_4ch.wav")
sox("-D", "/tmp/noise.wav", "-b", "16", "-B", "sox_i16_rifx.wav", "remix", "1", "2")
sox("-D", "/tmp/noise.wav", "-b", "8", "-e", "unsigned-integer", "sox_u8.wav", "remix", "1")
sox("-D", "/tmp/noise.wav", "-b", "32", "-e", "floating-point", "sox_f32.wav")
sox("-D", "/tmp/noise.wav", "-b", "16", "--comment", "Comment=made by sox", "sox_comment.wav", "remix", "1", "2")
for f in ["sox_i24_4ch.wav", "sox_u8.wav", "sox_f32.wav", "sox_comment.wav", "sox_i16_rifx.wav"]:
    check_wav(f)
# scipy does not read the extensible big-endian header: sox's own reading.
sox("-D", "/tmp/noise.wav", "-b", "16", "-B", "sox_i16_rifx_4ch.wav")
raw = subprocess.run(["sox", "sox_i16_rifx_4ch.wav", "-t", "f64", "-"], check=True, stdout=subprocess.PIPE).stdout
add("sox_i16_rifx_4ch.wav", "wav", 51200, np.frombuffer(raw, "<f8").reshape(-1, 4))
sox("-D", "/tmp/noise.wav", "-b", "16", "-e", "a-law", "sox_alaw.wav", "remix", "1")
sox("-D", "/tmp/noise.wav", "-e", "ms-adpcm", "sox_adpcm.wav", "remix", "1")
# A pipe: sox cannot go back to write the sizes.
out = subprocess.run("sox -D /tmp/noise.wav -t raw -e float -b 32 - | sox -D -t raw -e float -b 32 -r 51200 -c 4 - -b 16 -t wav - | cat", shell=True, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
open("sox_pipe.wav", "wb").write(out)

# --- WAV by definition: odd chunks before and after, an odd data size, RF64
def chunk(id, body):
    return id + struct.pack("<I", len(body)) + body + b"\0" * (len(body) & 1)


def riff(*chunks, id=b"RIFF", size=None):
    body = b"WAVE" + b"".join(chunks)
    return id + struct.pack("<I", len(body) if size is None else size) + body


def fmt(tag, ch, rate, bits):
    return chunk(b"fmt ", struct.pack("<HHIIHH", tag, ch, rate, rate * ch * bits // 8, ch * bits // 8, bits))


u8 = rng.integers(0, 256, n).astype(np.uint8)
info = b"INFO" + chunk(b"INAM", b"rotor 3\0") + chunk(b"ICMT", b"mic 5 odd")
open("odd_chunks.wav", "wb").write(
    riff(chunk(b"junk", b"12345"), chunk(b"bext", b"balance run".ljust(602, b"\0")), fmt(1, 1, 25600, 8), chunk(b"fact", struct.pack("<I", n)),
         chunk(b"xyz ", b"abc"), chunk(b"data", u8.tobytes()), chunk(b"LIST", info)))
add("odd_chunks.wav", "wav", 25600, full_scale(u8))
i16 = rng.integers(-2**15, 2**15, (n, 2)).astype("<i2")
ds64 = struct.pack("<QQQI", 0, i16.nbytes, n, 0)
open("rf64.wav", "wb").write(
    riff(chunk(b"ds64", ds64), fmt(1, 2, 51200, 16), b"data" + struct.pack("<I", 0xFFFFFFFF) + i16.tobytes(), chunk(b"LIST", info), id=b"RF64", size=0xFFFFFFFF))
add("rf64.wav", "wav", 51200, full_scale(i16.astype(np.int16)))
i24 = rng.integers(-2**23, 2**23, (n, 2)).astype("<i4")
raw = b"".join(struct.pack("<i", int(v))[:3] for v in i24.ravel())
open("i24_plain.wav", "wb").write(riff(fmt(1, 2, 96000, 24), chunk(b"data", raw)))
add("i24_plain.wav", "wav", 96000, i24 / 2.0**23)

# --- NPY
for name, x, t in [
    ("f4_tc.npy", rng.normal(size=(n, 4)).astype("<f4"), False),
    ("f8_ct.npy", rng.normal(size=(3, n)), True),
    ("f8_tc_fortran.npy", np.asfortranarray(rng.normal(size=(n, 3))), False),
    ("f8_ct_fortran.npy", np.asfortranarray(rng.normal(size=(3, n))), True),
    ("f4_big.npy", rng.normal(size=n).astype(">f4"), False),
    ("f8_big_tc.npy", rng.normal(size=(n, 2)).astype(">f8"), False),
    ("i1.npy", rng.integers(-128, 128, n).astype("i1"), False),
    ("i2_tc.npy", rng.integers(-2**15, 2**15, (n, 2)).astype("<i2"), False),
    ("i2_big.npy", rng.integers(-2**15, 2**15, n).astype(">i2"), False),
    ("i4.npy", rng.integers(-2**31, 2**31, n).astype("<i4"), False),
    ("i4_big.npy", rng.integers(-2**31, 2**31, n).astype(">i4"), False),
    ("i8.npy", rng.integers(-2**52, 2**52, n).astype("<i8"), False),
    ("u1.npy", rng.integers(0, 256, n).astype("u1"), False),
    ("u2.npy", rng.integers(0, 2**16, n).astype("<u2"), False),
    ("u4_big.npy", rng.integers(0, 2**32, n).astype(">u4"), False),
    ("u8.npy", rng.integers(0, 2**53, n).astype("<u8"), False),
]:
    np.save(name, x)
    y = np.load(name)
    y = y.T if t else y
    add(name, "npy", 0, y if y.ndim == 2 else y[:, None])
x = rng.normal(size=(n, 2))
for v in [(1, 0), (2, 0), (3, 0)]:
    name = f"version{v[0]}.npy"
    with open(name, "wb") as f:
        np.lib.format.write_array(f, x, version=v)
    add(name, "npy", 0, np.load(name))
np.save("object.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
np.save("structured.npy", np.zeros(3, dtype=[("a", "f4"), ("b", "i2")]))
np.save("three_axes.npy", np.zeros((2, 3, 4)))
np.save("complex.npy", np.zeros(3, dtype="c16"))
np.savez("archive.npz", a=np.zeros(3))

# --- text
x = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-9, 10, (n, 4))


def text(name, delimiter=None, skip=0, **kw):
    np.savetxt(name, x, delimiter=delimiter or " ", **kw)
    add(name, "text", 0, np.loadtxt(name, delimiter=delimiter, skiprows=skip, comments=["#", "%"]))


text("savetxt.txt")
text("savetxt_header.csv", ",", header="Fx,Fy,Fz,Mx")
text("savetxt_g.csv", ",", 1, fmt="%.17g", header="Fx [N],Fy [N],Fz [N],Mx [N m]", comments="")
text("savetxt_tab.txt", "\t", 1, fmt="%.6f", header="a\tb\tc\td", comments="", newline="\r\n")
text("savetxt_semi.csv", ";", fmt="%.9e")
text("savetxt_e.txt", None, 2, fmt="%12.4e", header="  Fx   Fy   Fz   Mx\n  N    N    N    Nm", comments="")

json.dump(truth, open("truth.json", "w"), indent=None, separators=(",", ":"))
