package library

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
	"doubletake/train/honest"
	"doubletake/train/honest/leftout"
	"doubletake/train/honest/scale"
)

// simulated are groups of two conditions and two outcomes whose squared errors exceed the
// claims by factors about exp(m).
func simulated(r *rand.Rand, groups int, m float64) (names []string, left []scale.Group) {
	for h := range groups {
		g := scale.Group{Conditions: 2, Distance: []float64{1, 0.5}}
		for range 4 {
			claim := math.Exp(r.NormFloat64())
			g.Claim = append(g.Claim, claim)
			g.Noise = append(g.Noise, 0.01)
			g.Residual = append(g.Residual, math.Exp(m/2)*math.Sqrt(claim)*r.NormFloat64())
		}

		names = append(names, string(rune('a'+h)))
		left = append(left, g)
	}

	return names, left
}

// writeSplit writes the file of a finished split.
func writeSplit(t *testing.T, dir, experiment, split, base string, names []string, left []scale.Group) {
	t.Helper()

	folder := filepath.Join(dir, experiment, "splits", split)
	require.NoError(t, os.MkdirAll(folder, 0o755))

	tab := leftout.Table(names, left, []string{"thrust", "torque"})
	tab.Meta = []kv.Pair{
		{Key: "experiment", Value: experiment},
		{Key: "data", Value: "simulated"},
		{Key: "condition", Value: "blades"},
		{Key: "base", Value: base},
	}

	_, err := tab.WriteFile(filepath.Join(folder, leftout.File))
	require.NoError(t, err)
}

// Families of known m: that of all is learned, the one that is unlike the others is seen as
// such, and the file is read as it was learned, to the byte each time.
func TestLearn(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 5))
	root := t.TempDir()

	var dirs []string
	for i, m := range []float64{0.5, 0.5, 0.5, 2.5} {
		dirs = append(dirs, filepath.Join(root, string(rune('A'+i))))
		names, left := simulated(r, 12, m)
		for k, split := range []string{"all", "without-a", "without-b"} {
			writeSplit(t, dirs[i], "rotor", split, "gp", names[k:], left[k:])
		}
	}

	l, err := Learn(context.Background(), dirs, "lab")
	require.NoError(t, err)

	assert.Equal(t, 48, l.Groups)
	require.Len(t, l.Families, 4)
	assert.InDelta(t, 1, l.Prior.M, 0.75, "m: the mean of .5, .5, .5 and 2.5")

	const origin = "48 left-out groups of 4 experiments in 4 families, simulated: rotor (blades); "
	assert.True(t, strings.HasPrefix(l.Prior.Origin, origin), l.Prior.Origin)

	for i, f := range l.Families {
		assert.Equal(t, 3, f.Splits, "family %d", i)
		assert.Equal(t, 12, f.Groups, "family %d", i)
		require.NotNil(t, f.LeftOut, "family %d", i)
	}

	odd := l.Families[3].LeftOut
	assert.LessOrEqual(t, odd.Prior.M, 1.0, "the others have the mean .5")
	assert.Less(t, odd.Learned, odd.Like, "ln evidence of the odd family by the others, and by the wide prior")

	// Learning again gives the same bytes, which replace the file of the first time.
	path := filepath.Join(root, "prior.json")
	first, err := l.Encode(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, first, 0o600))

	again, err := Learn(context.Background(), dirs, "lab")
	require.NoError(t, err)

	second, err := again.Encode(path)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))

	list, err := scale.ReadPriors(first)
	require.NoError(t, err)
	assert.Equal(t, l.Prior, list[0])

	// A file that is not one of priors stays.
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	_, err = l.Encode(path)
	assert.ErrorContains(t, err, "expected a new file, or one of priors, found another")
}

// The record of rises is that of what finished splits held out, by metrics.json; networks' and final models have none.
// Written by hand: ten splits with a rise of 3 and 0.8 inside, ten with 0.9 and all inside.
func TestRisesOfCampaigns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 56))
	for _, n := range []int{20, 19} {
		dir := t.TempDir()
		doc := `{"experiment":"rotor","splits":[{"name":"final"}`
		for i := range n {
			names, left := simulated(r, 3, 0.5)
			split := fmt.Sprintf("s%d", i)
			writeSplit(t, dir, "rotor", split, "gp", names, left)
			doc += fmt.Sprintf(`,{"name":%q,"train":{"abs_cov":{"mean":0.1}},"test":{"abs_cov":{"mean":%g}},`+
				`"honest":{"coverage_95":%g}}`, split, []float64{0.3, 0.09}[i%2], []float64{0.8, 1}[i%2])
		}

		folder := filepath.Join(dir, "rotor", "report")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "metrics.json"), []byte(doc+"]}"), 0o644))

		l, err := Learn(context.Background(), []string{dir}, "lab")
		require.NoError(t, err)

		got := l.Prior.RisesRecord()
		notes := strings.Join(l.Notes, "\n")
		if n == 20 {
			assert.Equal(t, "In the campaigns of prior lab, the calibrated 95 % intervals contained 80.0 ± 0.0 % of the "+
				"values if E|cov| rose above × 1.54, and 100 ± 0 % if it did not rise (10 and 10 held-out groups).",
				got.Words(), "record")
		} else {
			assert.Equal(t, scale.BuiltInRises(), got)
			assert.Contains(t, notes, "in 10 of 19 held-out groups and did not in 9")
		}
	}
}

