package trainstage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/condition"
	"doubletake/ingest/table"
	"doubletake/internal/testfile"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Five runs of a rotor at six conditions; y is 10 times the number of the row.
const rotor = `
run recording rpm[1/min] blades y_1[dB] y_2[dB]
a   a#1       1000       2      10      11
a   a#2       1000       3      20      22
b   b#1       2000       2      30      33
c   c#1       3000       2      40      44
d   d#1       4000       3      50      55
e   e#1       5000       4      60      66`

// rotorTrain is a section train of one split that is not used.
const rotorTrain = "{inputs: [rpm, blades], seeds: 1, splits: {s: {test: {rpm: 1}}}}"

// splitBy splits the triplets in tab by the rule that YAML states.
func splitBy(t *testing.T, tab *table.Table, train, rule string) (triplets.Set, error) {
	t.Helper()
	text := strings.Replace(train, "{rpm: 1}", rule, 1)
	b := stagetest.New(t, text, tab)
	set, err := Triplets(b.Experiment, tab)
	require.NoError(t, err)

	return Split(b.Experiment, set, tab, b.Train.Splits[0])
}

// The rows that hold the rule are the test part: of values, ranges with one or two
// sides, and values with a tolerance; of several conditions all must hold.
func TestSplitRules(t *testing.T) {
	tab := stagetest.Table(rotor)
	for _, c := range []struct {
		rule string
		test []int
	}{
		{"{blades: 3}", []int{1, 4}},
		{"{blades: [3, 4]}", []int{1, 4, 5}},
		{"{rpm: {min: 3000}}", []int{3, 4, 5}},
		{"{rpm: {max: 2000}}", []int{0, 1, 2}},
		{"{rpm: {min: 2000, max: 3000}}", []int{2, 3}},
		{"{rpm: {near: 2500, within: 500}}", []int{2, 3}},
		{"{rpm: {near: 2500, within: 499.9}}", nil},
		{"{rpm: {min: 3000}, blades: 3}", []int{4}},
		{"{blades: 3, rpm: [1000, 2000]}", []int{1}},
		{"{rpm: 1000.0000001}", []int{0, 1}}, // a number that went through text
		{"{rpm: 1000.001}", nil},
	} {
		set, err := splitBy(t, tab, rotorTrain, c.rule)
		if c.test == nil {
			if err == nil || !strings.Contains(err.Error(), "holds for none of the 6 triplets: the test set would be empty") {
				t.Errorf("%s: %v", c.rule, err)
			}
			continue
		}

		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}

		if got := set.RowsOf(triplets.Test); !slices.Equal(got, c.test) {
			t.Errorf("%s: rows %v are held out, expected %v", c.rule, got, c.test)
		}

		assert.Len(t, set.RowsOf(triplets.Train), 6-len(c.test), "%s: rows of training", c.rule)
	}
}

// Set points that only the files tell are those of the rows: by hand the second and the last run
// are 3000, for splits and groups alike. What is known before is known with the plan.
func TestSplitAtSetPoints(t *testing.T) {
	tab := stagetest.Table(`
run recording rpm[1/min] y_1[dB] y_2[dB]
a   a#1       2400       10      11
b   b#1       2994       20      22
c   c#1       2408.4     30      33
d   d#1       1200       40      44
e   e#1       3008       50      55`)
	b := stagetest.New(t, "{inputs: [rpm], splits: {s: {test: {rpm: 2999}}}}", tab)
	b.Ingest.Tolerances = []config.NamedString{{Name: "rpm", Value: "0.5 %"}}
	plan.Points{}.AddSetPoints(b.Ingest.Tolerances, tab)

	set, err := Triplets(b.Experiment, tab)
	require.NoError(t, err)

	set, err = Split(b.Experiment, set, tab, b.Train.Splits[0])
	require.NoError(t, err)

	if held := set.RowsOf(triplets.Test); !slices.Equal(held, []int{1, 4}) {
		t.Errorf("rows %v are held out", held)
	}

	if want := []float64{2400, 3000, 2400, 1200, 3000}; !slices.Equal(set.SetPoints, want) || set.X[1] != 2994 {
		t.Errorf("set points %v of %v", set.SetPoints, set.X)
	}

	groups, err := coordinates(tab, "rpm", nil)
	require.NoError(t, err)
	assert.Equal(t, set.SetPoints, groups, "groups at %v, %v", groups, err)
}

