"""Writes sound/: small Wave64 and RF64 files by libsndfile 1.2.0
(python3-soundfile) and sox 14.4, and in sound.json what libsndfile reads from them.
Run in this folder: python3 make_sound.py"""
import json
import os
import subprocess

import numpy as np
import soundfile as sf

os.makedirs("sound", exist_ok=True)
os.chdir("sound")
rng = np.random.default_rng(21)
N, C, RATE = 37, 3, 44100
x = rng.uniform(-1, 1, (N, C))
x[:4, 0] = [-1, 1 - 2.0**-7, 0, 0.5]
truth = {}


def note(name, form):
    data, rate = sf.read(name, dtype="float64", always_2d=True)
    truth[name] = {"format": form, "rate": rate, "data": data.T.tolist()}


for form, endings, subtypes in [
    ("W64", "w64", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"]),
    ("RF64", "rf64", ["PCM_16", "PCM_24", "FLOAT"]),
]:
    for subtype in subtypes:
        name = "sf_%s_file.%s" % (subtype.lower(), endings)
        with sf.SoundFile(name, "w", RATE, C, subtype, "FILE", form) as f:
            f.write(x)
        note(name, "wav")

sf.write("sox.wav", x[:, :2], RATE, "PCM_24")
for name, how in [("sox.w64", []), ("sox_8.w64", ["-b", "8"])]:
    subprocess.run(["sox", "-D", "sox.wav"] + how + [name], check=True)
    note(name, "wav")
# Into a pipe sox cannot write lengths afterwards.
out = subprocess.run(["sox", "-D", "sox.wav", "-b", "16", "-t", "w64", "-"], stdout=subprocess.PIPE, check=True).stdout
open("sox_pipe.w64", "wb").write(out)
json.dump(truth, open("sound.json", "w"))
