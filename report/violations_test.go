package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/score"
)

// The severity of a flag with a limit is its value over the limit. A ratio without a limit is as severe as its inverse,
// and no value inside is worse than any share.
func TestSeverity(t *testing.T) {
	for name, c := range map[string]struct {
		flag score.Flag
		want float64
	}{
		"three limits":  {score.Flag{Value: 0.6, Limit: 0.2}, 3},
		"half":          {score.Flag{Value: 0.5}, 2},
		"twice":         {score.Flag{Value: 2}, 2},
		"nothing is in": {score.Flag{Value: 0}, math.Inf(1)},
	} {
		severity := Violation{Flag: c.flag}.severity()
		if math.IsInf(c.want, 1) {
			assert.Equal(t, c.want, severity, name)
		} else {
			assert.InDelta(t, c.want, severity, 1e-12, name)
		}
	}
}
