"""Writes the WAV files, and from each of them a FLAC file by Debian's flac 1.4.2
(pipe.flac by way of a pipe, so that its header states no number of samples;
sox.flac by sox 14.4). Run in this folder: python3 make.py"""
import glob
import hashlib
import math
import os
import random
import struct
import subprocess
import wave

random.seed(14)


def write(name, bits, channels, frames):
    top = 1 << (bits - 1)
    with wave.open(name, "wb") as w:
        w.setnchannels(channels)
        w.setsampwidth(bits // 8)
        w.setframerate(48000)
        for k in range(frames):
            for c in range(channels):
                v = 0.5 * math.sin(2 * math.pi * 440 * (c + 1) * k / 48000) + 0.01 * random.gauss(0, 1)
                if c == 1:  # both limits, and silence
                    v = -1 if k % 50 == 0 else 1 if k % 50 == 1 else 0
                i = max(-top, min(top - 1, round(v * top)))
                w.writeframesraw(struct.pack("<i", i)[:bits // 8])


def form_of(bits, channels):
    return ["--force-raw-format", "--endian=little", "--sign=signed", f"--channels={channels}", f"--bps={bits}",
            "--sample-rate=48000"]


write("i16_2ch.wav", 16, 2, 1500)
write("i24_3ch.wav", 24, 3, 700)
flac = ["flac", "--silent", "--force", "--no-padding", "--blocksize", "512", "--channel-map=none"]
for name in ["i16_2ch", "i24_3ch"]:
    subprocess.run(flac + [name + ".wav"], check=True)
raw = wave.open("i16_2ch.wav").readframes(1500)
piped = subprocess.run(flac + form_of(16, 2) + ["--stdout", "-"], input=raw, check=True, stdout=subprocess.PIPE).stdout
open("pipe.flac", "wb").write(piped)
subprocess.run(["sox", "-D", "i24_3ch.wav", "-C", "0", "sox.flac"], check=True)

# Below, the expected samples are those whose MD5 the encoder wrote into the header.


def encode(name, bits, channels, samples, *options):
    """Encodes rows of samples by flac."""
    raw = b"".join(struct.pack("<i", v)[:bits // 8] for row in samples for v in row)
    form = form_of(bits, channels) + ["--silent", "--force", "--no-padding", "--channel-map=none", "--lax", "-o", name + ".flac"]
    open("tmp.raw", "wb").write(raw)
    subprocess.run(["flac"] + form + list(options) + ["tmp.raw"], check=True)
    os.remove("tmp.raw")


def noise(scale):
    return round(random.gauss(0, scale))


# left and side, right and side, mid and side, none: what of them differs is independent
stereo = []
for k in range(1024):
    a, s = noise(300), noise(900)
    stereo.append([(a, a - s), (a + s, a), (a + (s >> 1), a - s + (s >> 1)), (a, noise(300))][k // 256])
encode("stereo", 16, 2, stereo, "--blocksize=256", "-m")
for order in (0, 3, 6, 12, 32):  # 0: fixed predictors; others: as many as the tones need
    tones = [(round(sum(4e3 * math.sin(k * (c + 0.5) / 6) for c in range(max(1, order // 2)))) + noise(1),)
             for k in range(1024)]
    if order == 32:  # noise that comes again after 20 samples
        tones = [(tones[k % 20][0] + noise(2),) for k in range(1024)]
    encode(f"order{order}", 16, 1, tones, "--blocksize=576", f"--max-lpc-order={order}", "-p", "-e")
# verbatim, constant, wasted bits, Rice parameters of five bits, silence; fixed predictors of each order
kinds = []
for k in range(600):
    kinds.append((random.randrange(-1 << 23, 1 << 23), -1 << 23, noise(400) << 12, noise(1 << 18), 0,
                  k * k // 4, (k - 300) ** 3 // 8, (k - 300) ** 4 // 1024))
encode("kinds", 24, 8, kinds, "--blocksize=192", "--max-lpc-order=0")
encode("bits8", 8, 1, [(noise(20),) for k in range(300)], "--blocksize=100", "--sample-rate=13000")


class Bits:
    """Bits of a frame written by hand."""

    def __init__(self):
        self.s = ""

    def put(self, value, width):
        if width:
            self.s += format(value & (1 << width) - 1, "0%db" % width)

    def bytes(self):
        s = self.s + "0" * (-len(self.s) % 8)
        return bytes(int(s[i:i + 8], 2) for i in range(0, len(s), 8))


def crc(b, width, polynomial):
    v = 0
    for x in b:
        v ^= x << (width - 8)
        for _ in range(8):
            v = (v << 1 ^ (polynomial if v >> (width - 1) & 1 else 0)) & (1 << width) - 1
    return v


def frame(first, samples):
    """A frame of a stream of varying block sizes: differences, half of them in partitions of fixed width."""
    f = Bits()
    f.put(0b11111111111110, 14), f.put(0, 1), f.put(1, 1)
    f.put(7, 4), f.put(13, 4), f.put(0, 4), f.put(4, 3), f.put(0, 1)
    for x in chr(first).encode():
        f.put(x, 8)
    f.put(len(samples) - 1, 16), f.put(48000, 16)
    f.put(crc(f.bytes(), 8, 0x07), 8)
    f.put(0, 1), f.put(9, 6), f.put(0, 1)  # fixed, order 1
    f.put(samples[0], 16)
    f.put(0, 2), f.put(2, 4)  # four partitions
    size = len(samples) // 4
    for p in range(4):
        part = [samples[k] - samples[k - 1] for k in range(max(1, p * size), (p + 1) * size)]
        if p % 2 == 0:
            width = max(max(abs(v) for v in part + [0]).bit_length() + 1, 1) if any(part) else 0
            f.put(15, 4), f.put(width, 5)
            for v in part:
                f.put(v, width)
        else:
            f.put(5, 4)
            for v in part:
                u = v << 1 if v >= 0 else -v * 2 - 1
                f.put(1, (u >> 5) + 1), f.put(u, 5)
    b = f.bytes()
    return b + struct.pack(">H", crc(b, 16, 0x8005))


samples, out, at = [], b"", 0
for n in (4, 400, 64, 1000, 28):
    block = [round(3e4 * math.sin(k / 40)) if n != 64 or k > 16 else 7 for k in range(n)]
    out += frame(at, block)
    samples += block
    at += n
head = struct.pack(">HH", 16, 1000) + bytes(6) + (48000 << 44 | 15 << 36 | len(samples)).to_bytes(8, "big")
head += hashlib.md5(struct.pack("<%dh" % len(samples), *samples)).digest()
open("byhand.flac", "wb").write(b"fLaC" + b"\x80\0\0\x22" + head + out)
for name in glob.glob("*.flac"):
    subprocess.run(["flac", "--silent", "--test", name], check=True)
