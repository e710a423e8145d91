"""Ratios of `go run ./bench/dsp` to its Python peers, in one session, alternating.

    go build -o /tmp/bench ./bench/dsp && python3 bench/dsp/bench.py /tmp/bench [rounds]
    python3 bench/dsp/bench.py /tmp/bench 5 /tmp/pipeline FOLDER [jobs]   # the whole process

Peers (numpy, scipy; one thread): `scipy`, scipy.signal.welch over all channels of a half; `hand`, the strongest form
found in numpy: one channel at a time, its eight segments as one batch of float32 transforms from a memory map, powers
summed by einsum. Both end in the five largest bins about the harmonics; the Go program measures more (speed, floors,
16 segment spectra, tests of the halves). Where pyfftw is there, also FFTW's real transform of 51 200 float32 and float64.

Of each round the time of the processor (user + system) is taken, which other work on the machine disturbs less than
the clock; the table gives the median over the rounds and the least, which a quiet machine would come near to. Files:
13 channels x 16 s x 51.2 kHz float32, as NPY planes and as WAV frames, written to a temporary folder (170 MB) and read
once before, so that they lie in the page cache. SECONDS=1 makes them shorter, to see that it runs.

The whole process is `run --to dsp`, with one job where no number is given, from nothing on the files that `pipeline simulate rotor FOLDER` wrote;
its peer reads the same files with wavfile.read and makes the spectra of the same halves by scipy.signal.welch.
"""
import glob, os, resource, struct, subprocess, sys, tempfile, time
import numpy as np
from scipy.fft import rfft
from scipy.signal import welch

FS, CH, NSEG, BPF = 51200, 13, 8, 200.0
N = FS * int(os.environ.get('SECONDS', '16'))


def make(folder):
    t = np.arange(N) / FS
    files = {'npy': [], 'wav': []}
    for i in range(2):
        rng = np.random.default_rng(i)
        x = rng.standard_normal((CH, N)).astype('f4') * 0.02
        for m in range(1, 6):
            x += (np.cos(2 * np.pi * m * BPF * t + i) / m).astype('f4')
        p = os.path.join(folder, f'{i}.npy'); np.save(p, x); files['npy'].append(p)
        p = os.path.join(folder, f'{i}.wav'); files['wav'].append(p)
        body = np.ascontiguousarray(x.T).tobytes()
        with open(p, 'wb') as f:
            f.write(b'RIFF' + struct.pack('<I', 36 + len(body)) + b'WAVEfmt ' + struct.pack('<IHHIIHH', 16, 3, CH, FS, FS * CH * 4, CH * 4, 32))
            f.write(b'data' + struct.pack('<I', len(body)) + body)
    return files


def peaks(p, df):
    out = []
    for m in range(1, 6):
        tol = max(0.015 * m * BPF, 2 * df)
        lo, hi = int(np.ceil((m * BPF - tol) / df)), int(np.floor((m * BPF + tol) / df))
        out.append(p[..., lo:hi + 1].max(-1))
    return np.stack(out, -1)


def scipy_form(x):
    n = x.shape[1] // 2 // NSEG
    return [peaks(welch(h[:, :n * NSEG], FS, 'hann', n, 0, scaling='spectrum', axis=-1)[1], FS / n) for h in np.split(x, 2, axis=1)]


W = None