// A random share of the conditions has all rows of its conditions.
func TestSplitRandom(t *testing.T) {
	b := stagetest.New(t, "{inputs: [blades], splits: {s: {test: {random: 0.5}}}}", stagetest.Table(rotor))
	planned, err := Plan(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)

	_, set, err := SplitTable(b.Experiment, stagetest.Table(rotor), planned.Splits[0])
	require.NoError(t, err)

	held, rest := set.Of(triplets.Test).Values(0), set.Of(triplets.Train).Values(0)
	require.Len(t, held, 2, "%v of 2, 3 and 4 blades are held out, %v trained on", held, rest)
	require.Len(t, rest, 1, "%v of 2, 3 and 4 blades are held out, %v trained on", held, rest)
	assert.False(t, slices.Contains(held, rest[0]), "%v of 2, 3 and 4 blades are held out, %v trained on", held, rest)
}

// The scale is that of the training part alone, y1 and y2 together. Expected by
// hand: with 3 and 4 blades held out 10, 11, 30, 33, 40, 44 remain, mean 28, sum of
// squares 18²+17²+2²+5²+12²+16² = 1042.
func TestSplitScale(t *testing.T) {
	tab := stagetest.Table(rotor)
	set, err := splitBy(t, tab, rotorTrain, "{blades: {min: 3}}")
	require.NoError(t, err)

	require.Equal(t, 28.0, set.Scale.Mean[0], "%+v", set.Scale)
	assert.InDelta(t, math.Sqrt(1042.0/6), set.Scale.Std[0], 1e-12, "%+v", set.Scale)

	own := strings.Replace(rotorTrain, "seeds: 1", "seeds: 1, standardise: false", 1)
	set, err = splitBy(t, tab, own, "{blades: {min: 3}}")
	require.NoError(t, err)

	require.Equal(t, 0.0, set.Scale.Mean[0], "without standardise: %+v", set.Scale)
	assert.Equal(t, 1.0, set.Scale.Std[0], "without standardise: %+v", set.Scale)

	assert.Equal(t, []float64{22, 55, 66}, set.Of(triplets.Test).Y2, "the test part")
}

// A split with an empty side is an error at its place, with the values to choose
// from.
func TestSplitEmptySide(t *testing.T) {
	tab := stagetest.Table(rotor)
	for _, c := range []struct{ rule, want string }{
		{"{blades: 7}", "pipeline.yaml:6:55: experiments.x.train.splits.s: blades = 7 holds for none of the 6 triplets: " +
			"the test set would be empty; blades is one of 2, 3, 4"},
		{"{rpm: {max: 5000}}", "holds for all 6 triplets: the training set would be empty; hold out less"},
		// Each of the two holds somewhere, both nowhere: no values to choose from.
		{"{blades: 4, rpm: 1000}", "the test set would be empty\n"},
	} {
		_, err := splitBy(t, tab, rotorTrain, c.rule)
		require.Error(t, err, "%s:\n%v\nexpected %q", c.rule, err, c.want)
		assert.Contains(t, err.Error()+"\n", c.want, "%s:\n%v\nexpected %q", c.rule, err, c.want)
	}

	var many strings.Builder
	many.WriteString("run recording rpm[1/min] blades y_1[dB] y_2[dB]\n")

	for i := range 13 {
		fmt.Fprintf(&many, "r r %d 2 1 2\n", 100*i)
	}

	_, err := splitBy(t, stagetest.Table(many.String()), rotorTrain, "{rpm: 7}")
	assert.ErrorContains(t, err, "; rpm lies in 0 … 1200")

	_, err = splitBy(t, tab, rotorTrain, "{pitch: 7}")
	assert.ErrorContains(t, err, "pitch")
}

// The outcomes are all pairs of columns, or those that the experiment names.
func TestOutcomesChosen(t *testing.T) {
	tab := stagetest.Table(`
run recording rpm lift_1[N] lift_2[N] drag_1[N] drag_2[N]
a   a         1   10        11        1         2
b   b         2   20        21        3         4`)

	for _, c := range []struct {
		outcomes string
		want     []string
		y2       []float64
		fault    string
	}{
		{"", []string{"lift", "drag"}, []float64{11, 2, 21, 4}, ""},
		{", outcomes: [drag]", []string{"drag"}, []float64{2, 4}, ""},
		{", outcomes: [drag, lift]", []string{"drag", "lift"}, []float64{2, 11, 4, 21}, ""},
		{", outcomes: [drga]", nil, nil, `experiments.x.train.outcomes: "drga" is not an outcome of this experiment, ` +
			`which has [lift drag]; did you mean "drag"?`},
	} {
		b := stagetest.New(t, "{inputs: [rpm]"+c.outcomes+", splits: {s: {test: {rpm: 1}}}}", tab)
		set, err := Triplets(b.Experiment, tab)
		if c.fault != "" {
			require.Error(t, err, "%v\nexpected %s", err, c.fault)
			assert.Contains(t, err.Error(), c.fault, "%v\nexpected %s", err, c.fault)
			continue
		}

		if err != nil || !slices.Equal(set.OutcomeNames(), c.want) || !slices.Equal(set.Y2, c.y2) {
			t.Errorf("outcomes%s: %v, %v, %v", c.outcomes, set.OutcomeNames(), set.Y2, err)
		}

		require.Equal(t, "N", set.Outcomes[0].Unit, "%+v, couples %v", set.Outcomes, set.Couples)
		assert.False(t, set.Couples, "%+v, couples %v", set.Outcomes, set.Couples)
	}

	b := stagetest.New(t, "{inputs: [rpm], splits: {s: {test: {rpm: 1}}}}", tab)
	b.DSP.Couples = true
	if set, err := Triplets(b.Experiment, tab); err != nil || !set.Couples {
		t.Errorf("couples: %v, %v", set.Couples, err)
	}
}

