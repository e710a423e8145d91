package stages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/report/pairs"
)

const labelled = "file,rpm,propeller,comment\na.npy,3000,APC,\nb.npy,4000,HQ,loud\n"

// section returns the YAML of the section dsp with the section train after it.
func section(dsp, train string) string { return dsp + "\n    train: " + train }

// Only columns of text by which rows are split or grouped are carried into the tables and into the keys of tasks.
// Without such a split the keys equal the keys of a table without text.
func TestLabelsThatAreCarried(t *testing.T) {
	x := npyFile(count(100, 1))
	files := map[string]string{"a.npy": x, "b.npy": x, "c.csv": labelled}
	const ingest = "{files: [a.npy, b.npy], conditions: c.csv, rate_hz: 1000}"
	ingested := func(table, splits string) *ingestedFile {
		files["c.csv"] = table
		return planFiles(t, files, ingest, section("{triplets: split-half-spectrum}", "{inputs: [rpm], splits: "+splits+"}"))
	}

	keys := func(b *ingestedFile) string {
		var out []string
		for _, task := range b.Tasks.Plan.Tasks {
			out = append(out, fmt.Sprint(task.ID, task.Config, task.Local))
		}

		return strings.Join(out, "\n")
	}

	bare := ingested("file,rpm\na.npy,3000\nb.npy,4000\n", "{s: {test: {rpm: 3000}}}")
	unused := ingested(labelled, "{s: {test: {rpm: 3000}}}")
	assert.Equal(t, keys(bare), keys(unused), "keys with text that no split uses, and without text")
	assert.Empty(t, unused.Labels)

	for _, splits := range []string{
		"{each: propeller}", "{s: {test: {propeller: HQ, rpm: 4000}}}",
		"{s: {test: {rpm: 3000}}}, honest: {groups: propeller}",
	} {
		b := ingested(labelled, splits)
		require.Equal(t, []string{"propeller"}, b.Labels, splits)
		require.Equal(t, []string{"propeller", "comment"}, b.Texts, splits)
		require.Equal(t, []string{"rpm"}, b.Conditions, splits)

		assert.Contains(t, keys(b), "{label propeller 1 HQ}", splits)
		assert.NotContains(t, keys(b), "loud", "%s: a comment that is no label", splits)

		names, err := b.Names("propeller")
		require.NoError(t, err)
		assert.Equal(t, []string{"APC", "HQ"}, names, "names of propellers")

		known, _ := b.Known.Strings("propeller")
		assert.Equal(t, "[APC HQ]", fmt.Sprint(known), "known names of propellers")

		res, err := read(b, 1, nil)
		require.NoError(t, err)

		assert.Equal(t, "map[propeller:HQ]", fmt.Sprint(res.Runs[0].Run.Recordings[0].Labels), "labels")
	}

	each := section("{triplets: split-half-spectrum}", "{inputs: [rpm], splits: {each: comment}}")
	refused(t, files, ingest, each, "line 2, column comment: expected a name of at most 100 bytes, by which rows are "+
		"grouped, found an empty cell")

	files["c.csv"] = "file,rpm,unit\na.npy,3000,A\nb.npy,4000,B\n"
	refused(t, files, ingest, strings.ReplaceAll(each, "comment", "unit"), `"unit" cannot name a condition`)
}

