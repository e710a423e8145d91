package npy

import (
	"encoding/binary"
	"math"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
)

// npyFile returns a file with the given header.
func npyFile(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(header)))
	return append(append(b, header...), data...)
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
		{"no dictionary", npyFile("hello", nil), []string{`"descr" is missing`}},
		{"missing key", npyFile("{'descr': '<f4'}", nil), []string{`"fortran_order" is missing`}},
		{
			"shape no tuple", npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': 7}", nil),
			[]string{`"shape" is missing or no tuple`},
		},
		{
			"negative shape", npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (-7,)}", nil),
			[]string{"no tuple of numbers"},
		},
		{"pickle", ingesttest.NPY("|O", false, make([]byte, 8), 1), []string{"a pickled array of Python objects"}},
		{"complex", ingesttest.NPY("<c16", false, make([]byte, 16), 1), []string{"complex"}},
		{"quadruple", ingesttest.NPY("<f16", false, make([]byte, 16), 1), []string{`dtype "<f16"`}},
		{"no axis", ingesttest.NPY("<f8", false, make([]byte, 8)), []string{"one or two axes"}},
		{
			"no samples", ingesttest.NPY("<f8", false, nil, 0),
			[]string{"an empty array, shape [0] (the file holds no samples"},
		},
		{
			"no shape", ingesttest.NPY("<f8", false, make([]byte, 80), 0),
			[]string{"an empty array, shape [0], and 80 bytes behind it (the writer was stopped"},
		},
		{"overflow", ingesttest.NPY("<f8", false, make([]byte, 8), math.MaxInt64, 3), []string{"there are 0"}},
		{
			"shorter", ingesttest.NPY("<f8", false, make([]byte, 100), 10, 2),
			[]string{"claims 10 samples of 2 channels, there are 6", "truncated: use"},
		},
		{
			"shorter, planes", ingesttest.NPY("<f8", false, make([]byte, 100), 2, 10),
			[]string{"2 channels of 10 samples, the file ends before their end"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Format.Open(ingesttest.Source(c.b), ingest.Options{})
			ingesttest.WantDataError(t, r, err, c.want...)
		})
	}

	// Written by numpy itself.
	for file, want := range map[string]string{
		"object.npy": "pickled", "structured.npy": "structured", "three_axes.npy": "one or two axes, found 3, shape [2 3 4]",
		"complex.npy": "complex",
	} {
		b := testfile.Read(t, "../testdata/truth/"+file)

		r, err := Format.Open(ingesttest.Source(b), ingest.Options{})
		ingesttest.WantDataError(t, r, err, want)
	}
}

func TestNPYTruncatedAndRate(t *testing.T) {
	b := ingesttest.NPY("<f8", false, make([]byte, 100), 10, 2)
	r := ingesttest.Open(t, Format, b, ingest.Options{Truncated: "use", RateHz: 48000})

	c := r.Info().Channels[1]
	assert.EqualValues(t, 6, c.Samples, "100 bytes are 6 frames of 16 bytes")
	assert.Equal(t, 48000.0, c.RateHz)
	assert.Empty(t, c.Unit)
	assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings))
}
