package trainstage

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/pipeline/table"
	"doubletake/train/honest/interval"
)

// propellers are names whose order is that of their numbers 1, 2, ….
var propellers = []string{"APC-8x6", "Gemfan 5x4", "HQ/5x4", "Master"}

// byPropeller simulates pairs of four propellers at five speeds, an offset each; the
// propellers are names, or numbers.
func byPropeller(names bool) *table.Table {
	rng := rand.New(rand.NewPCG(8, 1))
	var text strings.Builder
	text.WriteString("run recording rpm propeller y_1 y_2\n")

	for p := range propellers {
		offset := rng.NormFloat64()
		for k := range 5 {
			y := offset + float64(k*k)/10
			fmt.Fprintf(&text, "r%d-%d r%d-%d %d %d %.4f %.4f\n", p, k, p, k, 1000*k, p+1, y+rng.NormFloat64()/10,
				y+rng.NormFloat64()/10)
		}
	}

	t := stagetest.Table(text.String())
	if c := t.Column("propeller"); names {
		for _, v := range c.Floats {
			c.Strings = append(c.Strings, propellers[int(v)-1])
		}

		c.Floats = nil
	}

	return t
}

// labelledBy is an experiment on such pairs that knows their conditions.
func labelledBy(t *testing.T, train string, tab *table.Table) *stagetest.Experiment {
	t.Helper()

	b := stagetest.New(t, train, tab)
	for i := range tab.Rows() {
		known, labels := map[string]float64{"rpm": tab.Column("rpm").Floats[i]}, map[string]string{}
		if c := tab.Column("propeller"); c.Strings != nil {
			b.Ing.Labels, b.Ing.Texts = []string{"propeller"}, []string{"propeller"}
			labels["propeller"] = c.Strings[i]
		} else {
			known["propeller"] = c.Floats[i]
		}

		b.Ing.Known, b.Ing.KnownLabels = append(b.Ing.Known, known), append(b.Ing.KnownLabels, labels)
	}

	return b
}

// Names give the groups and the intervals that numbers without distances give: the witness is the
// setting labels. A name is held out by name, or groups are left out where something else is.
func TestNamesAreNumbersWithoutDistances(t *testing.T) {
	const settings = "{inputs: [rpm], seeds: 1, model: {hidden: [4]}, optimizer: {epochs: 3}, members: 2, " +
		"estimate: {samples: 4}, compare: [gp], honest: {base: %s, methods: %t%s}, splits: {%s}}"
	for i, c := range []struct {
		base         string
		methods      bool
		names, other string // splits
		groups       string
	}{
		{
			"gp", false, "s: {test: {propeller: [HQ/5x4, Master]}}, f: {test: none}",
			"s: {test: {propeller: [3, 4]}}, f: {test: none}", "",
		},
		{"gp", true, "each: propeller", "each: propeller", ""},
		{"gp-refit", false, "each: propeller, f: {test: none}", "each: propeller, f: {test: none}", ""},
		{"gp-refit", false, "s: {test: {rpm: 2000}}", "s: {test: {rpm: 2000}}", ", groups: propeller"},
		{"ensemble", false, "each: propeller", "each: propeller", ""},
	} {
		t.Run(c.base+", "+c.names, func(t *testing.T) {
			if i > 0 && os.Getenv("DOUBLETAKE_LONG") == "" {
				t.Skip("trains models without each group; DOUBLETAKE_LONG=1 runs it")
			}

			results := func(names bool, splits, extra string) (out []string) {
				b := labelledBy(t, fmt.Sprintf(settings, c.base, c.methods, extra, splits), byPropeller(names))
				r, err := Plan(b.Experiment, b.Ing, b.Trip)
				if err != nil {
					t.Fatal(err)
				}

				output, err := b.Run(context.Background(), nil)
				if err != nil {
					t.Fatal(err)
				}

				add := func(x any) {
					text, err := json.Marshal(x)
					if err != nil {
						t.Fatal(err)
					}

					s := string(text)
					for p, n := range propellers {
						s = strings.ReplaceAll(s, fmt.Sprintf(`"group":"%d"`, p+1), fmt.Sprintf(`"group":"%s"`, n))
					}

					out = append(out, s)
				}

				for _, s := range r.Splits {
					h, err := ReadHonest(output(HonestID(b.Experiment, s.Name), HonestData))
					if err != nil {
						t.Fatal(err)
					}

					if h.Absent != "" || h.Calibration.Kind != interval.Labels || h.Calibration.Groups[0].Distance != 1 {
						t.Fatalf("%s: %s, %+v", s.Name, h.Absent, h.Calibration)
					}

					add(h.Calibration)
					add(h.Record)

					if c.methods {
						var m interval.Result
						if err := plan.ReadJSON(output(CrossID(b.Experiment, s.Name, "gp", 0), CrossJSON), &m); err != nil {
							t.Fatal(err)
						}

						add(m)
					}
				}

				return out
			}

			named := results(true, c.names, c.groups)
			numbered := results(false, c.other, c.groups+", labels: true")
			if !slices.Equal(named, numbered) {
				t.Errorf("%s, %s:\n%v\nexpected, as of numbers,\n%v", c.base, c.names, named, numbered)
			}
		})
	}
}

// Splits and settings that names cannot have are errors at their place.
func TestLabelErrors(t *testing.T) {
	for _, c := range []struct{ train, want string }{
		{"{inputs: [rpm], splits: {each: propeller}}", ""},
		{"{inputs: [rpm], splits: {s: {test: {propeller: Master, rpm: 4000}}}}", ""},
		{"{inputs: [rpm], splits: {all: {each: propeller, blocks: 2}}}", "splits.all.blocks: propeller is a column of text"},
		{"{inputs: [rpm], splits: {each: propeller, again: {each: propeller}}}", `two splits are named "propeller=APC-8x6"`},
		{"{inputs: [rpm], splits: {s: {test: {propeller: Mastr}}}}", "propeller = Mastr holds for none of the 20 " +
			"conditions: the test set would be empty; propeller is one of APC-8x6, Gemfan 5x4, HQ/5x4, Master"},
		{"{inputs: [rpm], splits: {s: {test: {propeller: 3}}}}", "splits.s.test.propeller: propeller is a column of " +
			"text: expected names, found numbers"},
		{"{inputs: [rpm], splits: {s: {test: {propeller: {min: 3}}}}}", "expected names, found numbers"},
		{"{inputs: [rpm], splits: {s: {test: {rpm: fast}}}}", "splits.s.test.rpm: rpm is a condition of numbers: " +
			"expected a number, found names (rpm = fast)"},
		{"{inputs: [rpm, propeller], splits: {s: {test: {rpm: 0}}}}", `train.inputs: "propeller" is a column of text, and ` +
			"only numbers can be used here; as groups its names are held out with splits: {each: propeller}"},
		{"{inputs: [rpm], honest: {blocks: 3}, splits: {each: propeller}}", "train.honest.blocks: propeller is a column of " +
			"text"},
		{"{inputs: [rpm], honest: {groups: propellr}, splits: {s: {test: {rpm: 0}}}}", "train.honest.groups: \"propellr\" " +
			"is not a condition of this experiment, which has rpm; did you mean \"propeller\"?"},
	} {
		b := labelledBy(t, c.train, byPropeller(true))
		_, err := Plan(b.Experiment, b.Ing, b.Trip)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nexpected %s", c.train, err, c.want)
		}
	}
}
