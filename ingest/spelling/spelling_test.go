package spelling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Expected distances are counted by hand.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"rpm", "RPM", 0},
		{"segmnts", "segments", 1},
		{"amplitdue", "amplitude", 1}, // a swap
		{"kitten", "sitting", 3},
		{"ca", "abc", 3}, // optimal string alignment; unrestricted edits need 2
		{"µPa", "uPa", 1},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, expected %d", c.a, c.b, got, c.want)
		}

		if got := Distance(c.b, c.a); got != c.want {
			t.Errorf("%q, %q: %d, expected %d", c.b, c.a, got, c.want)
		}
	}

	long := strings.Repeat("x", 1<<20)
	if Distance(long, long) != 0 || Distance(long, "x") != 1<<20 {
		t.Error("names too long to compare")
	}
}

func TestNearest(t *testing.T) {
	known := []string{"Fx", "Fy", "Mx", "speed"}
	if got := Nearest("fx", known, 2); !slices.Equal(got, []string{"Fx", "Fy"}) {
		t.Errorf("%q", got)
	}

	if got := Nearest("x", nil, 3); got != nil {
		t.Errorf("%q", got)
	}
}

func TestMeant(t *testing.T) {
	known := []string{"segments", "tolerance", "amplitude", "rpm"}
	for in, want := range map[string]string{
		"segmnts": "segments", "tolerence": "tolerance", "amplitdue": "amplitude",
		"xyzzy": "", "rpn": "rpm", "xyz": "", "": "",
	} {
		if got := Meant(in, known); got != want {
			t.Errorf("%q: %q, expected %q", in, got, want)
		}
	}
}

func ExampleDidYouMean() {
	fmt.Println(`"bladse" is not a condition` + DidYouMean("bladse", []string{"blades", "rpm"}))
	// Output:
	// "bladse" is not a condition; did you mean "blades"?
}
