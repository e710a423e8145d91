package uff

import (
	"bytes"
	"fmt"
	"log"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/several.uff", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Println(c.Name, c.Unit, c.RateHz, c.Samples, c.Attributes[2])
	}
	// Output:
	// mic 1 m/s^2 51200 23 {response 1-Z}
	// mic 2 m/s^2 51200 23 {response 2-Z}
	// mic 3 m/s^2 51200 23 {response 3-Z}
}

// A file by pyuff has the same rate if its even abscissa is written in ms. The numbers of an uneven abscissa give a
// thousand times the rate if they are ms. An increment of 1000 s gives a warning.
func TestMilliseconds(t *testing.T) {
	even, uneven := ingesttest.Testdata(t, "text_even_real.uff"), ingesttest.Testdata(t, "text_uneven_real.uff")
	replace := func(b []byte, pairs ...string) []byte {
		for i := 0; i < len(pairs); i += 2 {
			require.True(t, bytes.Contains(b, []byte(pairs[i])), "no %v", pairs[i])

			b = bytes.Replace(b, []byte(pairs[i]), []byte(pairs[i+1]), 1)
		}

		return b
	}

	const second, milli = "Time                 s ", "Time                 ms"

	rate := func(b []byte) (float64, int) {
		r := ingesttest.Open(t, Format, b, ingest.Options{})

		channels := r.Info().Channels

		return channels[len(channels)-1].RateHz, len(r.Info().Warnings)
	}

	hz, warnings := rate(replace(even, "1.95313e-05", "1.95313e-02", second, milli))
	assert.Equal(t, 51200.0, hz, "even spacing in ms")
	assert.Zero(t, warnings, "even spacing in ms")

	inSeconds, _ := rate(uneven)
	inMillis, warnings := rate(replace(uneven, second, milli))
	assert.InEpsilon(t, 1000*inSeconds, inMillis, 1e-12, "uneven spacing in ms")
	assert.Zero(t, warnings, "uneven spacing in ms")

	hz, warnings = rate(replace(even, "1.95313e-05", "1.00000e+03"))
	assert.Equal(t, 0.001, hz, "an implausible spacing")
	assert.Equal(t, 1, warnings, "an implausible spacing")
}

// A file with only nodes (dataset 15) is UFF, and the error says what is missing. A table that begins with a line of
// -1 is text.
func TestDetect(t *testing.T) {
	nodes := "    -1\n    15\n         1         0         0        11  1.00000E+00  0.00000E+00  2.50000E-01\n    -1\n"
	assert.True(t, detect([]byte(nodes), ingest.Source{}), "nodes are not detected")

	r, err := Format.Open(ingesttest.Source([]byte(nodes)), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "expected a dataset 58 with a function, found datasets 15")

	assert.False(t, detect([]byte("    -1\n    15\n    16\n    17\n"), ingest.Source{}), "a column of numbers is detected")
}

// The files by pyuff with complex numbers and with function 4 are not time series.
func TestTimeSeries(t *testing.T) {
	for name, series := range map[string]bool{
		"text_even_real.uff": true, "binary_uneven_real.uff": true, "text_even_complex.uff": false,
		"binary_uneven_complex.uff": false,
	} {
		r := ingesttest.Open(t, Format, ingesttest.Testdata(t, name), ingest.Options{})

		c := r.Info().Channels
		err := ingest.RequireTimeSeries(r, []int{len(c) - 1})
		assert.Equal(t, series, err == nil, "%s is a time series; error %v", name, err)
	}

	r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "text_even_real.uff"), ingest.Options{})
	assert.Equal(t, 51200.0, r.Info().Channels[0].RateHz)
	assert.Equal(t, "m/s^2", r.Info().Channels[0].Unit)

	r = ingesttest.Open(t, Format, ingesttest.Testdata(t, "text_uneven_real.uff"), ingest.Options{})
	assert.True(t, r.Info().Channels[0].IsTime())
	assert.Equal(t, "s", r.Info().Channels[0].Unit)

	r = ingesttest.Open(t, Format, ingesttest.Testdata(t, "mixed.uff"), ingest.Options{})

	var names []string
	for _, c := range r.Info().Channels {
		names = append(names, c.Name+" "+c.Unit)
	}

	assert.Equal(t, []string{"1-Z m/s^2", "2-Z m/s^2", "3-Z 7+X.real m/s^2/(N)", "3-Z 7+X.imag m/s^2/(N)"}, names)

	ingesttest.WantDataError(t, nil, ingest.RequireTimeSeries(r, []int{0, 2}),
		"channel 3-Z 7+X.real: expected a time series, found a function over another axis (frequency response function)")
}

// A long recording is read from any place. The test writes the file.
func TestLong(t *testing.T) {
	head := ingesttest.Testdata(t, "several.uff")
	lines := bytes.SplitAfter(head, []byte("\n"))
	lines[8] = []byte("         2     10001         1  0.00000E+00  2.50000E-05  0.00000E+00\n")
	b := bytes.Join(lines[:13], nil)
	for k := range 10001 {
		b = fmt.Appendf(b, "%13.5e", float64(k)/8)
		if k%6 == 5 {
			b = append(b, '\n')
		}
	}

	b = append(b, "\n    -1\n"...)
	r := ingesttest.Open(t, Format, b, ingest.Options{})

	assert.Equal(t, 40000.0, r.Info().Channels[0].RateHz)
	assert.EqualValues(t, 10001, r.Info().Channels[0].Samples)

	for _, at := range []int64{9990, 0, 1535, 1536, 1537, 5000, 9996} {
		x := make([]float64, 5)
		n, err := r.Read([]int{0}, at, [][]float64{x})
		require.NoError(t, err, "from %d on", at)
		require.Equal(t, 5, n, "samples read from %d on", at)

		for i, v := range x {
			var want float64
			fmt.Sscan(fmt.Sprintf("%.5e", float64(at+int64(i))/8), &want)

			require.Equal(t, want, v, "sample %d", at+int64(i))
		}
	}
}

