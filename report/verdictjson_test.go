package report

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
)

// metrics.json has the verdict, the calibration with undefined numbers as null, or
// the reason why there is none.
func TestVerdictJSON(t *testing.T) {
	s := judgedSplit()
	s.Honest = &interval.Result{
		Calibration: &interval.Calibration{
			Base: "gp", K: 3, Level: 0.95, Groups: []interval.GroupResult{{Name: "3", Distance: 0.5, E: 0.24, Inside: 0.9}},
			Scale: &scale.Scale{Tau: 0.8},
		},
		Record: &interval.Record{
			RatioAfter: 0.7, RatioSE: math.NaN(), Outcomes: []score.OutcomeTrust{holding("bpf1_db", "dB re 20 µPa", 5, 15, 0.5)},
		},
	}

	e := Experiment{Name: "x", Splits: []Split{s, {Name: "b", Honest: &interval.Result{Absent: "too few groups"}}}}
	b, err := e.MetricsJSON()
	require.NoError(t, err)

	var got struct {
		Splits []struct {
			Verdict, Sentence string
			Network           []struct{ RMSE float64 }
			Honest            *struct {
				Outcomes   []struct{ Outcome, Verdict string }
				K          int      `json:"k"`
				RatioAfter *float64 `json:"ratio_after"`
				RatioSE    *float64 `json:"ratio_se"`
				LeftOut    []struct {
					Group string
					ESE   *float64 `json:"e_se"`
				} `json:"left_out"`
			}
			Absent string `json:"honest_absent"`
		}
	}

	require.NoError(t, json.Unmarshal(b, &got))

	a := got.Splits[0]
	c := got.Splits[1]
	require.Equal(t, "holds", a.Verdict, "%+v", a)
	require.NotEmpty(t, a.Sentence, "%+v", a)
	assert.Equal(t, 7.23, a.Network[0].RMSE, "%+v", a)

	h := a.Honest
	require.NotNil(t, h)
	assert.Equal(t, 3, h.K)
	assert.Equal(t, 0.7, *h.RatioAfter)
	assert.Nil(t, h.RatioSE)
	require.Len(t, h.LeftOut, 1)
	assert.Nil(t, h.LeftOut[0].ESE)
	assert.Equal(t, "bpf1_db", h.Outcomes[0].Outcome)
	assert.Equal(t, "holds", h.Outcomes[0].Verdict)

	require.Equal(t, "too few groups", c.Absent, "%+v", c)
	require.Nil(t, c.Honest, "%+v", c)
	assert.Empty(t, c.Sentence, "%+v", c)
}
