package lines_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ExampleReader() {
	r := lines.New(ingesttest.Source([]byte("ab\r\n\ncdef")), 16, lines.CutLong)
	for {
		b, at, err := r.Next()
		if err != nil {
			fmt.Println(err)
			break
		}

		fmt.Printf("%d %q\n", at, b)
	}

	r.GoTo(5)
	b, _, _ := r.Next()
	fmt.Printf("%s\n", b)
	// Output:
	// 0 "ab"
	// 4 ""
	// 5 "cdef"
	// EOF
	// cdef
}

// Lines of any length, from any place on, are those that bytes.SplitAfter finds.
func TestReader(t *testing.T) {
	const most = 5000
	rng := rand.New(rand.NewPCG(1, 2))

	var all []byte
	for range 300 {
		all = append(all, bytes.Repeat([]byte{'a' + byte(rng.IntN(26))}, rng.IntN(1<<rng.IntN(17)))...)
		all = append(all, []string{"\n", "\r\n", "\n\n"}[rng.IntN(3)]...)
	}

	all = append(all, "the last one"...)
	r := lines.New(ingesttest.Source(all), most, lines.CutLong)
	type line struct {
		text string
		at   int64
	}

	var want []line
	for at := 0; at < len(all); {
		next := bytes.SplitAfterN(all[at:], []byte("\n"), 2)[0]
		text := bytes.TrimRight(next, "\r\n")
		want = append(want, line{string(text[:min(len(text), most)]), int64(at)})
		at += len(next)
	}

	check := func(w line) {
		t.Helper()
		b, at, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, w.at, at, "offset of the line")
		require.Equal(t, w.text, string(b), "line at %d", w.at)
	}

	for _, w := range want {
		check(w)
	}

	for range 2 {
		_, _, err := r.Next()
		require.ErrorIs(t, err, io.EOF, "behind the last line")
	}

	for range 200 {
		i := rng.IntN(len(want) - 1)
		r.GoTo(want[i].at)
		check(want[i])
		check(want[i+1])
	}
}

// A line of most bytes is read whole. A longer line is cut, or refused with the offset at which it begins, wherever it
// ends: the buffer has 256 KiB.
func TestLongLines(t *testing.T) {
	const buffer = 1 << 18
	for _, c := range []struct {
		name   string
		most   int
		before string // whole lines
		end    string // behind the line
	}{
		{"end in the buffer", 3, "", "\nnext\n"},
		{"carriage return", 3, "ab\n", "\r\nnext\n"},
		{"end of the file", 3, "ab\n", ""},
		{"end of the file with a line feed", 3, "", "\n"},
		{"end behind the buffer", 3, strings.Repeat("ab\n", buffer/3-1) + "\n", "\nnext\n"},
		{"longer than the buffer", buffer + 5, "ab\n", "\nnext\n"},
		{"longer than two buffers", 2*buffer + 5, "", "\nnext\n"},
		{"begins in the buffer and is longer", buffer, "ab\n", "\nnext\n"},
	} {
		most := c.most + strings.Count(c.end, "\r")
		fits := strings.Repeat("x", c.most)

		next := func(line string, cut bool) (string, error) {
			r := lines.New(ingesttest.Source([]byte(c.before+line+c.end)), most, cut)
			for range strings.Count(c.before, "\n") {
				_, _, err := r.Next()
				require.NoError(t, err, c.name)
			}

			b, begin, err := r.Next()
			assert.Equal(t, int64(len(c.before)), begin, "%s: offset of the line", c.name)

			return string(b), err
		}

		for _, cut := range []bool{lines.RefuseLong, lines.CutLong} {
			got, err := next(fits, cut)
			require.NoError(t, err, c.name)
			assert.True(t, got == fits, "%s: a line that fits is changed", c.name)
		}

		got, err := next(fits+"yz", lines.CutLong)
		require.NoError(t, err, c.name)
		assert.True(t, got == (fits + "yz")[:most], "%s: the first bytes of a line that is too long", c.name)

		_, err = next(fits+"yz", lines.RefuseLong)
		ingesttest.WantDataError(t, nil, err,
			fmt.Sprintf("byte %d: expected lines of at most %d bytes, found a longer one", len(c.before), most))
	}
}

// The rate of an increment with few digits is the rate whose inverse was written.
func TestRate(t *testing.T) {
	for _, hz := range []float64{44100, 48000, 51200, 65536, 102400, 8192, 12800, 25600, 16384, 1000, 0.5} {
		s := fmt.Sprintf("%.5E", 1/hz)
		inc, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)

		got, low, high := lines.Rate(inc, s, 1)
		assert.Equal(t, hz, got, "rate of %s", s)
		assert.LessOrEqual(t, low, hz, "lowest rate of %s", s)
		assert.GreaterOrEqual(t, high, hz, "highest rate of %s", s)
	}

	for s, inc := range map[string]float64{
		"3.333E-01": 1. / 3, "0.000977": 1. / 1024, "1D-3": 1e-3,
		"0,000250": 1. / 4000,
	} {
		v, err := strconv.ParseFloat(strings.NewReplacer("D", "e", ",", ".").Replace(s), 64)
		require.NoError(t, err)

		got, _, _ := lines.Rate(v, s, 1)
		assert.Equal(t, math.Round(1/inc), got, "rate of %s", s)
	}
}
