# What a user would write instead: sums, statistics, Welch's spectra and the levels of harmonics by scipy, from
# raw files to a table on disk, one process. whole.sh times it.
import csv, glob, hashlib, os
import numpy as np
from scipy.io import wavfile
from scipy.signal import welch

conditions = {r['file'] + '#' + r['channel']: r for r in csv.DictReader(open('raw/conditions.csv'))}
rows, files = [], []
for f in sorted(glob.glob('raw/*.wav')):
    digest = hashlib.sha256(open(f, 'rb').read()).hexdigest()
    rate, x = wavfile.read(f)
    x = x.T.astype(np.float32) / 32768
    files.append((f, digest, np.c_[x.min(1), x.max(1), x.mean(1), x.std(1), np.abs(x).max(1)]))
    half = x.shape[1] // 2
    name = os.path.basename(f)
    blades, rpm = (float(conditions[name + '#1'][k]) for k in ('blades', 'rpm'))
    bpf = blades * rpm / 60
    for h in (0, 1):
        hz, p = welch(x[:, h * half:(h + 1) * half], rate, 'hann', half // 8, 0, scaling='spectrum', axis=-1)
        for m in range(1, 6):
            near = np.abs(hz - m * bpf) <= .03 * m * bpf
            around = (np.abs(hz - m * bpf) <= .1 * m * bpf) & ~near
            k = p[:, near].argmax(1) + np.flatnonzero(near)[0]
            line = sum(p[np.arange(len(p)), np.clip(k + d, 0, p.shape[1] - 1)] for d in (-2, -1, 0, 1, 2))
            floor = np.median(p[:, around], 1) if around.any() else np.zeros(len(p))
            rows += [(name, c, h, m, hz[k[c]], 10 * np.log10(max(line[c] - 5 * floor[c], 1e-30) / 4e-10), floor[c])
                     for c in range(len(p))]
np.savez('peer.npz', rows=np.array(rows, dtype=object), files=np.array(files, dtype=object), allow_pickle=True)
