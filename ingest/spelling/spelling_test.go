package spelling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.Equal(t, c.want, Distance(c.a, c.b), "%q, %q", c.a, c.b)
		assert.Equal(t, c.want, Distance(c.b, c.a), "%q, %q", c.b, c.a)
	}

	long := strings.Repeat("x", 1<<20)
	require.Equal(t, 0, Distance(long, long), "names too long to compare")
	assert.Equal(t, 1<<20, Distance(long, "x"), "names too long to compare")
}

// Names that look alike are alike: macOS writes ü as u and U+0308.
func TestComposed(t *testing.T) {
	for name, want := range map[string]string{"Flu\u0308gel_A\u030a": "Flügel_Å", "Flügel": "Flügel", "": "", "μ": "μ"} {
		assert.Equal(t, want, Composed(name), "%q", name)
	}
}

// The expected names differ from the given one in the fewest letters.
func TestNearest(t *testing.T) {
	known := []string{"Fx", "Fy", "Mx", "speed"}
	assert.Equal(t, []string{"Fx", "Fy"}, Nearest("fx", known, 2))
	assert.Empty(t, Nearest("x", nil, 3))
}

func TestMeant(t *testing.T) {
	known := []string{"segments", "tolerance", "amplitude", "rpm", "q"}
	for in, want := range map[string]string{
		"segmnts": "segments", "tolerence": "tolerance", "amplitdue": "amplitude",
		"xyzzy": "", "rpn": "rpm", "xyz": "", "": "", "x": "", "Q": "q", "qq": "q",
	} {
		assert.Equal(t, want, Meant(in, known), "%q", in)
	}
}

func ExampleDidYouMean() {
	fmt.Println(`"bladse" is not a condition` + DidYouMean("bladse", []string{"blades", "rpm"}))
	fmt.Println(`"" is not a condition` + DidYouMean("", []string{"q", "rpm"}))
	// Output:
	// "bladse" is not a condition; did you mean "blades"?
	// "" is not a condition
}
