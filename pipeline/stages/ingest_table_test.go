package stages

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/campaign"
	"doubletake/report/pairs"
)

// A table of pairs gives its triplets and an index of its runs. Expected: the
// table's own numbers.
func TestReadPairs(t *testing.T) {
	files := map[string]string{"p.csv": "run,rpm,level_1,level_2\nr1,3000,1,2\nr1,3000,3,4\nr2,4000,5,6\n"}
	b := planFiles(t, files, `{table: {file: p.csv, run: run, units: {rpm: 1/min, level: dB}}}`, `{}`)
	assert.Equal(t, "x/ingest/p.csv", ids(b), "tasks")

	assert.Equal(t, []string{"rpm"}, b.Conditions)
	assert.Equal(t, "same-run", b.PairKind)
	assert.Nil(t, b.Construction, "a table has no construction of pairs")
	assert.Nil(t, b.Recordings, "a table has no recordings")

	p, err := campaign.ReadTables(b.Pairs.Files, b.Pairs.Options)
	require.NoError(t, err)

	trip, recs := pairs.TabulateRuns(p, "", []string{"p.csv"}, []string{"sum"})
	require.Equal(t, 3, trip.Rows(), "triplets")
	require.Equal(t, 2, recs.Rows(), "runs")

	for name, want := range map[string][]float64{"rpm": {3000, 3000, 4000}, "level_1": {1, 3, 5}, "level_2": {2, 4, 6}} {
		found, err := trip.Floats(name)
		require.NoError(t, err)
		assert.Equal(t, want, found, name)
	}

	assert.Equal(t, "dB", trip.Column("level_1").Unit)
	assert.Equal(t, []int64{2, 1}, recs.Column("pairs").Ints, "pairs of the runs")
	assert.Equal(t, "sum", recs.Column("sha256").Strings[1])

	rpm, err := recs.Floats("rpm")
	require.NoError(t, err)
	assert.Equal(t, []float64{3000, 4000}, rpm, "speeds of the runs")

	refused(t, map[string]string{"p.csv": "rpm,level_1\n1,2\n"}, `{table: p.csv}`, `{}`, "p.csv")
}

// Each setting that a table is read with is a part of the key of its task: with another value, the task runs again.
func TestSettingsOfTableAreKeys(t *testing.T) {
	const csv = "alpha,prop,day,session,cl\n1,APC,a,m,1\n1,apc,b,m,2\n1,APC,b,n,3\n2,APC,a,m,1\n2,APC,a,n,1\n"
	const train = "{inputs: [alpha], splits: {s: {test: {prop: APC}}, d: {test: {day: a}}}}"
	key := func(ingest string) string {
		b := planFiles(t, map[string]string{"t.csv": csv}, ingest, section("{}", train))
		task := b.Tasks.Plan.Tasks[0]

		return fmt.Sprint(task.Config, task.Local)
	}

	plain := key("{table: {file: t.csv, inputs: [alpha], repeats: [cl]}}")
	for _, setting := range []string{
		"spellings: {apc: APC}", "occasions: [day]", "things: [prop]", "missing: [-999]", "within: {alpha: 0.5}",
		"exclude: [{alpha: 2}]", "text: {delimiter: comma}", "run: session", "log: {decimal: comma}",
	} {
		changed := key("{table: {file: t.csv, inputs: [alpha], repeats: [cl]}, " + setting + "}")
		assert.NotEqual(t, plain, changed, setting)
	}
}

// Pairs across days: the second value is of another day where the condition was measured on two, else of the same
// day, and that of a row alone its own. By hand.
func TestPairsAcross(t *testing.T) {
	files := map[string]string{"t.csv": "x,y,Day\n1,10,Mon\n1,11,Mon\n1,12,Mon\n1,13,Tue\n2,20,Mon\n2,21,Mon\n3,30,Tue\n"}
	b := planFiles(t, files, "{table: {file: t.csv, inputs: [x], repeats: [y], pairs: {across: Day}}}", "{}")
	p, err := b.Pairs.Read()
	require.NoError(t, err)

	trip, recs := pairs.TabulateRuns(p, b.Pairs.Options.Across, []string{"t.csv"}, []string{"sum"})
	assert.Equal(t, []float64{13, 13, 13, 11, 21, 20, 30}, trip.Column("y_2").Floats, "second values")
	assert.Equal(t, 2, recs.Rows(), "runs: the days")
}
