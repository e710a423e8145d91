package stages

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"doubletake/ingest/condition"
	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/longtest"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// propellers has names in alphabetical order. As numbers they are 1, 2, 3 and 4.
var propellers = []string{"APC-8x6", "Gemfan 5x4", "HQ/5x4", "Master"}

// byPropeller simulates pairs of four propellers at five speeds. Each propeller has an offset of its own. The column of
// propellers has names if asNames is true, and numbers otherwise.
func byPropeller(t *testing.T, asNames bool) *table.Table {
	t.Helper()

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

	tab := tabletest.MustParse(t, text.String())
	if c := tab.Column("propeller"); asNames {
		for _, v := range c.Floats {
			c.Strings = append(c.Strings, propellers[int(v)-1])
		}

		c.Floats = nil
	}

	return tab
}

// labelledBy returns an experiment on pairs of byPropeller, which knows their conditions.
func labelledBy(t *testing.T, train string, tab *table.Table) *stageTest {
	t.Helper()

	b := newStageTest(t, train, tab)
	for i := range tab.Rows() {
		known := map[string]float64{"rpm": tab.Column("rpm").Floats[i]}
		labels := map[string]string{}
		if c := tab.Column("propeller"); c.Strings != nil {
			b.Ing.Labels = []string{"propeller"}
			b.Ing.Texts = []string{"propeller"}
			labels["propeller"] = c.Strings[i]
		} else {
			known["propeller"] = c.Floats[i]
		}

		b.Ing.Known = append(b.Ing.Known, condition.Values{Numbers: known, Names: labels})
	}

	return b
}

// calibrated runs an experiment on pairs of byPropeller, and returns the calibration and the record of each split as
// JSON. Numbers of propellers are replaced by their names.
func calibrated(t *testing.T, train string, asNames bool) []string {
	t.Helper()

	b := labelledBy(t, train, byPropeller(t, asNames))
	r, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)

	output, err := b.Run(context.Background(), nil)
	require.NoError(t, err)

	var texts []string
	for _, split := range r.Splits {
		h, err := honest.ReadResult(output(HonestID(b.Experiment, split.Name), honest.File))
		require.NoError(t, err)
		require.Empty(t, h.Absent, "%s", split.Name)
		require.Equal(t, interval.Labels, h.Calibration.Kind, "%s", split.Name)
		require.Equal(t, 1.0, h.Calibration.Groups[0].Distance, "%s: distance of a name to the others", split.Name)

		for _, part := range []any{h.Calibration, h.Record} {
			text, err := json.Marshal(part)
			require.NoError(t, err)

			named := string(text)
			for p, name := range propellers {
				named = strings.ReplaceAll(named, fmt.Sprintf(`"group":"%d"`, p+1), fmt.Sprintf(`"group":"%s"`, name))
			}

			texts = append(texts, named)
		}
	}

	return texts
}

// Names give the groups and the intervals that numbers without distances give. The expected results are those of the
// same propellers as numbers, with the setting labels. Propellers are held out, or are groups that are left out while
// another condition is held out.
func TestNamesAreNumbersWithoutDistances(t *testing.T) {
	const settings = "{inputs: [rpm], seeds: 1, model: {hidden: [4]}, optimizer: {epochs: 3}, members: 2, " +
		"estimate: {samples: 4}, honest: {base: %s%s}, splits: {%s}}"
	for i, c := range []struct {
		base           string
		splits         string // of propellers as names
		numberedSplits string // of propellers as numbers
		groups         string // setting of honest
	}{
		{
			base:           "gp",
			splits:         "s: {test: {propeller: [HQ/5x4, Master]}}, f: {test: none}",
			numberedSplits: "s: {test: {propeller: [3, 4]}}, f: {test: none}",
		},
		{base: "gp", splits: "each: propeller", numberedSplits: "each: propeller"},
		{
			base: "ensemble", splits: "s: {test: {rpm: 2000}}", numberedSplits: "s: {test: {rpm: 2000}}",
			groups: ", groups: propeller",
		},
		{
			base: "ensemble", splits: "each: propeller, f: {test: none}",
			numberedSplits: "each: propeller, f: {test: none}",
		},
	} {
		t.Run(c.base+", "+c.splits, func(t *testing.T) {
			if i > 0 && !longtest.IsLong() {
				t.Skip("trains models without each group; DOUBLETAKE_LONG=1 runs it")
			}

			named := calibrated(t, fmt.Sprintf(settings, c.base, c.groups, c.splits), true)
			numbered := calibrated(t, fmt.Sprintf(settings, c.base, c.groups+", labels: true", c.numberedSplits), false)
			assert.Equal(t, numbered, named)
		})
	}
}

// A split may hold out each name of a label, or a name together with a number.
func TestLabelsAccepted(t *testing.T) {
	for _, train := range []string{
		"{inputs: [rpm], splits: {each: propeller}}",
		"{inputs: [rpm], splits: {s: {test: {propeller: Master, rpm: 4000}}}}",
	} {
		b := labelledBy(t, train, byPropeller(t, true))
		_, err := planTrain(b.Experiment, b.Ing, b.Trip)
		assert.NoError(t, err, train)
	}
}

// Splits and settings that do not fit names are errors at their place.
func TestLabelErrors(t *testing.T) {
	for _, c := range []struct{ train, want string }{
		{"{inputs: [rpm], splits: {all: {each: propeller, blocks: 2}}}", "splits.all.blocks: propeller is a column of text"},
		{"{inputs: [rpm], splits: {each: propeller, again: {each: propeller}}}", `two splits are named "propeller=APC-8x6"`},
		{"{inputs: [rpm], splits: {s: {test: {propeller: Mastr}}}}", "propeller = Mastr selects none of the 20 " +
			"conditions, which leaves nothing to test on; propeller is one of APC-8x6, Gemfan 5x4, HQ/5x4, Master"},
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
		b := labelledBy(t, c.train, byPropeller(t, true))
		_, err := planTrain(b.Experiment, b.Ing, b.Trip)
		assert.ErrorContains(t, err, c.want)
	}
}