func TestRefused(t *testing.T) {
	text, binary := ingesttest.Testdata(t, "text_even_real.uff"), ingesttest.Testdata(t, "binary_even_real.uff")
	swap := func(b []byte, old, with string) []byte {
		require.True(t, bytes.Contains(b, []byte(old)), "%v", old)
		return bytes.Replace(b, []byte(old), []byte(with), 1)
	}

	ingesttest.Refused(t, Format, []struct {
		File []byte
		Want string
	}{
		{text[:300], "expected 11 lines of a dataset's header, found the end of the file"},
		{text[:1100], "the header of dataset 58 at byte 7 claims 23 points, there are "},
		{binary[:1000], "the header of dataset 58 at byte 7 claims 23 points, there are "},
		{swap(text, "         4        23", "         3        23"), `expected an ordinate of type 2, 4, 5 or 6, found "3"`},
		{swap(text, "         4        23", "         4         0"), "expected at least one point"},
		{swap(text, "1.95313e-05", "0.00000e+00"), "expected an increment above zero"},
		{swap(text, "        23         1", "        23         2"), "expected a spacing of 0 (uneven) or 1 (even)"},
		{swap(binary, "58b     1     2", "58b     1     3"), "expected floats of IEEE 754 (2), found 3 IBM 5/370"},
		{swap(binary, "58b     1     2", "58b     7     2"), "expected a byte order of 1 or 2"},
		{append(bytes.Clone(binary[:len(binary)-7]), strings.Repeat("x", 200)...), `expected a delimiter ("    -1")`},
		{
			[]byte("    -1\n    15\n         1         0\n    -1\n"),
			"expected a dataset 58 with a function, found datasets 15",
		},
	})

	wrong := bytes.Clone(text)
	wrong[len(wrong)-10] = 'x' // in the last number
	r := ingesttest.Open(t, Format, wrong, ingest.Options{})

	n, err := r.Read([]int{0}, 0, [][]float64{make([]float64, 23)})
	ingesttest.WantDataError(t, n, err, "expected a number in 20 columns")

	for _, b := range [][]byte{text[:1100], binary[:1000]} {
		r = ingesttest.Open(t, Format, b, ingest.Options{Truncated: "use"})

		n := r.Info().Channels[0].Samples
		assert.GreaterOrEqual(t, n, int64(5), "samples before the cut")
		assert.LessOrEqual(t, n, int64(20), "samples before the cut")
		assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings))

		ingesttest.ReadAll(t, r)
	}

	// A table of numbers may begin with −1.
	for _, s := range []string{"-1\n58\n3\n", "    -1\n    58\n     3\n  1e-5\n", "    -1\nab\n"} {
		assert.False(t, detect([]byte(s), ingest.Source{}), "%q was taken for a universal file", s)
	}
}

// With truncated: use, a text that is cut short anywhere has the numbers that are whole: a part of a number is another
// number. Expected: the numbers are counted in the bytes of the file, which has four of 20 columns in a line.
func TestTruncatedText(t *testing.T) {
	b := ingesttest.Testdata(t, "text_even_real.uff")
	whole := ingesttest.ReadAll(t, ingesttest.Open(t, Format, b, ingest.Options{}))[0]
	require.Len(t, whole, 23)

	last := bytes.LastIndex(b, []byte("\n    -1"))
	for end := last - 150; end < last; end++ {
		r := ingesttest.Open(t, Format, b[:end], ingest.Options{Truncated: "use"})
		assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings), "%d bytes: warnings", end)

		missing := (len(bytes.ReplaceAll(b[end:last], []byte("\n"), nil)) + 19) / 20
		require.Equal(t, whole[:23-missing], ingesttest.ReadAll(t, r)[0], "%d bytes: samples", end)
	}

	for end := last; end < len(b); end++ { // only the delimiter is missing
		r := ingesttest.Open(t, Format, b[:end], ingest.Options{})
		assert.Empty(t, r.Info().Warnings, "%d bytes: warnings", end)
		require.Equal(t, whole, ingesttest.ReadAll(t, r)[0], "%d bytes: samples", end)
	}
}

// A binary record may end with the file, without a delimiter behind it.
func TestNoLastDelimiter(t *testing.T) {
	b := testfile.Read(t, "testdata/binary_even_real.uff")

	at := bytes.LastIndex(b, []byte("    -1"))
	require.Positive(t, at, "offset of the last delimiter")

	_, err := Format.Open(ingesttest.Source(b[:at]), ingest.Options{})
	require.NoError(t, err)
}

// No two records have the same name, although a label may be the number of another record.
func TestNamesDiffer(t *testing.T) {
	force := &record{label: "force"}
	assert.Equal(t, []string{"#1", "1", "3"}, names([]*record{force, {label: "1"}, force}))
	assert.Equal(t, []string{"1", "velocity", "3"}, names([]*record{force, {label: "velocity"}, force}))
}