// known returns an experiment of a campaign of recordings, which knows its conditions
// before any file is read.
func known(t *testing.T, train string, conditions []string, rows ...[]float64) *stagetest.Experiment {
	t.Helper()
	b := stagetest.New(t, train, nil)
	b.Ingest.Table, b.Ing.Conditions = nil, conditions
	for _, r := range rows {
		c := map[string]float64{}
		for k, v := range r {
			c[conditions[k]] = v
		}

		b.Ing.Known = append(b.Ing.Known, condition.Values{Numbers: c})
	}

	return b
}

// Splits and inputs that cannot work are reported while planning, at their place.
func TestCheckSplits(t *testing.T) {
	conditions := []string{"rpm", "blades"}

	rows := [][]float64{{1000, 2}, {2000, 2}, {3000, 2}, {1000, 3}}
	for _, c := range []struct{ train, want string }{
		{"{inputs: [rpm], splits: {s: {test: {blades: 3}}}}", ""},
		{"{inputs: [rmp], splits: {s: {test: {blades: 3}}}}", "pipeline.yaml:6:13: experiments.x.train.inputs: " +
			`"rmp" is not a condition of this experiment, which has rpm, blades; did you mean "rpm"?`},
		{"{inputs: [rpm], splits: {s: {test: {blade: 3}}}}", `experiments.x.train.splits.s.test.blade: "blade" is not a ` +
			`condition of this experiment, which has rpm, blades; did you mean "blades"?`},
		{"{inputs: [rpm], splits: {s: {test: {blades: 5}}}}", "blades = 5 holds for none of the 4 conditions: the test set " +
			"would be empty; blades is one of 2, 3"},
		{"{inputs: [rpm], splits: {s: {test: {blades: {min: 2}}}}}", "blades ≥ 2 holds for all 4 conditions: the training " +
			"set would be empty"},
		{"{inputs: [rpm, blades], splits: {s: {test: {blades: 3}}}}", `experiments.x.train.inputs: "blades" is constant ` +
			`(2) in the training set of split "s"`},
		{"{inputs: [rpm], splits: {ok: {test: {blades: 3}}, bad: {test: {rpm: 7}}}}", "experiments.x.train.splits.bad"},
	} {
		err := checked(known(t, c.train, conditions, rows...))
		require.Equal(t, c.want == "", err == nil, "%s:\n%v\nexpected %s", c.train, err, c.want)
		assert.False(t, err != nil && !strings.Contains(err.Error(), c.want), "%s:\n%v\nexpected %s", c.train, err, c.want)
	}

	// A condition that only the files state, such as a measured speed, is not judged.
	b := known(t, "{inputs: [rpm], splits: {s: {test: {blades: 9}}}}", conditions, rows...)
	delete(b.Ing.Known[2].Numbers, "blades")

	require.NoError(t, checked(b))

	if err := checked(known(t, "{inputs: [rpm], splits: {s: {test: {blades: 9}}}}", conditions)); err != nil {
		t.Error("nothing is known before the files are read:", err)
	}
}

// A batch that the file sets must not exceed the training set; the default may.
func TestCheckBatch(t *testing.T) {
	b := stagetest.New(t, "{inputs: [rpm], optimizer: {batch: 32}, splits: {s: {test: {rpm: 1}}}}", nil)
	split := b.Train.Splits[0]
	err := checkBatch(b.Experiment, split, 31)
	if err == nil || !strings.Contains(err.Error(), "pipeline.yaml:6:40: experiments.x.train.optimizer.batch: "+
		`expected up to 31 triplets, which the training set of split "s" has, found 32`) {
		t.Error(err)
	}

	require.NoError(t, checkBatch(b.Experiment, split, 32))

	silent := stagetest.New(t, "{inputs: [rpm], splits: {s: {test: {rpm: 1}}}}", nil)
	if err := checkBatch(silent.Experiment, split, 5); err != nil {
		t.Errorf("the default batch of %d: %v", silent.Train.Optimizer.Batch, err)
	}
}