// Names come from the names of files, and from columns of a table of pairs.
func TestLabelsOfNamesAndTables(t *testing.T) {
	x := npyFile(count(100, 1))
	b := planFiles(t, map[string]string{"west-3000.npy": x, "east-3000.npy": x},
		`{files: "*.npy", pattern: "{rig:text}-{rpm}.npy", rate_hz: 1000}`,
		section("{triplets: split-half-spectrum}", "{inputs: [rpm], splits: {each: rig}}"))
	names, err := b.Names("rig")
	require.NoError(t, err)
	assert.Equal(t, []string{"east", "west"}, names, "names of rigs")

	table := "propeller,rpm,y_1,y_2\nAPC,3000,1,2\nHQ,3000,3,4\n"
	b = planFiles(t, map[string]string{"west.csv": table, "east.csv": strings.ReplaceAll(table, "3000", "4000")},
		`{table: {file: "*.csv"}, pattern: "{rig:text}.csv"}`,
		section("{}", "{inputs: [rpm], splits: {a: {each: propeller}, b: {each: rig}}}"))
	require.Equal(t, []string{"rig", "propeller"}, b.Labels, "labels %v, conditions %v", b.Labels, b.Conditions)
	require.Equal(t, []string{"rpm"}, b.Conditions, "labels %v, conditions %v", b.Labels, b.Conditions)

	refused(t, map[string]string{"HQ.csv": table}, `{table: {file: "*.csv"}, pattern: "{propeller:text}.csv"}`,
		section("{}", "{inputs: [rpm], splits: {each: propeller}}"), "column propeller: expected a condition that is given "+
			"once, found it in the name of the file or the table of conditions too")

	rig, ok := value(b.Tasks.Plan.Tasks[0].Local, "west.csv: rig")
	require.True(t, ok, "the task's key must have the rig: %v", b.Tasks.Plan.Tasks[0].Local)
	assert.Equal(t, "west", rig)

	p, err := b.Pairs.Read()
	require.NoError(t, err)

	trip, recs := pairs.TabulateRuns(p, "", []string{"east.csv", "west.csv"}, []string{"1", "2"})
	for name, want := range map[string]string{"rig": "[east east west west]", "propeller": "[APC HQ APC HQ]"} {
		for _, c := range []*string{&trip.Column(name).Description, &recs.Column(name).Description} {
			assert.Equal(t, pairs.LabelText, *c, "description")
		}

		assert.Equal(t, want, fmt.Sprint(trip.Column(name).Strings), "%v", name)
	}

	names, err = b.Names("propeller")
	require.NoError(t, err)
	assert.Equal(t, []string{"APC", "HQ"}, names, "names of propellers")
}

// The run of a recording comes from a column of the table of conditions, which is called run or named by the
// configuration, or from the name of the file. It is a number or a name, and no condition. The table of conditions, and
// a file that is called like a glob, are not recordings.
func TestNamedRuns(t *testing.T) {
	x := npyFile(count(100, 1))
	// "*" also matches the log, which must not become a recording: case own-table.
	for _, c := range []struct{ name, log, ingest, want string }{
		{"numbers", "file,rpm,run\na1,3000,7\nb2,4000,8\n", "conditions: c.csv", "7 8"},
		{"names", "file,rpm,Lauf\na1,3000,1A\nb2,4000,2\n", "conditions: c.csv, run: Lauf", "1A 2"},
		{"files", "file,rpm\na1,3000\nb2,4000\n", "conditions: c.csv", "a1.npy b2.npy"},
		{"names of files", "", `pattern: "{_}{run}.npy", constants: {rpm: 3000}`, "1 2"},
		{"text in names of files", "", `pattern: "{run:text}.npy", constants: {rpm: 3000}`, "a1 b2"},
	} {
		files := map[string]string{"a1.npy": x, "b2.npy": x, "c.csv": c.log, "take [x].npy": x}
		glob := `"*"`
		if c.log == "" {
			glob, files["c.csv"] = `"*.npy"`, "x"
		}

		b := planFiles(t, files, "{files: "+glob+", exclude: [\"take [x].npy\"], rate_hz: 1000, "+c.ingest+"}",
			"{triplets: split-half-spectrum}")
		require.Equal(t, []string{"rpm"}, b.Conditions,
			"%s: conditions %v, texts %v, %d files", c.name, b.Conditions, b.Texts, len(b.Recordings.Files))
		require.Empty(t, b.Texts,
			"%s: conditions %v, texts %v, %d files", c.name, b.Conditions, b.Texts, len(b.Recordings.Files))
		assert.Len(t, b.Recordings.Files, 2,
			"%s: conditions %v, texts %v, %d files", c.name, b.Conditions, b.Texts, len(b.Recordings.Files))

		var got []string
		for i := range b.Recordings.Files {
			res, err := read(b, i, nil)
			require.NoError(t, err)

			tab := &table.Table{}
			res.AddRows(tab, b.Columns.Cells)
			got = append(got, tab.Column("run").Strings...)
		}

		assert.Equal(t, c.want, strings.Join(got, " "), "%s: runs", c.name)
	}
}

