#!/usr/bin/env bash
# Times whole processes from raw files to tables on one core: `run --to dsp` of the simulated campaign
# (60 WAV files of int16, 13 channels), and whole.py, what a user would write with scipy. They alternate N
# times; printed are least and median processor time in seconds. usage: whole.sh [N]; wants python3 with scipy.
set -euo pipefail
n=${1:-7}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$here/../../../.." && go build -o "$dir/pipeline" ./cmd/pipeline)
cd "$dir"
./pipeline simulate rotor raw --seed 1 >/dev/null 2>&1
cat > pipeline.yaml <<'Y'
version: 1
experiments:
  simulated:
    ingest: {files: raw/*.wav, conditions: raw/conditions.csv, data: simulated, calibration: {unit: full-scale}}
    dsp: {triplets: split-half-spectrum, segments: 8, harmonics: 5, tolerance: 0.03, amplitude: band, output: dB}
Y
export TIMEFORMAT='%U %S' OPENBLAS_NUM_THREADS=1
took() { # name command
  local name=$1
  shift
  { time taskset -c 0 "$@" >/dev/null 2>&1; } 2>&1 | awk -v n="$name" '{print n, $1 + $2}'
}
for i in $(seq "$n"); do
  [ ! -e runs ] || mv runs "runs.$i" # removed, its inodes would be in the way of the next for a minute
  took pipeline ./pipeline run pipeline.yaml --to dsp --jobs 1
  took scipy /usr/bin/python3 "$here/whole.py"
done | sort -k1,1 -k2,2n | awk '{v[$1, ++c[$1]] = $2}
  END {for (k in c) printf "%-8s least %.3f median %.3f\n", k, v[k, 1], v[k, int((c[k] + 1) / 2)]}'