func checked(b *stagetest.Experiment) error { return CheckSplits(b.Experiment, b.Ing, b.Train.Splits) }

// days simulates y at twelve x on four days with an offset each; outcomes of the days named are 1e6.
func days(spoiled ...string) *table.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("run recording x y_1[N] y_2[N]\n")

	for x := range 12 {
		y := map[string]float64{}
		names := []string{"Mon", "Tue", "Wed", "Thu"}
		for k, d := range names {
			y[d] = float64(x*x+k) + rng.NormFloat64()
			if slices.Contains(spoiled, d) {
				y[d] = 1e6
			}
		}

		for k, d := range names {
			fmt.Fprintf(&text, "Day=%s x=%d %d %g %g\n", d, x, x, y[d], y[names[(k+1)%4]])
		}
	}

	tab := stagetest.Table(text.String())
	tab.Columns = append(tab.Columns, table.Column{Name: "Day"})
	for _, r := range tab.Column("run").Strings {
		tab.Columns[5].Strings = append(tab.Columns[5].Strings, strings.TrimPrefix(r, "Day="))
	}

	return tab
}

// acrossDays is an experiment of such a table, whose repeats are paired across days.
func acrossDays(t *testing.T, train string, tab *table.Table) *stagetest.Experiment {
	b := stagetest.New(t, train, tab)
	b.Ingest.Table.Across = "Day"
	b.Ing.Labels, b.Ing.Texts = []string{"Day"}, []string{"Day"}

	return b
}

// What is trained on without a day does not know its outcomes: set to 1e6, they change no byte.
func TestDaysThatAreLeftOut(t *testing.T) {
	const section = "{inputs: [x], seeds: 1, model: {hidden: [8]}, optimizer: {epochs: 5}, " +
		"estimate: {samples: 4}, compare: [constant, gp], splits: {s: {test: {Day: Mon}}}}"

	content := func(tab *table.Table) (out []string) {
		b := acrossDays(t, section, tab)
		_, err := Plan(b.Experiment, b.Ing, b.Trip)
		require.NoError(t, err)

		output, err := b.Run(context.Background(), nil)
		require.NoError(t, err)

		for _, o := range [][2]string{
			{TrainID(b.Experiment, "s", 0), "model.json"},
			{MethodID(b.Experiment, "s", "constant", 0), MethodArrow},
			{MethodID(b.Experiment, "s", "gp", 0), MethodArrow},
		} {
			text := testfile.Read(t, output(o[0], o[1]))

			out = append(out, string(text))
		}

		return out
	}

	assert.Equal(t, content(days("Mon")), content(days()), "outcomes of the held-out day are known")
}

// A group that is left out in turn lends no second values, neither to what is trained without it nor to its
// own judgement, nor does a day that an inner split leaves aside. The rest is paired across days.
func TestDaysThatAreLeftOutInTurn(t *testing.T) {
	b := acrossDays(t, "{inputs: [x], seeds: 1, splits: {s: {test: {Day: Mon}}}}", days("Tue"))
	tab, set, err := SplitTable(b.Experiment, days("Tue"), b.Train.Splits[0])
	require.NoError(t, err)

	groups, err := coordinates(tab, "Day", holdout.Distinct(tab.Column("Day").Strings))
	require.NoError(t, err)

	spoiled := func(values []float64) (n int) {
		for _, y := range values {
			if y == 1e6 {
				n++
			}
		}

		return n
	}

	learner := honest.Learner{Settings: b.Train.Honest, Condition: "Day"}
	learner.Labels = true
	g := learner.Grouping(groups)
	set.Group = g.Group
	test := make([]bool, set.N)
	for _, i := range set.RowsOf(triplets.Test) {
		test[i] = true
	}

	var seen []int
	_, held := g.LeaveOneOut(test)
	for _, h := range held {
		data := set.Select(h.Rest)
		seen = append(seen, spoiled(data.Y1), spoiled(data.Y2))
		assert.False(t, slices.Equal(data.Y1, data.Y2), "the others are not paired across days")
	}

	if want := []int{12, 12, 0, 0, 12, 12}; !slices.Equal(seen, want) { // without Thu, Tue, Wed
		t.Errorf("outcomes of Tue in trainings without Thu, Tue and Wed, first and second: %v, want %v", seen, want)
	}

	inner := config.Split{Name: "inner", Ignored: holdout.Labels("Day", "Tue"), Test: holdout.Values("x", 3)}
	_, set, err = SplitTable(b.Experiment, days("Tue"), inner)
	require.NoError(t, err)

	assert.LessOrEqual(t, spoiled(set.Y2), 0, "a day that takes no part lends second values")
}
