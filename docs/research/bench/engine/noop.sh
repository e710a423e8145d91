#!/usr/bin/env bash
# Times a run that has nothing to do, 780 recordings and two tasks each, against
# Snakemake 7 and ninja (Debian: snakemake, ninja-build) on a like workflow of
# 780 × 2 jobs and one that joins them. All three on this machine, alternating,
# medians of N runs. usage: noop.sh [N]; wants python3 with scipy, and GNU time.
# ANGLES=1 makes 60 recordings, to see that it runs. What is not installed is left out.
set -euo pipefail
n=${1:-7}
root=$(cd "$(dirname "$0")/../../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$root" && go build -o "$dir/pipeline" ./cmd/pipeline)
cd "$dir"
mkdir data
/usr/bin/python3 - <<'P'
import os
import numpy as np, scipy.io.wavfile as w
rng = np.random.default_rng(0)
with open('conditions.csv', 'w') as f, open('build.ninja', 'w') as b:
    f.write('file,blades,rpm,theta_deg\n')
    b.write('rule copy\n  command = cp $in $out\nrule join\n  command = cat $in > $out\n')
    ends = []
    for n in (2, 3, 4, 5):
        for rpm in range(2000, 9001, 500):
            for th in range(-60, 61, 10)[:int(os.environ.get('ANGLES', '13'))]:
                t = np.arange(10240) / 10240
                x = sum(np.sin(2 * np.pi * m * n * rpm / 60 * t) * .02 / m for m in range(1, 6)) + 1e-3 * rng.standard_normal(10240)
                name = f'simulated_n{n}_rpm{rpm}_t{th}'
                w.write(f'data/{name}.wav', 10240, (x * 32767).astype(np.int16))
                f.write(f'data/{name}.wav,{n},{rpm},{th}\n')
                b.write(f'build ninja/{name}.a: copy data/{name}.wav\nbuild ninja/{name}.b: copy ninja/{name}.a\n')
                ends.append(f'ninja/{name}.b')
    b.write('build ninja/all: join ' + ' '.join(ends) + '\n')
P
cat > pipeline.yaml <<'Y'
version: 1
experiments:
  simulated:
    ingest: {files: data/*.wav, conditions: conditions.csv, data: simulated, calibration: {unit: full-scale}}
    dsp: {triplets: split-half-spectrum}
Y
cat > Snakefile <<'S'
import glob, os
N = [os.path.basename(p)[:-4] for p in sorted(glob.glob('data/*.wav'))]
rule all:
    input: 'snake/all'
rule ingest:
    input: 'data/{n}.wav'
    output: 'snake/{n}.a'
    shell: 'cp {input} {output}'
rule dsp:
    input: 'snake/{n}.a'
    output: 'snake/{n}.b'
    shell: 'cp {input} {output}'
rule join:
    input: expand('snake/{n}.b', n=N)
    output: 'snake/all'
    shell: 'cat {input} > {output}'
S
programs=pipeline
./pipeline run --progress none >/dev/null

if command -v snakemake >/dev/null; then
  programs+=" snakemake"
  # Snakemake spends minutes on starting 1560 shells; make its outputs ourselves and tell it so.
  mkdir -p snake
  for f in data/*.wav; do b=$(basename "$f" .wav); cp "$f" "snake/$b.a"; cp "$f" "snake/$b.b"; done
  cat snake/*.b > snake/all
  snakemake -c1 --touch --quiet all >/dev/null 2>&1
  snakemake -c1 >/dev/null 2>&1
fi
if command -v ninja >/dev/null; then
  programs+=" ninja"
  ninja >/dev/null
fi

for _ in $(seq "$n"); do
  for p in $programs; do
    case $p in
      pipeline) command=(./pipeline run --progress none) ;;
      snakemake) command=(snakemake -c1) ;;
      ninja) command=(ninja) ;;
    esac
    /usr/bin/time -a -o "t.$p" -f '%e %U %M' "${command[@]}" >/dev/null 2>&1
  done
done

printf '%-14s %9s %9s %9s   (medians of %s alternating runs)\n' program 'wall s' 'user s' 'peak MB' "$n"
for p in $programs; do
  for c in 1 2 3; do cut -d' ' -f$c "t.$p" | sort -n | sed -n "$(((n + 1) / 2))p"; done | paste -sd' ' |
    awk -v p="$p" '{printf "%-14s %9.3f %9.3f %9.1f\n", p, $1, $2, $3/1024}'
done
