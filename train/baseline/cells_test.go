package baseline

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/triplets"
)

// If a set has no groups, its conditions are the groups.
func TestWithoutGroups(t *testing.T) {
	named := toy(12, 1)
	d := named
	d.Group = nil
	named.Group, _ = triplets.Index(d.X, d.In)
	for _, info := range methods {
		if !info.Simple {
			continue
		}

		x := []float64{-2, 1.5, 7}
		a := predicted(t, fitted(t, info.Name, d, 1), x)
		b := predicted(t, fitted(t, info.Name, named, 1), x)
		assert.Equal(t, b.Mu, a.Mu, "means of %s", info.Name)
		assert.Equal(t, b.Total, a.Total, "total variances of %s", info.Name)
	}
}
