package suggest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/report/answer/predict"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// tunnel simulates the lift of a wing over its angle, the speed and the flap, in mountings with an offset of their own.
type tunnel struct {
	random   *rand.Rand
	offset   float64 // deviation of the offsets of mountings
	own      map[string]float64
	x        []float64
	y1, y2   []float64
	mounting []string
}

func newTunnel(seed uint64, offset float64) *tunnel {
	return &tunnel{random: rand.New(rand.NewPCG(seed, 66)), offset: offset, own: map[string]float64{}}
}

// measure adds a run at an angle, a speed and a flap.
func (w *tunnel) measure(mounting string, at ...float64) {
	if _, known := w.own[mounting]; !known {
		w.own[mounting] = w.offset * w.random.NormFloat64()
	}

	a, u, f := at[0], at[1], at[2]
	stall := 1 / (1 + math.Exp(-(a-10-0.1*(u-20)+0.15*f)/1.2))
	y := (0.095*(a+1.5)+0.022*f)*(1+0.04*math.Log(u/20))*(1-0.3*stall) + w.own[mounting]
	w.x = append(w.x, at...)
	w.y1 = append(w.y1, y+0.01*w.random.NormFloat64())
	w.y2 = append(w.y2, y+0.01*w.random.NormFloat64())
	w.mounting = append(w.mounting, mounting)
}

// learn returns the models of what was measured. byMounting makes mountings the groups; otherwise speeds are.
func (w *tunnel) learn(t *testing.T, byMounting bool) *predict.Models {
	t.Helper()

	inputs := []triplets.Quantity{
		{Name: "alpha_deg", Unit: "deg"}, {Name: "u_m_s", Unit: "m/s"}, {Name: "flap_deg", Unit: "deg"},
	}
	s := triplets.New(inputs, []triplets.Quantity{{Name: "cl"}}, w.x, w.y1, w.y2)
	s.Part = slices.Repeat([]triplets.Part{triplets.Train}, s.N)

	var runs []string
	card := predict.Card{Outcomes: []predict.Outcome{{Name: "cl"}}}
	for i := range s.N {
		runs = append(runs, fmt.Sprint(i))
		card.Conditions = append(card.Conditions, s.X[3*i:3*i+3])
	}

	s.SetRuns(runs)

	card.Inputs = honest.Inputs(s, nil)
	for k := range card.Inputs {
		card.Inputs[k].Values = s.Values(k)
	}

	learner := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: "u_m_s", Tolerance: holdout.Nothing.Within("u_m_s"),
	}
	var groups []float64
	for i := range s.N {
		groups = append(groups, s.X[3*i+1])
	}

	if byMounting {
		learner.Offsets = []honest.Label{{Name: "mounting"}}
		learner.Condition = "mounting"
		learner.Settings.Labels = true
		learner.Tolerance = holdout.Nothing.Within("mounting")
		learner.Names = slices.Compact(slices.Sorted(slices.Values(w.mounting)))
		for i, name := range w.mounting {
			groups[i] = float64(slices.Index(learner.Names, name))
		}
	}

	model, _, err := learner.Process(t.Context(), s, groups)
	require.NoError(t, err)
	require.Empty(t, model.Absent)

	m := predict.New(card)
	m.Honest = model

	return m
}

// halfNow returns the mean half width that the models give at candidates.
func halfNow(t *testing.T, m *predict.Models, candidates *Candidates, list []Suggestion) float64 {
	t.Helper()

	process, err := lookAhead(t.Context(), m, candidates, list)
	require.NoError(t, err)

	return process.meanHalf()[0]
}

