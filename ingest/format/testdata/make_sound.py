"""Writes sound/: small AIFF, AU, CAF, Wave64 and RF64 files by libsndfile 1.2.0
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


for form, ours, endings, subtypes, endians in [
    ("AIFF", "aiff", "aiff", ["PCM_S8", "PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"], ["BIG", "LITTLE"]),
    ("AU", "au", "au", ["PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"], ["BIG", "LITTLE"]),
    ("CAF", "caf", "caf", ["PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"], ["BIG", "LITTLE"]),
    ("W64", "wav", "w64", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"], ["FILE"]),
    ("RF64", "wav", "rf64", ["PCM_16", "PCM_24", "FLOAT"], ["FILE"]),
]:
    for subtype in subtypes:
        for endian in ["FILE"] if form == "AIFF" and subtype in ("PCM_S8", "PCM_U8", "FLOAT", "DOUBLE") else endians:
            name = "sf_%s_%s.%s" % (subtype.lower(), endian.lower(), endings)
            with sf.SoundFile(name, "w", RATE, C, subtype, endian, form) as f:
                if form in ("AIFF", "CAF") and subtype == "PCM_16":
                    f.title, f.comment = "wing", "tripped at 5 %"
                f.write(x)
            note(name, ours)

sf.write("sox.wav", x[:, :2], RATE, "PCM_24")
for name, how in [("sox.aiff", []), ("sox.aifc", []), ("sox_8.aiff", ["-b", "8"]), ("sox_32.aiff", ["-b", "32"]),
                  ("sox.au", []), ("sox_f.au", ["-e", "float", "-b", "32"]), ("sox.w64", []),
                  ("sox_8.w64", ["-b", "8"]), ("sox_f.caf", ["-e", "float", "-b", "64"])]:
    subprocess.run(["sox", "-D", "sox.wav"] + how + [name], check=True)
    note(name, "wav" if name.endswith("w64") else "aiff" if "aif" in name else name.split(".")[1])
# Into a pipe sox cannot write lengths afterwards.
for form in ["aiff", "au", "w64"]:
    out = subprocess.run(["sox", "-D", "sox.wav", "-b", "16", "-t", form, "-"], stdout=subprocess.PIPE, check=True).stdout
    open("sox_pipe." + form, "wb").write(out)
    if form == "au":
        note("sox_pipe.au", "au")
for name, how in [("ulaw.au", ["-e", "mu-law"])]:
    subprocess.run(["sox", "-D", "sox.wav"] + how + [name], check=True)
sf.write("ulaw.caf", x, RATE, "ULAW", format="CAF")
json.dump(truth, open("sound.json", "w"))
