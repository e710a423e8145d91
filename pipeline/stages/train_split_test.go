package stages

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/testfile"
	"doubletake/pipeline/config"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rotor is a table of five runs at six conditions. y_1 is 10 times the number of the row, from 1.
const rotor = `
run recording rpm[1/min] blades y_1[dB] y_2[dB]
a   a#1       1000       2      10      11
a   a#2       1000       3      20      22
b   b#1       2000       2      30      33
c   c#1       3000       2      40      44
d   d#1       4000       3      50      55
e   e#1       5000       4      60      66`

// rotorTrain is a section train with one split, whose rule splitBy replaces.
const rotorTrain = "{inputs: [rpm, blades], seeds: 1, splits: {s: {test: {rpm: 1}}}}"

// splitBy splits the triplets in tab by a rule in YAML.
func splitBy(t *testing.T, tab *table.Table, train, rule string) (triplets.Set, error) {
	t.Helper()

	text := strings.Replace(train, "{rpm: 1}", rule, 1)
	b := newStageTest(t, text, tab)
	set, err := dividerOf(b.Experiment).Triplets(tab, nil)
	require.NoError(t, err)

	set, err = dividerOf(b.Experiment).Divide(set, tab, b.Train.Splits[0])

	return set, b.Located("train", err)
}

// The rows that meet the rule are the test part. A rule has values, ranges with one or two ends, or values with a
// tolerance. A row must meet the rules of all conditions. The expected rows were chosen by hand.
func TestSplitRules(t *testing.T) {
	tab := tabletest.MustParse(t, rotor)
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
		{"{rpm: {min: 3000}, blades: 3}", []int{4}},
		{"{blades: 3, rpm: [1000, 2000]}", []int{1}},
		{"{rpm: 1000.0000001}", []int{0, 1}}, // a number that went through text
	} {
		set, err := splitBy(t, tab, rotorTrain, c.rule)
		require.NoError(t, err, "%s", c.rule)
		assert.Equal(t, c.test, set.RowsOf(triplets.Test), "%s: test rows", c.rule)
		assert.Len(t, set.RowsOf(triplets.Train), 6-len(c.test), "%s: training rows", c.rule)
	}

	for _, rule := range []string{"{rpm: {near: 2500, within: 499.9}}", "{rpm: 1000.001}"} {
		_, err := splitBy(t, tab, rotorTrain, rule)
		assert.ErrorContains(t, err, "selects none of the 6 triplets, which leaves nothing to test on", "%s", rule)
	}
}

// Set points that were not known while planning are found in the rows. 2994 and 3008 are at the set point 3000, and
// 2400 and 2408.4 at 2400. The rule 2999 lies within 0.5 % of 3000. Splits and groups use the set points, inputs do
// not.
func TestSplitAtSetPoints(t *testing.T) {
	tab := tabletest.MustParse(t, `
run recording rpm[1/min] y_1[dB] y_2[dB]
a   a#1       2400       10      11
b   b#1       2994       20      22
c   c#1       2408.4     30      33
d   d#1       1200       40      44
e   e#1       3008       50      55`)
	b := newStageTest(t, "{inputs: [rpm], splits: {s: {test: {rpm: 2999}}}}", tab)
	b.Ingest.Tolerances = []config.NamedString{{Name: "rpm", Value: "0.5 %"}}
	require.NoError(t, pairs.AddSetPoints(tab, b.Ingest.Tolerances, nil))

	set, err := dividerOf(b.Experiment).Triplets(tab, nil)
	require.NoError(t, err)

	set, err = dividerOf(b.Experiment).Divide(set, tab, b.Train.Splits[0])
	require.NoError(t, err)

	assert.Equal(t, []int{1, 4}, set.RowsOf(triplets.Test))
	assert.Equal(t, []float64{2400, 3000, 2400, 1200, 3000}, set.SetPoints)
	assert.Equal(t, []float64{2400, 2994, 2408.4, 1200, 3008}, set.X)

	groups, err := experiment.Coordinates(pairs.AtSetPoints{Table: tab}, "rpm", nil)
	require.NoError(t, err)
	assert.Equal(t, set.SetPoints, groups, "values of the groups")
}

