package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/report/answer/predict"
	"doubletake/train/gp"
	"doubletake/train/honest"
)

// A plan of n rows and m matrices keeps m·n²/2 numbers, at most 3·10⁷. By hand, 1500 rows are 1.125·10⁶ numbers for
// each matrix, so that 26 matrices fit, and √(6·10⁷/27) is 1490.7. Curves double the number of matrices.
// docs/suggest.md states 26 and 13.
func TestPlannedRows(t *testing.T) {
	for _, c := range []struct{ outcomes, curves, want int }{
		{1, 0, 1500},
		{26, 0, 1500},
		{27, 0, 1490},
		{13, 1, 1500},
		{14, 1, 1463},
	} {
		process := &gp.Model{Data: gp.Data{Hyper: make([]gp.Hyper, c.outcomes), Curves: c.curves}}
		m := &predict.Models{Honest: &honest.Model{Process: process}}
		assert.Equal(t, c.want, plannedRows(m), "%d outcomes, curves of label %d", c.outcomes, c.curves)
	}
}
