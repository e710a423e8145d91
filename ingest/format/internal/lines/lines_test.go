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
	r := lines.New(ingesttest.Source([]byte("ab\r\n\ncdef")), 16, true)
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
	r := lines.New(ingesttest.Source(all), most, true)
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