// A random split holds out all rows of the conditions that it draws: half of three conditions are two.
func TestSplitRandom(t *testing.T) {
	b := newStageTest(t, "{inputs: [blades], splits: {s: {test: {random: 0.5}}}}", tabletest.MustParse(t, rotor))
	planned, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)

	_, set, err := dividerOf(b.Experiment).DivideTable(tabletest.MustParse(t, rotor), planned.Splits[0])
	require.NoError(t, err)

	held := set.Only(triplets.Test).Values(0)
	rest := set.Only(triplets.Train).Values(0)
	assert.Len(t, held, 2, "numbers of blades that are held out")
	assert.ElementsMatch(t, []float64{2, 3, 4}, slices.Concat(held, rest))
}

// The scale comes from y1 and y2 of the training part. If 3 and 4 blades are held out, 10, 11, 30, 33, 40 and 44
// remain. By hand, their mean is 28, and the sum of squares 18² + 17² + 2² + 5² + 12² + 16² = 1042.
func TestSplitScale(t *testing.T) {
	tab := tabletest.MustParse(t, rotor)
	set, err := splitBy(t, tab, rotorTrain, "{blades: {min: 3}}")
	require.NoError(t, err)

	assert.Equal(t, 28.0, set.Scale.Mean[0])
	assert.InDelta(t, math.Sqrt(1042.0/6), set.Scale.Std[0], 1e-12)
	assert.Equal(t, []float64{22, 55, 66}, set.Only(triplets.Test).Y2, "the test part is not scaled")

	own := strings.Replace(rotorTrain, "seeds: 1", "seeds: 1, standardise: false", 1)
	set, err = splitBy(t, tab, own, "{blades: {min: 3}}")
	require.NoError(t, err)

	assert.Equal(t, 0.0, set.Scale.Mean[0], "without standardise")
	assert.Equal(t, 1.0, set.Scale.Std[0], "without standardise")
}

// A split whose test or training set would be empty is an error at its place. The error lists the values that a rule of
// one condition could have.
func TestSplitEmptySide(t *testing.T) {
	tab := tabletest.MustParse(t, rotor)
	for _, c := range []struct{ rule, want string }{
		{"{blades: 7}", "pipeline.yaml:6:55: experiments.x.train.splits.s: blades = 7 selects none of the 6 triplets, " +
			"which leaves nothing to test on; blades is one of 2, 3, 4"},
		{"{rpm: {max: 5000}}", "selects all 6 triplets, which leaves nothing to train on; hold out fewer"},
		// Rows meet each of the two rules, but no row meets both: the error lists no values.
		{"{blades: 4, rpm: 1000}", "leaves nothing to test on\n"},
	} {
		_, err := splitBy(t, tab, rotorTrain, c.rule)
		require.Error(t, err, "%s", c.rule)
		assert.Contains(t, err.Error()+"\n", c.want, "%s", c.rule)
	}

	var many strings.Builder
	many.WriteString("run recording rpm[1/min] blades y_1[dB] y_2[dB]\n")

	for i := range 13 {
		fmt.Fprintf(&many, "r r %d 2 1 2\n", 100*i)
	}

	_, err := splitBy(t, tabletest.MustParse(t, many.String()), rotorTrain, "{rpm: 7}")
	assert.ErrorContains(t, err, "; rpm lies in 0 … 1200")

	_, err = splitBy(t, tab, rotorTrain, "{pitch: 7}")
	assert.ErrorContains(t, err, "pitch")
}

// loads is a table of two runs with two outcomes.
const loads = `
run recording rpm lift_1[N] lift_2[N] drag_1[N] drag_2[N]
a   a         1   10        11        1         2
b   b         2   20        21        3         4`

// The outcomes are all pairs of columns, or the ones that the experiment names, in its order.
func TestOutcomesChosen(t *testing.T) {
	tab := tabletest.MustParse(t, loads)
	for _, c := range []struct {
		setting string
		want    []string
		y2      []float64
	}{
		{"", []string{"lift", "drag"}, []float64{11, 2, 21, 4}},
		{", outcomes: [drag]", []string{"drag"}, []float64{2, 4}},
		{", outcomes: [drag, lift]", []string{"drag", "lift"}, []float64{2, 11, 4, 21}},
	} {
		b := newStageTest(t, "{inputs: [rpm]"+c.setting+", splits: {s: {test: {rpm: 1}}}}", tab)
		set, err := dividerOf(b.Experiment).Triplets(tab, nil)
		require.NoError(t, err, "%q", c.setting)
		assert.Equal(t, c.want, set.OutcomeNames(), "%q", c.setting)
		assert.Equal(t, c.y2, set.Y2, "%q", c.setting)
		assert.Equal(t, "N", set.Outcomes[0].Unit, "%q", c.setting)
		assert.False(t, set.Couples, "%q", c.setting)
	}
}

