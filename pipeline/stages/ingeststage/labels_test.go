package ingeststage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

const labelled = "file,rpm,propeller,comment\na.npy,3000,APC,\nb.npy,4000,HQ,loud\n"

// section adds a section train to one in YAML.
func section(dsp, train string) string { return dsp + "\n    train: " + train }

// The tables have the columns of text by which splits or groups are, and these alone are in the
// keys; without such a split the keys are those of a table without text.
func TestLabelsThatAreCarried(t *testing.T) {
	x := npy(count(100, 1))
	files := map[string]string{"a.npy": x, "b.npy": x, "c.csv": labelled}
	const ingest = "{files: [a.npy, b.npy], conditions: c.csv, rate_hz: 1000}"
	of := func(table, splits string) *ingested {
		files["c.csv"] = table
		return planned(t, files, ingest, section("{triplets: split-half-spectrum}", "{inputs: [rpm], splits: "+splits+"}"))
	}

	keys := func(b *ingested) string {
		var out []string
		for _, task := range b.Tasks.Plan.Tasks {
			out = append(out, fmt.Sprint(task.ID, task.Config, task.Local))
		}

		return strings.Join(out, "\n")
	}

	bare := of("file,rpm\na.npy,3000\nb.npy,4000\n", "{s: {test: {rpm: 3000}}}")
	if other := of(labelled, "{s: {test: {rpm: 3000}}}"); keys(other) != keys(bare) || len(other.Labels) != 0 {
		t.Errorf("%s\nexpected, as without text,\n%s", keys(other), keys(bare))
	}

	for _, splits := range []string{
		"{each: propeller}", "{s: {test: {propeller: HQ, rpm: 4000}}}",
		"{s: {test: {rpm: 3000}}}, honest: {groups: propeller}",
	} {
		b := of(labelled, splits)
		if !slices.Equal(b.Labels, []string{"propeller"}) || !slices.Equal(b.Texts, []string{"propeller", "comment"}) ||
			!slices.Equal(b.Conditions, []string{"rpm"}) {
			t.Fatalf("%s: labels %v of %v, conditions %v", splits, b.Labels, b.Texts, b.Conditions)
		}

		if got := keys(b); !strings.Contains(got, "{label propeller 1 HQ}") || strings.Contains(got, "loud") {
			t.Errorf("%s: %s", splits, got)
		}

		if names := b.Names("propeller"); !slices.Equal(names, []string{"APC", "HQ"}) {
			t.Errorf("%v", names)
		}

		if got, _ := b.Known.Strings("propeller"); fmt.Sprint(got) != "[APC HQ]" {
			t.Error(got)
		}

		res, err := read(b, 1, nil)
		must.Do(t, err)

		must.Equal(t, fmt.Sprint(res.Runs[0].Run.Recordings[0].Labels), "map[propeller:HQ]", "labels")
	}

	const each = "{triplets: split-half-spectrum}\n    train: {inputs: [rpm], splits: {each: comment}}"
	refused(t, files, ingest, each, "line 2, column comment: expected a name of at most 100 bytes, by which rows are "+
		"grouped, found an empty cell")

	files["c.csv"] = "file,rpm,unit\na.npy,3000,A\nb.npy,4000,B\n"
	refused(t, files, ingest, strings.ReplaceAll(each, "comment", "unit"), `"unit" cannot name a condition`)
}

// The names in files' names, and those in columns of a table of pairs.
func TestLabelsOfNamesAndTables(t *testing.T) {
	x := npy(count(100, 1))
	b := planned(t, map[string]string{"west-3000.npy": x, "east-3000.npy": x},
		`{files: "*.npy", pattern: "{rig:text}-{rpm}.npy", rate_hz: 1000}`,
		section("{triplets: split-half-spectrum}", "{inputs: [rpm], splits: {each: rig}}"))
	if names := b.Names("rig"); !slices.Equal(names, []string{"east", "west"}) {
		t.Errorf("%v", names)
	}

	table := "propeller,rpm,y_1,y_2\nAPC,3000,1,2\nHQ,3000,3,4\n"
	b = planned(t, map[string]string{"west.csv": table, "east.csv": strings.ReplaceAll(table, "3000", "4000")},
		`{table: {file: "*.csv"}, pattern: "{rig:text}.csv"}`,
		section("{}", "{inputs: [rpm], splits: {each: [propeller, rig]}}"))
	must.Never(t, !slices.Equal(b.Labels, []string{"rig", "propeller"}) || !slices.Equal(b.Conditions, []string{"rpm"}),
		"labels %v, conditions %v", b.Labels, b.Conditions)

	refused(t, map[string]string{"HQ.csv": table}, `{table: {file: "*.csv"}, pattern: "{propeller:text}.csv"}`,
		section("{}", "{inputs: [rpm], splits: {each: propeller}}"), "column propeller: expected a condition that is given "+
			"once, found it in the name of the file or the table of conditions too")

	if v, ok := value(b.Tasks.Plan.Tasks[0].Local, "west.csv: rig"); !ok || v != "west" {
		t.Errorf("key %v", b.Tasks.Plan.Tasks[0].Local)
	}

	p := readTables(b.Pairs.Files, b.Pairs.Options)

	trip, recs := pairTables(p, "", []string{"east.csv", "west.csv"}, []string{"1", "2"})
	for name, want := range map[string]string{"rig": "[east east west west]", "propeller": "[APC HQ APC HQ]"} {
		for _, c := range []*string{&trip.Column(name).Description, &recs.Column(name).Description} {
			must.Equal(t, *c, plan.LabelText, "description")
		}

		must.Equal(t, fmt.Sprint(trip.Column(name).Strings), want, "%v", name)
	}

	if names := b.Names("propeller"); !slices.Equal(names, []string{"APC", "HQ"}) {
		t.Errorf("%v", names)
	}
}

