package runs

import (
	"fmt"
	"slices"
	"testing"
)

// Many figures are listed by their kinds, few and those of one kind by their names.
func TestListed(t *testing.T) {
	names, kinds := []string{"e/s-parity"}, []string{"parity"}
	for i := range 60 {
		names, kinds = append(names, fmt.Sprintf("e/s-directivity-%d", i)), append(kinds, "directivity")
	}

	for _, c := range []struct {
		kind string
		n    int
		want []string
	}{
		{"", 61, []string{
			"parity: 1 figure, as e/s-parity", "directivity: 60 figures, as e/s-directivity-0",
			"pipeline plot runs KIND lists those of a kind",
		}},
		{"", 3, names[:3]},
		{"directivity", 61, names[1:]},
		{"directivity", 3, names[1:3]},
		{"e/s-parity", 61, nil},
		{"nothing", 61, nil},
	} {
		if got := listed(c.kind, "runs", names[:c.n], kinds[:c.n]); !slices.Equal(got, c.want) {
			t.Errorf("%q of %d: %q, expected %q", c.kind, c.n, got, c.want)
		}
	}
}