def hand_form(x):
    global W
    n = x.shape[1] // 2 // NSEG
    if W is None:
        w = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n); W = (w.astype('f4'), w.sum())
    w, sw = W
    out = []
    for h in np.split(x, 2, axis=1):
        p = np.empty((len(x), n // 2 + 1), 'f4')
        for i in range(len(x)):
            s = h[i, :n * NSEG].reshape(NSEG, n)
            z = rfft((s - s.mean(-1, keepdims=True)) * w, axis=-1, overwrite_x=True)
            v = z.view('f4').reshape(NSEG, -1)
            q = np.einsum('ij,ij->j', v, v).reshape(-1, 2)
            np.add(q[:, 0], q[:, 1], out=p[i])
        p *= 2.0 / (sw * sw * NSEG)
        out.append(peaks(p, FS / n))
    return out


def peer(form, files):
    c = time.process_time()
    for f in files:
        form(np.load(f, mmap_mode='r'))
    return time.process_time() - c


def program(binary, what, files):
    """the middle of three passes within the process, after a first that makes the plan"""
    out = subprocess.run([binary, '-what', what, '-repeat', '4', '-blades', '2', '-rpm', '6000'] + files, capture_output=True, text=True, check=True).stdout
    return sorted(float(line.split('user_ms')[1].split()[0]) for line in out.splitlines()[1:])[1] / 1e3


def transforms(binary, n):
    out = subprocess.run([binary, '-what', 'fft', '-repeat', '1', '-n', str(n)], capture_output=True, text=True, check=True).stdout
    own = float(out.split('least_us')[1].split(';')[0])
    x = np.random.default_rng(1).standard_normal(n); best = 1e9
    for _ in range(200):
        t = time.perf_counter(); rfft(x); best = min(best, time.perf_counter() - t)
    return own, best * 1e6


def fftw(n):
    """least of 2000, in us, float32 and float64"""
    import pyfftw
    out = []
    for real, compl in (('float32', 'complex64'), ('float64', 'complex128')):
        x, y = pyfftw.empty_aligned(n, real), pyfftw.empty_aligned(n // 2 + 1, compl)
        p = pyfftw.FFTW(x, y, flags=('FFTW_MEASURE',), threads=1); x[:] = np.random.default_rng(1).standard_normal(n); best = 1e9
        for _ in range(2000):
            t = time.perf_counter(); p.execute(); best = min(best, time.perf_counter() - t)
        out.append(best * 1e6)
    return out


CONFIG = """version: 1
workdir: runs
experiments:
  drone:
    ingest: {files: '%s/*.wav', conditions: '%s/conditions.csv', calibration: {sensitivity_v_per_pa: 0.05, full_scale_v: 0.05}}
    dsp: {triplets: split-half-spectrum, segments: 8, harmonics: 5, tolerance: 0.03}
"""


def whole(pipeline, raw, jobs, work):
    """processor time, user and system, and elapsed; in a folder of its own in work, which stays: ext4 looks for a
    free inode longer while many were removed in the seconds before"""
    p = os.path.join(tempfile.mkdtemp(dir=work), 'pipeline.yaml')
    with open(p, 'w') as f:
        f.write(CONFIG % (raw, raw))
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([pipeline, 'run', '--to', 'dsp', '--jobs', jobs, p], capture_output=True, check=True)
    clock, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, clock


def wavs(raw):
    from scipy.io import wavfile
    before, clock = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for p in sorted(glob.glob(raw + '/*.wav')):
        fs, x = wavfile.read(p)
        for h in np.split(x.T, 2, axis=1):
            n = h.shape[1] // NSEG
            welch(h[:, :n * NSEG], fs, 'hann', n, 0, scaling='spectrum', axis=-1)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, time.perf_counter() - clock


def campaign(pipeline, raw, rounds, jobs):
    raw = os.path.abspath(raw)
    with tempfile.TemporaryDirectory() as work:
        rows = {'wavfile.read and scipy.signal.welch': lambda: wavs(raw),
                'run --to dsp': lambda: whole(pipeline, raw, jobs, work)}
        took = {k: [] for k in rows}
        for _ in range(rounds):
            for k, f in rows.items():
                took[k].append(f())
    print('| whole process, --jobs %s, %d alternating rounds | processor, s: median (least) | of it user, system | elapsed, s | to scipy |\n|---|---|---|---|---|' % (jobs, rounds))
    first = None
    for k, v in took.items():
        v = np.array(v)
        t, parts = v[:, :2].sum(1), np.median(v, axis=0); first = first or np.median(t)
        print('| %s | %.2f (%.2f) | %.2f, %.2f | %.2f (%.2f) | %.2f |' % (k, np.median(t), t.min(), *parts, v[:, 2].min(), first / np.median(t)))


def main():
    binary, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    if len(sys.argv) > 4:
        return campaign(sys.argv[3], sys.argv[4], rounds, sys.argv[5] if len(sys.argv) > 5 else '1')
    with tempfile.TemporaryDirectory() as folder:
        files = make(folder)
        size = sum(os.path.getsize(f) for f in files['npy']) / 1e6
        rows = {
            'scipy.signal.welch': lambda: peer(scipy_form, files['npy']),
            'hand-batched numpy': lambda: peer(hand_form, files['npy']),
            'analyse, NPY': lambda: program(binary, 'analyse', files['npy']),
            'analyse, WAV': lambda: program(binary, 'analyse', files['wav']),
            'statistics, WAV': lambda: program(binary, 'scan', files['wav']),
            'decoding to float64, WAV': lambda: program(binary, 'read', files['wav']),
        }
        took, fft = {k: [] for k in rows}, []
        for f in rows.values():
            f()
        for _ in range(rounds):
            for k, f in rows.items():
                took[k].append(f())
            fft.append(transforms(binary, 51200))
        print(f'| one core, {rounds} alternating rounds | ms of processor a file of {size / 2:.1f} MB, median (least) | MB/s, median (least time) | to scipy | to hand-batched |\n|---|---|---|---|---|')
        med, low = {k: np.median(v) for k, v in took.items()}, {k: min(v) for k, v in took.items()}
        a, b = 'scipy.signal.welch', 'hand-batched numpy'
        for k in rows:
            print('| %s | %.1f (%.1f) | %.0f (%.0f) | %.2f (%.2f) | %.2f (%.2f) |' % (k, med[k] / 2e-3, low[k] / 2e-3, size / med[k], size / low[k],
                  med[a] / med[k], low[a] / low[k], med[b] / med[k], low[b] / low[k]))
        own, other = np.median(np.array(fft), axis=0)
        print('\nreal transform of 51 200 float64: %.0f us, scipy.fft.rfft %.0f us, ratio %.2f' % (own, other, other / own))
        try:
            print('FFTW: float32 %.1f us, float64 %.1f us' % tuple(fftw(51200)))
        except ImportError:
            print('no pyfftw')


main()
