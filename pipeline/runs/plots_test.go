package runs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Many figures are listed by their kinds. A few figures, and the figures of one kind, are listed by their names.
func TestListed(t *testing.T) {
	names := []string{"e/s-parity"}
	kinds := []string{"parity"}
	for i := range 60 {
		names = append(names, fmt.Sprintf("e/s-directivity-%d", i))
		kinds = append(kinds, "directivity")
	}

	for _, c := range []struct {
		kind  string
		count int
		want  []string
	}{
		{"", 61, []string{
			"parity: 1 figure, as e/s-parity", "directivity: 60 figures, as e/s-directivity-0",
			"pipeline plot runs KIND lists the figures of a kind",
		}},
		{"", 3, names[:3]},
		{"directivity", 61, names[1:]},
		{"directivity", 3, names[1:3]},
		{"e/s-parity", 61, nil},
		{"nothing", 61, nil},
	} {
		got := listed(c.kind, "runs", names[:c.count], kinds[:c.count])
		assert.Equal(t, c.want, got, "%q of %d figures", c.kind, c.count)
	}
}
