package lines_test

import (
	"fmt"
	"testing"

	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/ingesttest"
)

func ExampleReader() {
	r := lines.New(ingesttest.Source([]byte("ab\r\n\ncdef")), 16)
	for {
		b, at, err := r.Next()
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%d %q\n", at, b)
	}
	r.Go(5)
	b, _, _ := r.Next()
	fmt.Printf("%s\n", b)
	// Output:
	// 0 "ab"
	// 4 ""
	// 5 "cdef"
	// EOF
	// cdef
}

// Rates of increments with few digits: expected values are the rates whose
// inverse was written.
func TestRate(t *testing.T) {
	for _, hz := range []float64{44100, 48000, 51200, 65536, 102400, 8192, 12800, 25600, 16384, 1000, 0.5} {
		s := fmt.Sprintf("%.5E", 1/hz)
		inc, _ := lines.Number([]byte(s), '.')
		if got, low, high := lines.Rate(inc, s); got != hz || low > hz || high < hz {
			t.Errorf("%s: %g Hz (%g … %g), want %g", s, got, low, high, hz)
		}
	}
	for s, want := range map[string]float64{"3.333E-01": 3, "0.000977": 1024, "1D-3": 1000, "0,000250": 4000} {
		inc, ok := lines.Number([]byte(s), map[bool]byte{true: ',', false: '.'}[s[1] == ','])
		if got, _, _ := lines.Rate(inc, s); !ok || got != want {
			t.Errorf("%s: %g, want %g", s, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for s, want := range map[string]float64{"1.5": 1.5, "1.5D+03": 1500, "-2.5-101": -2.5e-101, "1.0+100": 1e100} {
		if got, ok := lines.Number([]byte(s), '.'); !ok || got != want {
			t.Errorf("%s: %g, %t", s, got, ok)
		}
	}
	for _, s := range []string{"", "-", "1-", "a", "1.0-x"} {
		if got, ok := lines.Number([]byte(s), '.'); ok {
			t.Errorf("%q: %g", s, got)
		}
	}
}
