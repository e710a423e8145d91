"""Writes the WAV files, and from each of them a FLAC file by Debian's flac 1.4.2
(pipe.flac by way of a pipe, so that its header states no number of samples;
sox.flac by sox 14.4). Run in this folder: python3 make.py"""
import math
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


write("i16_2ch.wav", 16, 2, 1500)
write("i24_3ch.wav", 24, 3, 700)
flac = ["flac", "--silent", "--force", "--no-padding", "--blocksize", "512", "--channel-map=none"]
for name in ["i16_2ch", "i24_3ch"]:
    subprocess.run(flac + [name + ".wav"], check=True)
raw = wave.open("i16_2ch.wav").readframes(1500)
form = ["--force-raw-format", "--endian=little", "--sign=signed", "--channels=2", "--bps=16", "--sample-rate=48000"]
piped = subprocess.run(flac + form + ["--stdout", "-"], input=raw, check=True, stdout=subprocess.PIPE).stdout
open("pipe.flac", "wb").write(piped)
subprocess.run(["sox", "-D", "i24_3ch.wav", "-C", "0", "sox.flac"], check=True)