// An outcome that the table does not have is an error at its key.
func TestOutcomeUnknown(t *testing.T) {
	tab := tabletest.MustParse(t, loads)
	b := newStageTest(t, "{inputs: [rpm], outcomes: [drga], splits: {s: {test: {rpm: 1}}}}", tab)
	_, err := dividerOf(b.Experiment).Triplets(tab, nil)
	assert.ErrorContains(t, b.Located("train", err), `experiments.x.train.outcomes: "drga" is not an outcome of this `+
		`experiment, which has [lift drag]; did you mean "drag"?`)
}

// The setting couples is a property of the set.
func TestCouples(t *testing.T) {
	tab := tabletest.MustParse(t, loads)
	b := newStageTest(t, "{inputs: [rpm], splits: {s: {test: {rpm: 1}}}}", tab)
	b.DSP.Couples = true
	divider := dividerOf(b.Experiment)
	set, err := divider.Triplets(tab, nil)
	require.NoError(t, err)
	assert.True(t, set.Couples)

	divider.Inputs = nil // nothing is trained, and the report shows the conditions
	set, err = divider.Triplets(tab, []string{"rpm"})
	require.NoError(t, err)
	assert.True(t, set.Couples)
}

// An outcome that is constant in the rows of an inner split remains an outcome there, because the inner split is
// compared in the scale of its outer split.
func TestOutcomesOfInnerSplit(t *testing.T) {
	tab := tabletest.MustParse(t, "run recording rpm lift_1[N] lift_2[N] drag_1[N] drag_2[N]\n"+
		"a a 1 10 11 5 6\nb b 2 20 21 7 7\nc c 3 30 31 7 7\nd d 4 40 41 7 7\n")
	b := newStageTest(t, "{inputs: [rpm], splits: {s: {test: {rpm: 1}}}}", tab)
	inner := config.Split{Name: "inner", Ignored: holdout.Values("rpm", 1), Test: holdout.Values("rpm", 2)}
	for _, split := range []config.Split{b.Train.Splits[0], inner} {
		_, set, err := dividerOf(b.Experiment).DivideTable(tab, split)
		require.NoError(t, err, split.Name)
		assert.Equal(t, []string{"lift", "drag"}, set.OutcomeNames(), split.Name)
	}
}

// known returns an experiment of a campaign of recordings, whose conditions are known before any file is read.
func known(t *testing.T, train string, conditions []string, rows ...[]float64) *stageTest {
	t.Helper()

	b := newStageTest(t, train, nil)
	b.Ingest.Table = nil
	b.Ing.Conditions = conditions
	for _, row := range rows {
		numbers := map[string]float64{}
		for k, v := range row {
			numbers[conditions[k]] = v
		}

		b.Ing.Known = append(b.Ing.Known, condition.Values{Numbers: numbers})
	}

	return b
}

// fourRows returns an experiment with four conditions of a rotor that are known before any file is read.
func fourRows(t *testing.T, train string) *stageTest {
	t.Helper()

	return known(t, train, []string{"rpm", "blades"}, []float64{1000, 2}, []float64{2000, 2}, []float64{3000, 2},
		[]float64{1000, 3})
}

// Splits and inputs that cannot work are reported while planning, at their place.
func TestCheckSplitsErrors(t *testing.T) {
	for _, c := range []struct{ train, want string }{
		{"{inputs: [rmp], splits: {s: {test: {blades: 3}}}}", "pipeline.yaml:6:13: experiments.x.train.inputs: " +
			`"rmp" is not a condition of this experiment, which has rpm, blades; did you mean "rpm"?`},
		{"{inputs: [rpm], splits: {s: {test: {blade: 3}}}}", `experiments.x.train.splits.s.test.blade: "blade" is not a ` +
			`condition of this experiment, which has rpm, blades; did you mean "blades"?`},
		{"{inputs: [rpm], splits: {s: {test: {blades: 5}}}}", "blades = 5 selects none of the 4 conditions, which leaves " +
			"nothing to test on; blades is one of 2, 3"},
		{"{inputs: [rpm], splits: {s: {test: {blades: {min: 2}}}}}", "blades ≥ 2 selects all 4 conditions, which leaves " +
			"nothing to train on"},
		{"{inputs: [rpm, blades], splits: {s: {test: {blades: 3}}}}", `experiments.x.train.inputs: "blades" is constant ` +
			`(2) in the training set of split "s"`},
		{"{inputs: [rpm], splits: {ok: {test: {blades: 3}}, bad: {test: {rpm: 7}}}}", "experiments.x.train.splits.bad"},
	} {
		assert.ErrorContains(t, checked(fourRows(t, c.train)), c.want, "%s", c.train)
	}
}

