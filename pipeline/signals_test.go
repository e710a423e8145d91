package pipeline_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
)

// toneRateHz is the sampling rate of tone.
const toneRateHz = 6400

// tone returns n samples of a sine of amplitude 1 at hz, with a little irregular noise.
func tone(hz float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		noise := 1e-3 * math.Sin(float64(i*i))
		x[i] = math.Sin(2*math.Pi*hz*float64(i)/toneRateHz) + noise
	}

	return x
}

// writeNPY writes columns as an (N, C) array of float64.
func writeNPY(t *testing.T, path string, columns ...[]float64) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, ingesttest.Columns(true, columns...), 0o644))
}

// writeNPZ writes arrays under their names. An array is given by its rows of equal length. If it has one row, it is
// written with one dimension.
func writeNPZ(t *testing.T, path string, names []string, arrays ...[][]float64) {
	t.Helper()

	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for i, name := range names {
		rows := arrays[i]
		shape := []int{len(rows), len(rows[0])}
		if len(rows) == 1 {
			shape = shape[1:]
		}

		var data []byte
		for _, v := range slices.Concat(rows...) {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}

		w, err := archive.Create(name + ".npy")
		require.NoError(t, err)

		_, err = w.Write(ingesttest.NPY("<f8", false, data, shape...))
		require.NoError(t, err)
	}

	require.NoError(t, archive.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// writeWAV writes one channel as 16-bit integers. ±1 is full scale.
func writeWAV(t *testing.T, path string, rate uint32, x []float64) {
	t.Helper()

	samples := make([]int16, len(x))
	for i, v := range x {
		samples[i] = int16(math.Round(v * math.MaxInt16))
	}

	file := ingesttest.PCM16(1, samples...)
	file.Rate = rate
	file.RIFF = uint32(36 + len(file.Data)) // what follows the size itself
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o644))
}
