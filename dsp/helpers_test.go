package dsp

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// turns is how many repetitions a simulation has: fewer, unless DOUBLETAKE_LONG is set.
func turns(all, fewer int) int {
	if os.Getenv("DOUBLETAKE_LONG") != "" {
		return all
	}
	return fewer
}

// slices of samples as a Source.
type memory [][]float64

func (m memory) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := 0
	for i, c := range channels {
		n = 0
		if start < int64(len(m[c])) {
			n = copy(dst[i], m[c][start:])
		}
	}

	if n < len(dst[0]) {
		return n, io.EOF
	}

	return n, nil
}

func analyse(t testing.TB, src memory, s RotorSettings) *RotorRun {
	t.Helper()

	if s.Samples == 0 {
		s.Samples = int64(len(src[0]))
	}

	if s.Channels == nil {
		for c := range src {
			s.Channels = append(s.Channels, c)
		}
	}

	run, err := NewAnalyser().Run(context.Background(), src, s)
	if err != nil {
		t.Fatal(err)
	}

	return run
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()

	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}

	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// measured returns the path of a file of measured data, or skips by name.
func measured(t testing.TB, parts ...string) string {
	t.Helper()

	root := os.Getenv("DOUBLETAKE_REAL")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "real")
	}

	path := filepath.Join(append([]string{root}, parts...)...)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("measured data %s is not here", path)
	}

	return path
}

// floatWAV decodes a mono IEEE float32 WAV file: enough for the test data,
// the real reader is ingest's.
func floatWAV(t testing.TB, path string) (x []float64, rate float64) {
	t.Helper()

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for at := 12; at+8 <= len(b); {
		size := int(binary.LittleEndian.Uint32(b[at+4:]))
		body := b[at+8 : min(len(b), at+8+size)]
		switch string(b[at : at+4]) {
		case "fmt ":
			if format, channels, bits := binary.LittleEndian.Uint16(body), binary.LittleEndian.Uint16(body[2:]),
				binary.LittleEndian.Uint16(body[14:]); format != 3 || channels != 1 || bits != 32 {
				t.Fatalf("%s: format %d, %d channels, %d bits", path, format, channels, bits)
			}

			rate = float64(binary.LittleEndian.Uint32(body[4:]))

		case "data":
			for i := 0; i+4 <= len(body); i += 4 {
				x = append(x, float64(math.Float32frombits(binary.LittleEndian.Uint32(body[i:]))))
			}
		}

		at += 8 + (size+1)/2*2
	}

	return x, rate
}