// A split that works is accepted. So is a split by a condition that only the files state, such as a measured speed,
// because nothing shows yet that it cannot work.
func TestCheckSplitsAccepted(t *testing.T) {
	require.NoError(t, checked(fourRows(t, "{inputs: [rpm], splits: {s: {test: {blades: 3}}}}")))

	const nine = "{inputs: [rpm], splits: {s: {test: {blades: 9}}}}"
	oneUnknown := fourRows(t, nine)
	delete(oneUnknown.Ing.Known[2].Numbers, "blades")
	require.NoError(t, checked(oneUnknown), "the blades of one row are unknown")
	require.NoError(t, checked(known(t, nine, []string{"rpm", "blades"})), "all conditions are unknown")
}

// A batch that the file sets must not exceed the training set; the default may. The error has the place in the file.
func TestBatchOfTheFile(t *testing.T) {
	b := newStageTest(t, "{inputs: [rpm], optimizer: {batch: 32}, splits: {s: {test: {rpm: 1}}}}", nil)
	assert.True(t, settingsOf(b.Experiment).BatchStated)

	err := &setting.Error{Key: "optimizer.batch", Text: "expected up to 31 triplets"}
	assert.ErrorContains(t, b.Experiment.Located("train", err),
		"pipeline.yaml:6:40: experiments.x.train.optimizer.batch: expected up to 31 triplets")

	silent := newStageTest(t, "{inputs: [rpm], splits: {s: {test: {rpm: 1}}}}", nil)
	assert.False(t, settingsOf(silent.Experiment).BatchStated)
}

// checked calls checkSplits for an experiment.
func checked(b *stageTest) error { return checkSplits(b.Experiment, b.Ing, b.Train.Splits) }

// weekdays are the days of the table of days.
var weekdays = []string{"Mon", "Tue", "Wed", "Thu"}

// spoiledOutcome is an outcome that no day has by itself.
const spoiledOutcome = 1e6

// days simulates y at twelve x on four days. Each day has an offset of its own, and the second outcome of a day is the
// first of the next day. The outcomes of the spoiled days are spoiledOutcome.
func days(t *testing.T, spoiled ...string) *table.Table {
	t.Helper()

	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("run recording x y_1[N] y_2[N]\n")

	for x := range 12 {
		y := make([]float64, len(weekdays))
		for k, day := range weekdays {
			y[k] = float64(x*x+k) + rng.NormFloat64()
			if slices.Contains(spoiled, day) {
				y[k] = spoiledOutcome
			}
		}

		for k, day := range weekdays {
			fmt.Fprintf(&text, "Day=%s x=%d %d %g %g\n", day, x, x, y[k], y[(k+1)%len(weekdays)])
		}
	}

	tab := tabletest.MustParse(t, text.String())
	tab.Columns = append(tab.Columns, table.Column{Name: "Day"})
	for _, r := range tab.Column("run").Strings {
		tab.Columns[5].Strings = append(tab.Columns[5].Strings, strings.TrimPrefix(r, "Day="))
	}

	return tab
}

// acrossDays returns an experiment of a table of days, whose repeats are paired across days.
func acrossDays(t *testing.T, train string, tab *table.Table) *stageTest {
	t.Helper()

	b := newStageTest(t, train, tab)
	b.Ingest.Table.Across = "Day"
	b.Ing.Labels = []string{"Day"}
	b.Ing.Texts = []string{"Day"}

	return b
}

// trainedWithoutMonday trains a network and two methods on the days of a table except Monday, and returns their files.
func trainedWithoutMonday(t *testing.T, tab *table.Table) []string {
	t.Helper()

	b := acrossDays(t, "{inputs: [x], seeds: 1, model: {hidden: [8]}, optimizer: {epochs: 5}, "+
		"estimate: {samples: 4}, compare: [constant, gp], splits: {s: {test: {Day: Mon}}}}", tab)
	_, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)

	output, err := b.Run(context.Background(), nil)
	require.NoError(t, err)

	return []string{
		string(testfile.Read(t, output(TrainID(b.Experiment, "s", 0), "model.json"))),
		string(testfile.Read(t, output(MethodID(b.Experiment, "s", "constant", 0), MethodArrow))),
		string(testfile.Read(t, output(MethodID(b.Experiment, "s", "gp", 0), MethodArrow))),
	}
}