// Splits of one experiment count for one together: leaving out the same groups three times
// teaches nearly what leaving them out once does, and a copy of a split nothing.
func TestSplitsShareAWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	once := filepath.Join(t.TempDir(), "once")
	thrice := filepath.Join(t.TempDir(), "thrice")
	names, left := simulated(r, 12, 1)
	writeSplit(t, once, "rotor", "all", "gp", names, left)

	for i, split := range []string{"x", "y", "z"} {
		more := append([]scale.Group(nil), left...)
		more[0].Residual = append([]float64(nil), more[0].Residual...)
		more[0].Residual[0] += 1e-9 * float64(i)
		writeSplit(t, thrice, "rotor", split, "gp", names, more)
		writeSplit(t, thrice, "copy", split, "gp", names, more)
	}

	a, err := Learn(context.Background(), []string{once}, "lab")
	require.NoError(t, err)

	b, err := Learn(context.Background(), []string{thrice}, "lab")
	require.NoError(t, err)

	sum := 0.0
	for _, c := range b.Families[0].campaigns {
		sum += c.Weight
	}

	assert.Equal(t, 3, b.Families[0].Splits)
	assert.InDelta(t, 1, sum, 1e-12, "weights of the splits")
	assert.Equal(t, a.Prior.M, b.Prior.M)
	assert.Equal(t, a.Prior.Tau, b.Prior.Tau)
}

// Networks are learned from alone, with their floor of claims, or left aside.
func TestNetworksAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	dir := filepath.Join(t.TempDir(), "a")
	other := filepath.Join(t.TempDir(), "b")
	names, left := simulated(r, 5, 3)
	writeSplit(t, dir, "rotor", "all", "ensemble", names, left)

	l, err := Learn(context.Background(), []string{dir}, "lab")
	require.NoError(t, err)
	assert.Equal(t, "networks", l.Like)
	assert.NotZero(t, l.Prior.ClaimFloor)
	assert.GreaterOrEqual(t, len(l.Notes), 2, "notes about one family and few groups")

	names, left = simulated(r, 5, 0)
	writeSplit(t, other, "wing", "all", "gp", names, left)

	l, err = Learn(context.Background(), []string{dir, other}, "lab")
	require.NoError(t, err)
	assert.Equal(t, "wide", l.Like)
	assert.Equal(t, 5, l.Groups)
	assert.Zero(t, l.Prior.ClaimFloor)
	assert.Contains(t, l.Notes[0], "1 calibration of networks left aside")
}

// What a run publishes is what its scale was learned from. Witness: the evidence and the
// posterior in honest.json, from the groups as they were before they were written.
func TestPublishedGroups(t *testing.T) {
	dir := t.TempDir()
	rows := "run,blades,angle,thrust_1,thrust_2,torque_1,torque_2\n"
	r := rand.New(rand.NewPCG(6, 5))

	for i := range 40 {
		b := float64(2 + i%5)
		a := float64(i / 5 % 4)
		rows += fmt.Sprintf("r%d,%g,%g", i, b, a)
		for range 4 {
			rows += fmt.Sprintf(",%.4f", b*math.Sqrt(1+a)+0.1*r.NormFloat64())
		}
		rows += "\n"
	}

	config := `version: 1
kernels: portable
experiments:
  rotor:
    ingest: {table: {file: rotor.csv, inputs: [blades, angle], run: run}}
    train:
      inputs: [blades, angle]
      model: {hidden: [4]}
      optimizer: {epochs: 2}
      seeds: 1
      splits: {b3: {test: {blades: 3}}}
`
	err := pipelinetest.Run(dir, map[string]string{"rotor.csv": rows, "pipeline.yaml": config}, pipeline.Options{Jobs: 1})
	require.NoError(t, err)

	folder := filepath.Join(dir, "runs", "rotor", "splits", "b3")
	m, err := honest.Read(filepath.Join(folder, honest.File))
	require.NoError(t, err)

	tab, err := table.Read(filepath.Join(folder, leftout.File))
	require.NoError(t, err)

	left, err := leftout.Read(tab)
	require.NoError(t, err)
	require.Equal(t, 2, left.Outcomes)
	require.Equal(t, []string{"2", "4", "5", "6"}, left.Names)

	for key, want := range map[string]string{
		"experiment": "rotor", "split": "b3", "held_out": "blades = 3", "data": "measured", "condition": "blades",
		"base": "gp",
	} {
		assert.Equal(t, want, tab.Get(key), "%s is", key)
	}

	want := m.Calibration.Scale
	got, _ := scale.Learn(left.Groups, left.Outcomes, want.Prior, scale.Exact)
	assert.InDelta(t, want.LogEvidence, got.LogEvidence, 1e-9)
	assert.InDelta(t, want.M, got.M, 1e-9)
	assert.NotEqual(t, 1.0, want.Noise.Scale)

	tab.Columns[3].Floats[2] = math.NaN()
	_, err = leftout.Read(tab)
	assert.ErrorContains(t, err, "found NaN in row 2")
}
