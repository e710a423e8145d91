package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/score"
	"doubletake/train/triplets"
)

// summary makes the summary of one seed with given numbers; others are 0.
func summary(r2, ratio float64, undefined string) score.Summary {
	set := score.Set{Set: triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{{Name: "y"}},
		[]float64{1, 2}, []float64{1, 2}, []float64{1, 3})}
	set.Mu = []float64{1, 2}
	s := score.Summarise(set)
	for _, list := range []score.Numbers{s.Numbers, s.Outcomes[0]} {
		for i := range list {
			switch list[i].Key {
			case "r2":
				list[i].Value = r2
			case "sum_e_ratio":
				list[i].Value, list[i].Undefined = ratio, undefined
			}
		}
	}

	return s
}

// Numbers are averaged over the seeds, with the sample deviation; one undefined seed
// makes the mean undefined, with its reason.
func TestOverSeeds(t *testing.T) {
	outcomes := []triplets.Quantity{{Name: "y", Unit: "dB"}}
	m := OverSeeds([]score.Summary{summary(0.5, 2, ""), summary(0.7, 4, ""), summary(0.9, 9, "")}, outcomes)
	v := m.Get("r2")
	assert.InDelta(t, 0.7, v.Mean, 1e-15)
	assert.InDelta(t, 0.2, v.Std, 1e-15)
	assert.Equal(t, 3, v.N)

	v = m.Get("sum_e_ratio")
	assert.Equal(t, 5.0, v.Mean)
	assert.InDelta(t, math.Sqrt(13), v.Std, 1e-15)

	assert.Equal(t, 2, m.Rows)
	assert.Equal(t, 2, m.Conditions)
	assert.Equal(t, 2, m.Runs)
	require.Len(t, m.Outcomes, 1)
	assert.Equal(t, "y", m.Outcomes[0].Name)
	assert.Equal(t, "dB", m.Outcomes[0].Unit)
	assert.Equal(t, m.Get("r2"), m.Outcomes[0].Get("r2"))

	m = OverSeeds([]score.Summary{summary(0.5, 2, ""), summary(0.7, math.NaN(), "no C")}, outcomes)
	v = m.Get("sum_e_ratio")
	assert.False(t, v.Defined())
	assert.Equal(t, "no C", v.Reason())
}