// A configuration is refused if it names a column that does not exist, or that holds no names.
func TestRolesOfNoColumn(t *testing.T) {
	x := npyFile(count(100, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "c.csv": "file,rpm,Day,wing\na,3000,Mon,12\nb,4000,Tue,15\n",
		"t.csv": "x,Day,y\n1,Mon,2\n1,Tue,3\n",
	}
	const dsp, log = "{triplets: split-half-spectrum}", "{files: \"*.npy\", conditions: c.csv, rate_hz: 1000, "
	refused(t, files, log+"things: [wings]}", dsp, `ingest.things: "wings" is not a column of names of this experiment, `+
		`which has [Day wing]`)
	refused(t, files, log+"occasions: [day]}", dsp, `did you mean "Day"?`)
	refused(t, files, log+"run: Dya}", dsp, `ingest.run: "Dya" is not among what names and tables state, which is [rpm `+
		`Day wing]`)
	refused(t, files, "{table: {file: t.csv, inputs: [x], repeats: [y], pairs: {across: Tag}}}", "{}",
		`ingest.table.across: "Tag" is not a column of names of this experiment, which has [Day]`)

	// Digits are names where a column is one of things.
	b := planFiles(t, files, log+"things: [wing]}", dsp)
	require.Equal(t, []string{"wing"}, b.Labels, "labels %v, conditions %v", b.Labels, b.Conditions)
	assert.Equal(t, []string{"rpm"}, b.Conditions, "labels %v, conditions %v", b.Labels, b.Conditions)
}

// Names in expressions of conditions and outcomes, of recordings and of the rows of a table. What an expression
// names is a column of names in the tables.
func TestNamesInExpressions(t *testing.T) {
	x := npyFile(count(100, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "c.csv": labelled,
		"t.csv": "propeller,rpm,y_1,y_2\nAPC,3000,1,2\nHQ,3000,3,4\n",
	}

	const derive = `derive: {apc: "propeller == 'APC' ? rpm : 0"}`
	b := planFiles(t, files, "{files: [a.npy, b.npy], conditions: c.csv, rate_hz: 1000, "+derive+"}",
		"{triplets: split-half-spectrum}")
	got := fmt.Sprint(b.Labels, b.Conditions, b.Known[0].Numbers["apc"], b.Known[1].Numbers["apc"])
	assert.Equal(t, "[propeller] [rpm apc] 3000 0", got, "conditions")

	res, err := read(b, 0, nil)
	require.NoError(t, err)
	assert.Equal(t, 3000.0, res.Runs[0].Run.Recordings[0].Conditions["apc"])

	b = planFiles(t, files, "{table: {file: t.csv, inputs: [rpm]}, "+strings.TrimSuffix(derive, "}")+
		`, z: 'propeller != "HQ" ? y : -y'}}`, "{}")
	p, err := b.Pairs.Read()
	require.NoError(t, err)

	got = fmt.Sprint(p.Inputs, p.X, p.Outcomes, p.Y1, p.Texts)
	assert.Equal(t, "[rpm apc] [[3000 3000] [3000 0]] [y z] [[1 3] [1 -3]] [[APC HQ]]", got, "table")

	refused(t, files, `{table: {file: t.csv, inputs: [rpm]}, derive: {apc: "2*propeller"}}`, "{}",
		`ingest.derive.apc: "2*propeller", character 3: propeller has names, no numbers`)
}