// A factorial lacks a combination of speed and flap. It is proposed first, without a grid; and after the proposed runs
// the half widths at the candidates are those that were forecast. Witness: the same campaign, measured further.
func TestReplayOfMissingCombination(t *testing.T) {
	sum := 0.0
	const seeds = 2
	for seed := range uint64(seeds) {
		w := newTunnel(seed, 0)
		for a := -4.0; a < 15; a += 3 {
			for _, u := range []float64{12, 20, 30} {
				for _, f := range []float64{0, 10, 20} {
					if u != 20 || f != 20 {
						w.measure("A", a, u, f)
					}
				}
			}
		}

		m := w.learn(t, false)
		candidates := Default(m)
		list, err := Rank(t.Context(), m, candidates)
		require.NoError(t, err)

		for _, s := range list[:7] {
			require.Equal(t, interval.Combination, s.Class)
			require.Equal(t, []float64{20, 20}, s.At[1:], "the combination that is missing")
		}

		session, err := Plan(t.Context(), m, candidates, list, Costs{Repeat: 1}, 4)
		require.NoError(t, err)
		require.Len(t, session.Steps, 4)
		require.Empty(t, session.Label)

		before := halfNow(t, m, candidates, list)
		require.InDelta(t, session.Before[0], before, 1e-12)

		for _, step := range session.Steps {
			require.Equal(t, []float64{20, 20}, step.At[1:])
			w.measure("A", step.At...)
		}

		promised := session.Steps[3].Half[0]
		found := halfNow(t, w.learn(t, false), candidates, list)
		t.Logf("half width before %.4f, promised %.4f, found %.4f", before, promised, found)
		sum += math.Log(promised/found) / seeds
	}

	assert.Less(t, math.Abs(sum), math.Log(1.25), "promised half widths are × %.2f of those found", math.Exp(sum))
}

// Three mountings differ by an offset each. A session opens a fourth. On average over seeds, the interval for any new
// mounting is then as wide as was forecast, and the interval for the fourth mounting itself is narrower. Witness: the
// same campaign, measured further.
func TestReplayOfMounting(t *testing.T) {
	sum := 0.0
	same := 0.0
	const seeds = 6
	for seed := range uint64(seeds) {
		w := newTunnel(seed, 0.08)
		for _, mounting := range []string{"A", "B", "C"} {
			for a := -4.0; a < 9; a += 3 {
				w.measure(mounting, a, 20, 0)
				w.measure(mounting, a, 30, 10)
			}
		}

		m := w.learn(t, true)
		candidates, err := ParseGrid(m, "alpha_deg=-4:8:2,u_m_s=20:30:5,flap_deg=0:10:10")
		require.NoError(t, err)

		list, err := Rank(t.Context(), m, candidates)
		require.NoError(t, err)
		require.Equal(t, interval.NewThing, list[0].Class)

		session, err := Plan(t.Context(), m, candidates, list, Costs{Repeat: 1}, 6)
		require.NoError(t, err)
		require.Equal(t, "mounting", session.Label)
		require.Equal(t, "a fourth mounting", session.Opened)
		require.Equal(t, "a fifth mounting", session.Another)
		require.Len(t, session.Split, 1)

		for _, step := range session.Steps {
			w.measure("D", step.At...)
		}

		after := w.learn(t, true)
		promised := session.Steps[5].Half[0]
		found := halfNow(t, after, candidates, list)

		opened := *candidates
		opened.Labels = []string{"mounting"}
		opened.List = slices.Clone(candidates.List)
		named := slices.Clone(list)
		for i := range list {
			named[i].Things = map[string]string{"mounting": "D"}
		}

		own := halfNow(t, after, &opened, named)
		t.Logf("before %.3f, promised %.3f, in two mountings %.3f, found %.3f; in D itself %.3f", session.Before[0], promised,
			session.Split[0], found, own)
		assert.LessOrEqual(t, session.Split[0], promised*1.0001, "two mountings teach no less than one")
		sum += math.Log(promised/found) / seeds
		same += math.Log(own/promised) / seeds
	}

	t.Logf("promised half widths are × %.2f of the widths found; in the opened mounting the widths found are × %.2f of "+
		"the promised ones", math.Exp(sum), math.Exp(same))
	assert.Less(t, math.Abs(sum), math.Log(1.35), "promised half widths are × %.2f of those found", math.Exp(sum))
	assert.Less(t, same, math.Log(0.6), "a mounting that was measured is another question")

	page := strings.Join(strings.Fields(string(testfile.Read(t, "../../../docs/suggest.md"))), " ")
	stated := fmt.Sprintf("forecast for a fourth were × %.1f of the widths found for any new mounting. "+
		"Within the fourth mounting itself, the widths found were × %.1f of the forecast", math.Exp(sum), math.Exp(same))
	assert.Contains(t, page, stated)
}

