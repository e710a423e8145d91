package trainstage

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"doubletake/ingest/condition"
	"doubletake/ingest/table"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

		b.Ing.Known = append(b.Ing.Known, condition.Values{Numbers: known, Names: labels})
	}

	return b
}

// Names give the groups and the intervals that numbers without distances give: the witness is the
// setting labels. A name is held out by name, or groups are left out where something else is.
func TestNamesAreNumbersWithoutDistances(t *testing.T) {
	const settings = "{inputs: [rpm], seeds: 1, model: {hidden: [4]}, optimizer: {epochs: 3}, members: 2, " +
		"estimate: {samples: 4}, honest: {base: %s%s}, splits: {%s}}"
	for i, c := range []struct {
		base         string
		names, other string // splits
		groups       string
	}{
		{
			"gp", "s: {test: {propeller: [HQ/5x4, Master]}}, f: {test: none}",
			"s: {test: {propeller: [3, 4]}}, f: {test: none}", "",
		},
		{"gp", "each: propeller", "each: propeller", ""},
		{"ensemble", "s: {test: {rpm: 2000}}", "s: {test: {rpm: 2000}}", ", groups: propeller"},
		{"ensemble", "each: propeller, f: {test: none}", "each: propeller, f: {test: none}", ""},
	} {
		t.Run(c.base+", "+c.names, func(t *testing.T) {
			if i > 0 && os.Getenv("DOUBLETAKE_LONG") == "" {
				t.Skip("trains models without each group; DOUBLETAKE_LONG=1 runs it")
			}

			results := func(names bool, splits, extra string) (out []string) {
				b := labelledBy(t, fmt.Sprintf(settings, c.base, extra, splits), byPropeller(names))
				r, err := Plan(b.Experiment, b.Ing, b.Trip)
				require.NoError(t, err)

				output, err := b.Run(context.Background(), nil)
				require.NoError(t, err)

				add := func(x any) {
					text, err := json.Marshal(x)
					require.NoError(t, err)

					s := string(text)
					for p, n := range propellers {
						s = strings.ReplaceAll(s, fmt.Sprintf(`"group":"%d"`, p+1), fmt.Sprintf(`"group":"%s"`, n))
					}

					out = append(out, s)
				}

				for _, split := range r.Splits {
					h, err := ReadHonest(output(HonestID(b.Experiment, split.Name), HonestData))
					require.NoError(t, err)

					if h.Absent != "" || h.Calibration.Kind != interval.Labels || h.Calibration.Groups[0].Distance != 1 {
						t.Fatalf("%s: %s, %+v", split.Name, h.Absent, h.Calibration)
					}

					add(h.Calibration)
					add(h.Record)
				}

				return out
			}

			named := results(true, c.names, c.groups)
			numbered := results(false, c.other, c.groups+", labels: true")
			assert.Equal(t, numbered, named, "%s, %s:\n%v\nexpected, as of numbers,\n%v", c.base, c.names, named, numbered)
		})
	}
}

// A split may hold out each name of a label, or a name together with a number.
func TestLabelsAccepted(t *testing.T) {
	for _, train := range []string{
		"{inputs: [rpm], splits: {each: propeller}}",
		"{inputs: [rpm], splits: {s: {test: {propeller: Master, rpm: 4000}}}}",
	} {
		b := labelledBy(t, train, byPropeller(true))
		_, err := Plan(b.Experiment, b.Ing, b.Trip)
		assert.NoError(t, err, train)
	}
}

// Splits and settings that names cannot have are errors at their place.
func TestLabelErrors(t *testing.T) {
	for _, c := range []struct{ train, want string }{
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
		assert.ErrorContains(t, err, c.want)
	}
}

// Runs have offsets beside those of one label alone, of a process.
func TestOffsetsOfRuns(t *testing.T) {
	b := labelledBy(t, "{inputs: [rpm], splits: {each: propeller}}", byPropeller(true))
	pl, things := &planner{exp: b.Experiment, ing: b.Ing}, honest.Settings{Base: "gp", Labels: true}
	assert.Equal(t, []string{"propeller", honest.Runs}, pl.offsets("propeller", things), "offsets of things")
	assert.Empty(t, pl.offsets("rpm", honest.Settings{Base: "gp"}), "offsets of a setting")
	assert.Empty(t, pl.offsets("propeller", honest.Settings{Base: "ensemble", Labels: true}), "offsets of networks")

	pl.ing.Labels, pl.exp.Ingest.Occasions = append(pl.ing.Labels, "day"), []string{"day"}
	assert.Equal(t, []string{"propeller", "day"}, pl.offsets("propeller", things), "offsets of things and days")

	// Each diameter is one propeller, since the pitch goes up and down with it, but for a user who says otherwise.
	pl.exp.Train.Inputs, pl.ing.Known = []string{"diameter_in", "pitch_in", "rpm"}, nil
	for i := range 8 {
		values := map[string]float64{"diameter_in": float64(8 + i/2), "pitch_in": float64(4 + i/2%2), "rpm": float64(i % 2)}
		pl.ing.Known = append(pl.ing.Known, condition.Values{Numbers: values})
	}

	for _, groups := range []string{"", "diameter_in"} {
		pl.exp.Train.Honest.Groups = groups
		names, err := pl.numberedThings()
		require.NoError(t, err)
		assert.Len(t, names, 1-min(len(groups), 1), "things are the values of %v", names)
	}
}
