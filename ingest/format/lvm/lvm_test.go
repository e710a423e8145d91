package lvm

import (
	"bytes"
	"fmt"
	"log"
	"math"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/no_x.lvm", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Println(c.Name, c.Unit, c.RateHz, c.Samples)
	}
	// Output:
	// Force N 51200 21
	// Response (Trigger) m/s^2 51200 21
}

// Increments that are written in ms give the same rate as in s. The numbers of an X column, if they are taken for ms,
// give a rate a thousand times as high.
func TestMilliseconds(t *testing.T) {
	for name, change := range map[string][2]string{
		"no_x.lvm":  {"Delta_X\t1.953125E-5\t1.953125E-5", "X_Unit_Label\tms\tms\t\r\nDelta_X\t1.953125E-2\t1.953125E-2"},
		"one_x.lvm": {"Delta_X\t", "X_Unit_Label\tms\tms\t\r\nDelta_X\t"},
	} {
		b := ingesttest.Testdata(t, name)
		require.True(t, bytes.Contains(b, []byte(change[0])), "%s has no %q", name, change[0])

		rate := func(b []byte) float64 {
			r := ingesttest.Open(t, Format, b, ingest.Options{})

			return r.Info().Channels[1].RateHz
		}

		want := rate(b)
		if name == "one_x.lvm" { // the same numbers are milliseconds
			want *= 1000
		}

		assert.InDelta(t, want, rate(bytes.Replace(b, []byte(change[0]), []byte(change[1]), 1)), 1e-9*want, "%s: Hz", name)
	}
}

// The files have the values that testdata/make.py gave them.
func TestDescribed(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       ingest.Options
		channel int
		want    string
		codes   string
	}{
		{"multi_x.lvm", ingest.Options{}, 2, "Acc/time s 2000 true", ""},
		{"multi_x.lvm", ingest.Options{}, 5, "Mic Pa 2000 false", ""},
		{"one_x.lvm", ingest.Options{}, 0, "time s 4000 true", ""},
		{"no_decimal.lvm", ingest.Options{}, 1, "ay Volts 1024 false", ""}, // 0.000977
		{"no_decimal.lvm", ingest.Options{RateHz: 1023.5}, 1, "ay Volts 1023.5 false", ""},
		{"segments.lvm", ingest.Options{}, 1, "b Volts 51200 false", "segments"},
		{"separated_by_commas.lvm", ingest.Options{}, 1, "b Volts 1000 false", ""},
		{"empty.lvm", ingest.Options{}, 2, "c Volts 1000 false", ""},
	} {
		r, err := Format.Open(ingesttest.Source(ingesttest.Testdata(t, c.name)), c.o)
		require.NoError(t, err, "%s", c.name)

		ch := r.Info().Channels[c.channel]
		got := fmt.Sprintf("%s %s %g %t", ch.Name, ch.Unit, math.Round(ch.RateHz*1e6)/1e6, ch.IsTime())
		assert.Equal(t, c.want, got, "%s: name, unit, rate, and whether it is the time", c.name)
		assert.Equal(t, c.codes, ingesttest.Codes(r.Info().Warnings), "%s: warnings", c.name)
	}
}

func TestRefused(t *testing.T) {
	b, several := ingesttest.Testdata(t, "no_x.lvm"), ingesttest.Testdata(t, "segments.lvm")
	swap := func(b []byte, old, with string) []byte {
		require.True(t, bytes.Contains(b, []byte(old)), "%v", old)
		return bytes.ReplaceAll(b, []byte(old), []byte(with))
	}

	ingesttest.Refused(t, Format, []struct {
		File []byte
		Want string
	}{
		{b[:100], "expected ***End_of_Header***, found the end of the file"},
		{b[:400], "expected a line that begins with X_Value, found the end of the file"},
		{b[:len(b)-100], "the header claims 21 samples, there are 17"},
		{b[:bytes.Index(b, []byte("X_Value"))+40], "the header claims 21 samples, there are 0"},
		{swap(b, "X_Columns\tNo", "X_Columns\tTwo"), "expected X_Columns No, One or Multi, found Two"},
		{
			bytes.Replace(several, []byte("X_Value\ta\tb"), []byte("X_Value\ta\tc"), 1),
			"expected segments of the same channels",
		},
		{swap(several, "X_Value\ta", "X_Value\t\x97g\x97\xcd"), "found another encoding"},
		{[]byte("LabVIEW Measurement\t\n***End_of_Header***\t\n"), "expected a segment of numbers"},
	})

	r := ingesttest.Open(t, Format, swap(b, "1.953125E-5", "0.000163"), ingest.Options{})

	assert.Equal(t, 6135.0, r.Info().Channels[0].RateHz, "1/0.000163 is 6134.97")
	assert.Equal(t, "rate-digits", ingesttest.Codes(r.Info().Warnings))

	r = ingesttest.Open(t, Format, b[:len(b)-100], ingest.Options{Truncated: "use"})

	assert.EqualValues(t, 17, r.Info().Channels[0].Samples)
	assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings))

	wrong := bytes.Clone(b)
	wrong[len(wrong)-4] = 'x'
	r = ingesttest.Open(t, Format, wrong, ingest.Options{})

	n, err := r.Read([]int{1}, 0, [][]float64{make([]float64, 21)})
	ingesttest.WantDataError(t, n, err, "column 3: expected a number")
}
