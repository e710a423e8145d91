package ingeststage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/stages/plan"
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

		if names, err := b.Names("propeller"); err != nil || !slices.Equal(names, []string{"APC", "HQ"}) {
			t.Errorf("%v, %v", names, err)
		}

		if got := fmt.Sprint(b.KnownLabels); got != "[map[propeller:APC] map[propeller:HQ]]" {
			t.Error(got)
		}

		res, err := read(b, 1, nil)
		if err != nil {
			t.Fatal(err)
		}

		if got := fmt.Sprint(res.Runs[0].Run.Recordings[0].Labels); got != "map[propeller:HQ]" {
			t.Error(got)
		}
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
	if names, err := b.Names("rig"); err != nil || !slices.Equal(names, []string{"east", "west"}) {
		t.Errorf("%v, %v", names, err)
	}

	table := "propeller,rpm,y_1,y_2\nAPC,3000,1,2\nHQ,3000,3,4\n"
	b = planned(t, map[string]string{"west.csv": table, "east.csv": strings.ReplaceAll(table, "3000", "4000")},
		`{table: {file: "*.csv"}, pattern: "{rig:text}.csv"}`,
		section("{}", "{inputs: [rpm], splits: {each: [propeller, rig]}}"))
	if !slices.Equal(b.Labels, []string{"rig", "propeller"}) || !slices.Equal(b.Conditions, []string{"rpm"}) {
		t.Fatalf("labels %v, conditions %v", b.Labels, b.Conditions)
	}

	refused(t, map[string]string{"HQ.csv": table}, `{table: {file: "*.csv"}, pattern: "{propeller:text}.csv"}`,
		section("{}", "{inputs: [rpm], splits: {each: propeller}}"), "column propeller: expected a condition that is given "+
			"once, found it in the name of the file or the table of conditions too")

	if v, ok := value(b.Tasks.Plan.Tasks[0].Local, "west.csv: rig"); !ok || v != "west" {
		t.Errorf("key %v", b.Tasks.Plan.Tasks[0].Local)
	}

	p, err := b.Pairs.read()
	if err != nil {
		t.Fatal(err)
	}

	trip, recs := PairTables(p, []string{"east.csv", "west.csv"}, []string{"1", "2"})
	for name, want := range map[string]string{"rig": "[east east west west]", "propeller": "[APC HQ APC HQ]"} {
		for _, c := range []*string{&trip.Column(name).Description, &recs.Column(name).Description} {
			if *c != plan.LabelText {
				t.Error(*c)
			}
		}

		if got := fmt.Sprint(trip.Column(name).Strings); got != want {
			t.Errorf("%s: %s, expected %s", name, got, want)
		}
	}

	if names, err := b.Names("propeller"); err != nil || !slices.Equal(names, []string{"APC", "HQ"}) {
		t.Errorf("%v, %v", names, err)
	}
}