// The run of a recording by a column of the table of conditions, called run or named, by a number or a
// name, and by the name of the file; it is no condition. The table of conditions, and a file called like
// a glob, are no recordings.
func TestNamedRuns(t *testing.T) {
	x := npy(count(100, 1))
	for _, c := range []struct{ name, log, ingest, want string }{ // "*" matches the log too: case own-table
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

		b := planned(t, files, "{files: "+glob+", exclude: [\"take [x].npy\"], rate_hz: 1000, "+c.ingest+"}",
			"{triplets: split-half-spectrum}")
		must.Not(t, !slices.Equal(b.Conditions, []string{"rpm"}) || len(b.Texts) > 0 || len(b.Recordings.Files) != 2,
			"%s: conditions %v, texts %v, %d files", c.name, b.Conditions, b.Texts, len(b.Recordings.Files))

		var got []string
		for i := range b.Recordings.Files {
			res, err := read(b, i, nil)
			must.Do(t, err)

			tab := &table.Table{}
			addToIndex(tab, b.Columns, res)
			got = append(got, tab.Column("run").Strings...)
		}

		must.Equal(t, strings.Join(got, " "), c.want, "%s: runs", c.name)
	}
}

// Columns that the configuration calls by names that are none.
func TestRolesOfNoColumn(t *testing.T) {
	x := npy(count(100, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "c.csv": "file,rpm,Day,wing\na,3000,Mon,12\nb,4000,Tue,15\n",
		"t.csv": "x,Day,y\n1,Mon,2\n1,Tue,3\n",
	}
	const dsp, log = "{triplets: split-half-spectrum}", "{files: \"*.npy\", conditions: c.csv, rate_hz: 1000, "
	refused(t, files, log+"things: [wings]}", dsp, `ingest.things: "wings" is not a column of names of this experiment, `+
		`which has [Day]`)
	refused(t, files, log+"occasions: [day]}", dsp, `did you mean "Day"?`)
	refused(t, files, log+"run: Dya}", dsp, `ingest.run: "Dya" is not among what names and tables state, which is [rpm `+
		`wing Day]`)
	refused(t, files, "{table: {file: t.csv, inputs: [x], repeats: [y], pairs: {across: Tag}}}", "{}",
		`ingest.table.across: "Tag" is not a column of names of this experiment, which has [Day]`)

	// Digits are names where a column is one of things.
	b := planned(t, files, log+"things: [wing]}", dsp)
	must.Not(t, !slices.Equal(b.Labels, []string{"wing"}) || !slices.Equal(b.Conditions, []string{"rpm"}),
		"labels %v, conditions %v", b.Labels, b.Conditions)
}

// Names in expressions of conditions and outcomes, of recordings and of the rows of a table. What an expression
// names is a column of names in the tables.
func TestNamesInExpressions(t *testing.T) {
	x := npy(count(100, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "c.csv": labelled,
		"t.csv": "propeller,rpm,y_1,y_2\nAPC,3000,1,2\nHQ,3000,3,4\n",
	}

	const derive = `derive: {apc: "propeller == 'APC' ? rpm : 0"}`
	b := planned(t, files, "{files: [a.npy, b.npy], conditions: c.csv, rate_hz: 1000, "+derive+"}",
		"{triplets: split-half-spectrum}")
	got := fmt.Sprint(b.Labels, b.Conditions, b.Known[0].Numbers["apc"], b.Known[1].Numbers["apc"])
	must.Equal(t, got, "[propeller] [rpm apc] 3000 0", "conditions")

	if res, err := read(b, 0, nil); err != nil || res.Runs[0].Run.Recordings[0].Conditions["apc"] != 3000 {
		t.Error(res, err)
	}

	b = planned(t, files, "{table: {file: t.csv, inputs: [rpm]}, "+strings.TrimSuffix(derive, "}")+
		`, z: 'propeller != "HQ" ? y : -y'}}`, "{}")
	p := readTables(b.Pairs.Files, b.Pairs.Options)

	got = fmt.Sprint(p.Inputs, p.X, p.Outcomes, p.Y1, p.Texts)
	must.Equal(t, got, "[rpm apc] [[3000 3000] [3000 0]] [y z] [[1 3] [1 -3]] [[APC HQ]]", "table")

	refused(t, files, `{table: {file: t.csv, inputs: [rpm]}, derive: {apc: "2*propeller"}}`, "{}",
		`ingest.derive.apc: "2*propeller", character 3: propeller has names, no numbers`)
}
