package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/score"
)

// The severity of a flag with a limit is its value over the limit. A flag without a limit has a ratio that should be 1:
// a ratio is as severe as its inverse, and 0 is more severe than any other ratio.
func TestSeverity(t *testing.T) {
	for name, c := range map[string]struct {
		flag score.Flag
		want float64
	}{
		"three times the limit": {score.Flag{Value: 0.75, Limit: 0.25}, 3},
		"a ratio of a half":     {score.Flag{Value: 0.5}, 2},
		"a ratio of two":        {score.Flag{Value: 2}, 2},
		"a ratio of zero":       {score.Flag{Value: 0}, math.Inf(1)},
	} {
		assert.Equal(t, c.want, Violation{Flag: c.flag}.severity(), name)
	}
}
