"""Writes MAT-files of level 5 by libsndfile 1.2.0 (Debian's python3-soundfile 0.12.1): the last array's length is 8
bytes too large. scipy 1.10 reads them; sound.json holds its values. Run in this folder: python3 make_sound.py"""
import json

import numpy as np
import scipy.io
import soundfile as sf

x = (np.arange(24).reshape(12, 2) - 10) / 32
truth = {}
for kind in ["PCM_U8", "PCM_16", "PCM_32", "FLOAT", "DOUBLE"]:
    name = "sound_%s.mat" % kind.lower()
    sf.write(name, x, 48000, subtype=kind, format="MAT5")
    truth[name] = scipy.io.loadmat(name)["wavedata"].astype(float).tolist()
json.dump(truth, open("sound.json", "w"))