// Predict gives the half width and the class of each suggestion: one story. Witness: Models.Recommend.
func TestSuggestionsArePredictions(t *testing.T) {
	w := newTunnel(1, 0.05)
	for _, mounting := range []string{"A", "B"} {
		for a := -4.0; a < 9; a += 3 {
			w.measure(mounting, a, 20, 0)
			w.measure(mounting, a, 30, 10)
		}
	}

	m := w.learn(t, true)
	path := filepath.Join(t.TempDir(), "exist.csv")
	table := "mounting,alpha_deg,u_m_s,flap_deg,remark\n" +
		"A,2,20,10,known\nE,2,20,10,new with a name\n,2,20,10,any\nA,2,20,10,again\n"
	require.NoError(t, os.WriteFile(path, []byte(table), 0o600))

	candidates, err := Read(m, path)
	require.NoError(t, err)
	require.Len(t, candidates.List, 3, "a repeated row is one candidate")
	require.Equal(t, []string{"mounting"}, candidates.Labels)

	list, err := Rank(t.Context(), m, candidates)
	require.NoError(t, err)

	classes := map[string]interval.Class{}
	for _, s := range list {
		p, err := m.Recommend(context.Background(), s.At, predict.Options{Things: []map[string]string{s.Things}})
		require.NoError(t, err)
		assert.Equal(t, p.Half, s.Half)
		assert.Equal(t, p.Query(0).Class, s.Class)
		classes[s.Things["mounting"]] = s.Class
	}

	assert.Equal(t, map[string]interval.Class{
		"A": interval.Combination, "E": interval.NewThing, "": interval.NewThing,
	}, classes)

	// A thing with a name keeps it: after it was measured it is known, and any other new one is not.
	process, err := lookAhead(t.Context(), m, candidates, list)
	require.NoError(t, err)

	place := slices.IndexFunc(process.list, func(s Suggestion) bool { return s.Things["mounting"] == "E" })
	other := slices.IndexFunc(process.list, func(s Suggestion) bool { return s.Things["mounting"] == "" })
	before := process.Predict()
	require.InDelta(t, before.Half[place], before.Half[other], 1e-9, "both are new")
	require.NoError(t, process.Measure(process.rows[place]))

	after := process.Predict()
	assert.Equal(t, interval.Measured, after.Query(place).Class)
	assert.Equal(t, interval.NewThing, after.Query(other).Class)
	assert.Less(t, after.Half[place], 0.6*after.Half[other])
}

// By hand: values, middles and half a step beyond, with the sign of the others; a count has whole numbers.
func TestValuesOfDefault(t *testing.T) {
	for _, c := range []struct {
		values []float64
		unit   string
		want   []float64
	}{
		{[]float64{10, 20, 40}, "m/s", []float64{5, 10, 15, 20, 30, 40, 50}},
		{[]float64{0, 10}, "deg", []float64{0, 5, 10, 15}},
		{[]float64{-4, 0, 4}, "deg", []float64{-6, -4, -2, 0, 2, 4, 6}},
		{[]float64{2, 3, 5}, "", []float64{1, 2, 3, 4, 5, 6}},
		{[]float64{0.1, 0.3}, "", []float64{0.1, 0.2, 0.3, 0.4}},
		{[]float64{7}, "m", []float64{7}},
	} {
		var got []float64
		for _, r := range valuesAround(c.values, c.unit) {
			got = append(got, r.values...)
		}

		assert.Equal(t, c.want, got)
	}
}
