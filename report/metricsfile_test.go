package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/score"
)

// metrics.json reads back with an ordinary decoder: names and finite numbers to the bit, but −0 as 0. An infinite
// number is undefined.
func TestMetricsJSON(t *testing.T) {
	e := hostileExperiment([]string{"<script>", "a|b", "羽根"})
	third := 1.0 / 3
	e.Splits[1].Test.Values = put(e.Splits[1].Test.Values, "r2", score.Value{Mean: third, Std: 5e-324, N: 5})
	e.Splits[1].Test.Values = put(e.Splits[1].Test.Values, "abs_cov",
		score.Value{Mean: math.Copysign(0, -1), Std: math.NaN(), N: 1})
	e.Splits[2].Test.Values = put(e.Splits[2].Test.Values, "r2", score.Value{Mean: math.Inf(-1), N: 5})
	raw, err := e.MetricsJSON()
	require.NoError(t, err)

	again, _ := e.MetricsJSON()
	assert.Equal(t, again, raw)
	assert.Equal(t, byte('\n'), raw[len(raw)-1])
	assert.NotContains(t, string(raw), "<script")

	var got struct {
		Splits []struct {
			Name string
			Test struct {
				R2 struct {
					Mean, Std *float64
					Undefined string
				}
				AbsCov struct{ Mean *float64 } `json:"abs_cov"`
			}
			Differences map[string]any `json:"difference_pct"`
		}
	}

	require.NoError(t, json.Unmarshal(raw, &got))

	require.Len(t, got.Splits, 3)
	assert.Equal(t, "<script>", got.Splits[0].Name)
	assert.Equal(t, "羽根", got.Splits[2].Name)

	s := got.Splits[1]
	assert.Equal(t, "a|b", s.Name)
	require.NotNil(t, s.Test.AbsCov.Mean)
	assert.Zero(t, *s.Test.AbsCov.Mean)
	assert.False(t, math.Signbit(*s.Test.AbsCov.Mean), "the sign of 0")
	assert.Equal(t, third, *s.Test.R2.Mean)
	assert.Equal(t, 5e-324, *s.Test.R2.Std)

	s = got.Splits[2]
	assert.Nil(t, s.Test.R2.Mean, "an infinite R²")
	assert.Equal(t, "not a finite number", s.Test.R2.Undefined, "an infinite R²")
	assert.Nil(t, s.Differences["r2"], "an infinite R²")

	// (0.0765 − 0.0285)/0.0285 by hand.
	assert.InDelta(t, 168.421052631579, got.Splits[0].Differences["abs_cov"].(float64), 1e-9, "difference")
}

func TestMetricsJSONErrors(t *testing.T) {
	twice := rotor()
	twice.Splits[1].Name = twice.Splits[0].Name
	outcomes := rotor()
	outcomes.Splits[0].Test.Outcomes[1].Name = outcomes.Splits[0].Test.Outcomes[0].Name
	units := rotor()
	units.OutcomeUnits = units.OutcomeUnits[:1]
	for want, e := range map[string]Experiment{
		`write metrics of "drone": two splits are named "2-blades"`:                    twice,
		`write metrics of "drone", split "2-blades": two outcomes are named "bpf1_db"`: outcomes,
		`write metrics of "drone": 1 units for 2 outcomes`:                             units,
	} {
		_, err := e.MetricsJSON()
		assert.EqualError(t, err, want)
	}
}

// Every metric of a part is written under its own key, of a set and of an outcome
// alike.
func TestEveryMetricIsWritten(t *testing.T) {
	var v score.Values
	for i, m := range score.MetricsOf(score.Parts) {
		v = append(v, score.Keyed{Key: m.Key, Value: score.Value{Mean: 1, N: i + 1}})
	}

	e := Experiment{Name: "x", Splits: []Split{{Name: "s", Test: SetMetrics{
		Values: v, Outcomes: []OutcomeMetrics{{Name: "y", Values: v}},
	}}}}
	js, err := e.MetricsJSON()
	require.NoError(t, err)

	text := strings.Join(strings.Fields(string(js)), "")

	data, err := MetricsCSV([]Experiment{e})
	require.NoError(t, err)
	csv := string(data)
	for i, m := range score.MetricsOf(score.Parts) {
		assert.Equal(t, 2, strings.Count(text, fmt.Sprintf(`%q:{"mean":1,"std":0,"n":%d}`, m.Key, i+1)),
			"metrics.json has %s times", m.Key)

		for _, of := range []string{"all,", "y,"} {
			if row := fmt.Sprintf(",test,%s,%s,1,0,%d,", of, m.Key, i+1); strings.Count(csv, row) != 1 {
				t.Errorf("the CSV has no row %q", row)
			}
		}
	}
}