// A model that is trained without a day does not know the outcomes of the day: other outcomes of Monday give the same
// files, byte for byte.
func TestDaysThatAreHeldOut(t *testing.T) {
	assert.Equal(t, trainedWithoutMonday(t, days(t)), trainedWithoutMonday(t, days(t, "Mon")))
}

// dayOf returns the day that measured each value, which the table of days has as a first outcome.
func dayOf(t *testing.T, tab *table.Table, values []float64) []string {
	t.Helper()

	var measured []string
	for _, v := range values {
		row := slices.Index(tab.Column("y_1").Floats, v)
		require.GreaterOrEqual(t, row, 0, "the value %g is an outcome of the table", v)
		measured = append(measured, tab.Column("Day").Strings[row])
	}

	return measured
}

// A day that is left out in turn gives no value to the training without it. The values of the other days stay paired
// across days. If the left-out day is judged, both values of its rows are its own.
func TestDaysThatAreLeftOutInTurn(t *testing.T) {
	tab := days(t)
	b := acrossDays(t, "{inputs: [x], seeds: 1, splits: {s: {test: {Day: Mon}}}}", tab)
	tab, set, err := dividerOf(b.Experiment).DivideTable(tab, b.Train.Splits[0])
	require.NoError(t, err)

	names := holdout.Distinct(tab.Column("Day").Strings)
	groups, err := experiment.Coordinates(pairs.AtSetPoints{Table: tab}, "Day", names)
	require.NoError(t, err)

	learner := honest.Learner{Settings: b.Train.Honest, Condition: "Day", Names: names}
	learner.Labels = true
	grouping := learner.Grouping(groups)
	isTest := make([]bool, set.N)
	for _, row := range set.RowsOf(triplets.Test) {
		isTest[row] = true
	}

	_, held := grouping.LeaveOneOut(isTest)
	require.Len(t, held, 3, "Tuesday, Wednesday and Thursday")
	for _, group := range held {
		day := names[group.Group]
		training := set.Select(group.Rest)
		first := dayOf(t, tab, training.Y1)
		second := dayOf(t, tab, training.Y2)
		assert.NotContains(t, first, day, "first values without %s", day)
		assert.NotContains(t, second, day, "second values without %s", day)
		for i := range first {
			assert.NotEqual(t, first[i], second[i], "days of the values of a pair without %s", day)
		}

		judged := set.Select(group.Rows)
		assert.Equal(t, slices.Repeat([]string{day}, judged.N), dayOf(t, tab, judged.Y1), "first values of %s", day)
		assert.Equal(t, slices.Repeat([]string{day}, judged.N), dayOf(t, tab, judged.Y2), "second values of %s", day)
	}
}

// A day that an inner split ignores gives no value to the other rows.
func TestDayThatIsIgnored(t *testing.T) {
	tab := days(t)
	b := acrossDays(t, "{inputs: [x], seeds: 1, splits: {s: {test: {Day: Mon}}}}", tab)
	inner := config.Split{Name: "inner", Ignored: holdout.Labels("Day", "Tue"), Test: holdout.Values("x", 3)}
	_, set, err := dividerOf(b.Experiment).DivideTable(tab, inner)
	require.NoError(t, err)

	for _, values := range [][]float64{set.Y1, set.Y2} {
		measured := dayOf(t, tab, values)
		for _, day := range weekdays {
			assert.Equal(t, day != "Tue", slices.Contains(measured, day), "%s among %v", day, measured)
		}
	}
}

// Without a training, the report shows the pairs across days too.
func TestPairsAcrossWithoutInputs(t *testing.T) {
	tab := days(t)
	divider := dividerOf(acrossDays(t, "{inputs: [x], seeds: 1, splits: {s: {test: {Day: Mon}}}}", tab).Experiment)
	trained, err := divider.Triplets(tab, nil)
	require.NoError(t, err)

	divider.Inputs = nil
	set, err := divider.Triplets(tab, []string{"x"})
	require.NoError(t, err)
	assert.Equal(t, trained.Y2, set.Y2)
	assert.Equal(t, trained.Alone, set.Alone)
}
