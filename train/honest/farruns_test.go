package honest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// rotorRuns simulates levels of rotors: three numbers of blades at 20 speeds, with the given scatter of pairs and of
// runs in dB.
func rotorRuns(seed uint64, pairDB, runDB float64) triplets.Set {
	r := rand.New(rand.NewPCG(seed, 34))
	var x, y1, y2 []float64
	var run []int
	var names, recordings []string
	for _, blades := range []float64{2, 3, 4} {
		for k := range 20 {
			rpm := 2000 + 200*float64(k)
			run = append(run, len(names))
			name := fmt.Sprintf("%gb-%g.wav", blades, rpm)
			names = append(names, name)
			recordings = append(recordings, name)
			x = append(x, blades, rpm)
			own := runDB * r.NormFloat64()
			for m := 1; m <= 3; m++ {
				level := 20 + 50*math.Log10(rpm/1000) - 6*float64(m) - 3*(blades-2) + 2*math.Sin(rpm/700+float64(m)) + own
				y1 = append(y1, level+pairDB*r.NormFloat64())
				y2 = append(y2, level+pairDB*r.NormFloat64())
			}
		}
	}

	s := triplets.New([]triplets.Quantity{{Name: "blades"}, {Name: "rpm", Unit: "1/min"}}, []triplets.Quantity{
		{Name: "bpf1_db", Unit: "dB"}, {Name: "bpf2_db", Unit: "dB"}, {Name: "bpf3_db", Unit: "dB"},
	}, x, y1, y2)
	s.Run = run
	s.Runs = names
	s.Recording = recordings

	return s
}

// shifted adds an offset to all levels of one run of a set, and returns the set.
func shifted(s triplets.Set, run int, db float64) triplets.Set {
	for i, r := range s.Run {
		for j := range s.Out {
			if r == run {
				s.Y1[i*s.Out+j] += db
				s.Y2[i*s.Out+j] += db
			}
		}
	}

	return s
}

// Expected: in one simulated campaign no far run, and in another one the run that was shifted. With
// DOUBLETAKE_LONG=all the rates over 400 campaigns are those of docs/research/methods.md.
func TestFarRuns(t *testing.T) {
	l := honest.Learner{Rate: func(name string) bool { return name == "rpm" }}
	find := func(s triplets.Set) []honest.FarRun {
		far, err := l.FarRuns(context.Background(), s)
		require.NoError(t, err)

		return far
	}

	assert.Empty(t, find(rotorRuns(1, 0.15, 0.15)), "far runs of a campaign without mistakes")

	far := find(shifted(rotorRuns(1, 0.15, 0.15), 27, -1.5))
	require.Len(t, far, 1)
	assert.Equal(t, 27, far[0].Run)
	assert.InDelta(t, -1.5, far[0].Offset, 0.5, "offset in dB")

	if !longtest.IsStudy() {
		return
	}

	const campaigns = 400 // of each row; a minute
	for _, c := range []struct {
		scatter, offset float64 // in dB
		found           float64 // smallest share of campaigns whose shifted run is found: the page's less two standard errors
		others          float64 // largest share of campaigns that name another run: the page's and two standard errors
	}{
		{scatter: 0.15, offset: 0, found: 0, others: 0.047},
		{scatter: 0.15, offset: 0.5, found: 0.15, others: 0.047},
		{scatter: 0.15, offset: 1, found: 0.88, others: 0.047},
		{scatter: 0.15, offset: 1.5, found: 0.965, others: 0.053},
		{scatter: 0.12, offset: 0, found: 0, others: 0.047},
		{scatter: 0.12, offset: 1, found: 0.96, others: 0.047},
	} {
		found := 0
		others := 0
		for seed := range uint64(campaigns) {
			run := int(seed*7) % 60
			wrong := 0
			for _, f := range find(shifted(rotorRuns(seed+100, c.scatter, c.scatter), run, c.offset)) {
				if f.Run == run && c.offset != 0 {
					found++
				} else {
					wrong = 1
				}
			}

			others += wrong
		}

		rate := float64(found) / campaigns
		alarms := float64(others) / campaigns
		t.Logf("scatter %g dB, offset %g dB: found %.3f, another run named %.3f", c.scatter, c.offset, rate, alarms)
		assert.GreaterOrEqual(t, rate, c.found, "share of campaigns whose shifted run is found, %+v", c)
		assert.LessOrEqual(t, alarms, c.others, "share of campaigns that name another run, %+v", c)
	}
}

// Expected: all three shifted runs among 60 are found, two of which are neighbours, with their offsets.
func TestSeveralFarRuns(t *testing.T) {
	wrong := map[int]float64{7: 2, 8: 2, 44: -2}
	s := rotorRuns(3, 0.15, 0.15)
	for run, db := range wrong {
		s = shifted(s, run, db)
	}

	far, err := honest.Learner{}.FarRuns(context.Background(), s)
	require.NoError(t, err)

	require.Len(t, far, len(wrong))
	for _, f := range far {
		require.Contains(t, wrong, f.Run)
		assert.InDelta(t, wrong[f.Run], f.Offset, 0.6, "offset of run %d in dB", f.Run)
	}
}
