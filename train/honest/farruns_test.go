package honest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"doubletake/train/honest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rotorRuns are levels of simulated rotors: 3 numbers of blades at 20 speeds, with the
// scatter of pairs and of runs in dB.
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
			of := runDB * r.NormFloat64()
			for m := 1; m <= 3; m++ {
				level := 20 + 50*math.Log10(rpm/1000) - 6*float64(m) - 3*(blades-2) + 2*math.Sin(rpm/700+float64(m)) + of
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

// shifted adds an offset to all levels of one run.
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

// Expected values: the truth of the simulation. Without DOUBLETAKE_LONG=all one campaign with and one
// without the offset; with it, the rates that docs/research/methods.md states.
func TestFarRuns(t *testing.T) {
	l := honest.Learner{Rate: func(name string) bool { return name == "rpm" }}
	find := func(s triplets.Set) []honest.FarRun {
		far, err := l.FarRuns(context.Background(), s)
		require.NoError(t, err)

		return far
	}

	if far := find(rotorRuns(1, 0.15, 0.15)); len(far) != 0 {
		t.Errorf("a clean campaign has far runs: %+v", far)
	}

	far := find(shifted(rotorRuns(1, 0.15, 0.15), 27, -1.5))
	require.Len(t, far, 1, "expected run 27 by -1.5 dB, found %+v", far)
	require.Equal(t, 27, far[0].Run, "expected run 27 by -1.5 dB, found %+v", far)
	assert.LessOrEqual(t, math.Abs(far[0].Offset+1.5), 0.5, "expected run 27 by -1.5 dB, found %+v", far)

	if os.Getenv("DOUBLETAKE_LONG") != "all" {
		return
	}

	const campaigns = 400 // of each row; a minute
	for _, c := range []struct{ scatter, offset, found, others float64 }{
		// Bounds: the rates of docs/research/methods.md, less or more two standard errors.
		{0.15, 0, 0, 0.047},
		{0.15, 0.5, 0.15, 0.047},
		{0.15, 1, 0.88, 0.047},
		{0.15, 1.5, 0.965, 0.053},
		{0.12, 0, 0, 0.047},
		{0.12, 1, 0.96, 0.047},
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
		assert.GreaterOrEqual(t, rate, c.found, "found %.3f, expected %.3f", rate, c.found)
		assert.LessOrEqual(t, alarms, c.others,
			"%.3f of the campaigns name a run that is right, expected %.3f", alarms, c.others)
	}
}

// Three wrong runs among 60 are all found: none hides another.
func TestSeveralFarRuns(t *testing.T) {
	wrong := map[int]float64{7: 2, 8: 2, 44: -2}
	s := rotorRuns(3, 0.15, 0.15)
	for run, db := range wrong {
		s = shifted(s, run, db)
	}

	far, err := honest.Learner{}.FarRuns(context.Background(), s)
	require.NoError(t, err)

	for _, f := range far {
		if db := wrong[f.Run]; math.Abs(f.Offset-db) > 0.6 {
			t.Errorf("run %d: expected %g dB, found %+v", f.Run, db, f)
		}
	}

	assert.Len(t, far, len(wrong), "expected runs 7, 8 and 44, found %+v", far)
}
