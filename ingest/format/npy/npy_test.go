package npy

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// npyFile and npyDict make files with any header.
func npyFile(header string, data []byte) []byte { return ingesttest.NPYHeader(header, data) }

func npyDict(descr string, fortran bool, shape ...int) string {
	return ingesttest.NPYDict(descr, fortran, shape...)
}

func open(b []byte, o ingest.Options) (ingest.Reader, error) {
	return Format.Open(ingesttest.Source(b), o)
}

func TestNPYRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		b    []byte
		want []string
	}{
		{"truncated magic", []byte("\x93NUMPY\x01"), []string{"byte 7", "cut short"}},
		{"version", []byte("\x93NUMPY\x07\x00\x00\x00\x00\x00"), []string{"byte 6", "version 1, 2 or 3", "7"}},
		{"truncated header", npyFile("{'descr': ", nil)[:14], []string{"a header of 10 bytes", "the end of the file"}},
		{"huge header", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'"), []string{"at most 1 MiB"}},
		{"no dictionary", npyFile("hello", nil), []string{"no dictionary"}},
		{"missing key", npyFile("{'descr': '<f4'}", nil), []string{`"fortran_order" is missing`}},
		{"shape no tuple", npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': 7}", nil), []string{"no tuple"}},
		{"negative shape", npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (-7,)}", nil), []string{"no number"}},
		{"pickle", npyFile(npyDict("|O", false, 1), make([]byte, 8)), []string{"a pickled array of Python objects"}},
		{"complex", npyFile(npyDict("<c16", false, 1), make([]byte, 16)), []string{"complex"}},
		{"quadruple", npyFile(npyDict("<f16", false, 1), make([]byte, 16)), []string{`dtype "<f16"`}},
		{"no axis", npyFile(npyDict("<f8", false), make([]byte, 8)), []string{"one or two axes"}},
		{"no samples", npyFile(npyDict("<f8", false, 0), nil), []string{"an empty array"}},
		{"overflow", npyFile(npyDict("<f8", false, math.MaxInt64, 3), make([]byte, 8)), []string{"there are 0"}},
		{
			"shorter", npyFile(npyDict("<f8", false, 10, 2), make([]byte, 100)),
			[]string{"claims 10 samples of 2 channels, there are 6", "truncated: use"},
		},
		{
			"shorter, planes", npyFile(npyDict("<f8", false, 2, 10), make([]byte, 100)),
			[]string{"2 channels of 10 samples, the file ends before their end"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := open(c.b, ingest.Options{})
			ingesttest.WantDataError(t, r, err, c.want...)
		})
	}

	// Written by numpy itself.
	for file, want := range map[string]string{
		"object.npy": "pickled", "structured.npy": "structured", "three_axes.npy": "one or two axes, found 3, shape [2 3 4]",
		"complex.npy": "complex",
	} {
		b, err := os.ReadFile("../testdata/truth/" + file)
		if err != nil {
			t.Fatal(err)
		}

		r, err := open(b, ingest.Options{})
		ingesttest.WantDataError(t, r, err, want)
	}
}

func TestNPYTruncatedAndRate(t *testing.T) {
	b := npyFile(npyDict("<f8", false, 10, 2), make([]byte, 100))
	r, err := open(b, ingest.Options{Truncated: "use", RateHz: 48000})
	if err != nil {
		t.Fatal(err)
	}

	i := r.Info()
	if c := i.Channels[1]; c.Samples != 6 || c.RateHz != 48000 || c.Unit != "" || len(i.Warnings) != 1 ||
		i.Warnings[0].Code != "truncated" {
		t.Errorf("%+v", i)
	}
}

// TestNPYRoundTrip: x[t, c] = 1000 c + t, laid down by the definition of the
// memory orders, comes back as it is, the longer axis being time.
func TestNPYRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.IntRange(1, 5).Draw(rt, "channels")
		n := rapid.IntRange(6, 40).Draw(rt, "samples")
		fortran, turned := rapid.Bool().Draw(rt, "fortran"), rapid.Bool().Draw(rt, "turned")

		rows, cols := n, c
		if turned {
			rows, cols = c, n
		}

		data := make([]byte, 8*n*c)
		for i := range rows {
			for j := range cols {
				v := float64(1000*j + i)
				if turned {
					v = float64(1000*i + j)
				}

				at := i*cols + j
				if fortran {
					at = j*rows + i
				}

				binary.LittleEndian.PutUint64(data[8*at:], math.Float64bits(v))
			}
		}

		r, err := open(npyFile(npyDict("<f8", fortran, rows, cols), data), ingest.Options{})
		if err != nil {
			rt.Fatal(err)
		}

		x := ingesttest.ReadAll(t, r)
		if len(x) != c {
			rt.Fatalf("%d channels, want %d", len(x), c)
		}

		for j := range x {
			for i, v := range x[j] {
				if v != float64(1000*j+i) {
					rt.Fatalf("x[%d][%d] = %v", j, i, v)
				}
			}
		}
	})
}

func FuzzNPY(f *testing.F) {
	f.Add(npyFile(npyDict("<f8", false, 2, 3), make([]byte, 48)))
	f.Add(npyFile(npyDict(">i2", true, 5, 3), make([]byte, 30)))
	f.Add(npyFile(npyDict("<f8", false, math.MaxInt64, 3), make([]byte, 8)))

	for _, n := range []string{
		"version2.npy", "version3.npy", "object.npy", "structured.npy", "u1.npy",
		"f8_ct_fortran.npy",
	} {
		b, err := os.ReadFile("../testdata/truth/" + n)
		if err != nil {
			f.Fatal(err)
		}

		f.Add(b)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		ingesttest.Drain(t, Format, b, ingest.Options{}, 1)
		ingesttest.Drain(t, Format, b, ingest.Options{Truncated: "use"}, 1)
	})
}
