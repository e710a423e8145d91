package content

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/report/pairs"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// setOf reads the set of a table with the inputs named, and with all outcomes.
func setOf(t *testing.T, tab *table.Table, inputs string) triplets.Set {
	t.Helper()
	set, err := pairs.Triplets(tab, strings.Split(inputs, ", "), pairs.Outcomes(tab))
	require.NoError(t, err)

	return set
}

// heldOut returns a split that holds rows out.
func heldOut(t *testing.T, tab *table.Table, inputs string, test holdout.Holdout) Split {
	t.Helper()
	set := setOf(t, tab, inputs)
	held, err := test.Held(tab)
	require.NoError(t, err)

	set.Part = make([]triplets.Part, set.N)
	for i, isHeld := range held {
		set.Part[i] = triplets.Train
		if isHeld {
			set.Part[i] = triplets.Test
		}
	}

	return Split{Name: "s", Test: test, Set: set}
}

// A split is warned of where it holds out what the network does not see, if its
// inputs occur on both sides. By hand: 1000/min with 0° and 30° are one condition of
// the input rpm.
func TestSplitWarnings(t *testing.T) {
	for _, c := range []struct {
		inputs string
		test   holdout.Holdout
		want   string
	}{
		{
			"rpm", holdout.Values("theta_deg", 30),
			"split s holds out theta_deg, which is not among the inputs (rpm): 1 of the 1 held-out " +
				"conditions have the same inputs as training conditions",
		},
		{"rpm, theta_deg", holdout.Values("theta_deg", 30), ""},
		{"rpm", holdout.Values("blades", 4), ""}, // another speed: the inputs differ
		{
			"rpm", holdout.All(holdout.Values("blades", 2), holdout.Values("theta_deg", 0)),
			"split s holds out blades and theta_deg, which is not among the inputs (rpm): " +
				"1 of the 2 held-out conditions",
		},
	} {
		tab := tabletest.MustParse(t, tabletest.Rotor)
		split := heldOut(t, tab, c.inputs, c.test)
		got, err := Warnings(nil, nil, tab, split.Set, []Split{split})
		require.NoError(t, err)

		few := "the whole experiment: "
		if len(got) == 0 || !strings.HasPrefix(got[0], few) || !strings.HasSuffix(got[0], "not a finding") {
			t.Errorf("six conditions: %q", got)
			continue
		}

		rest := strings.Join(got[1:], "")
		assert.True(t, strings.HasPrefix(rest, c.want))
		assert.Equal(t, (rest == ""), (c.want == ""))
	}
}

// Without a network all conditions count but a speed found in the sound.
func TestTooFew(t *testing.T) {
	var text strings.Builder
	text.WriteString("run recording rpm rpm_tracked y_1 y_2\n")

	for i := range 12 {
		text.WriteString(strings.ReplaceAll("r# r# ", "#", string(rune('a'+i))))
		text.WriteString([]string{"1 ", "2 ", "3 "}[i%3])
		text.WriteString([]string{"10", "11", "12", "13"}[i%4] + " 1 2\n")
	}

	tab := tabletest.MustParse(t, text.String())
	set := setOf(t, tab, "rpm")
	got, err := tooFew([]string{"rpm", "rpm_tracked"}, tab, set, false)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(got, "the whole experiment: three distinct conditions are too few for R²"))
	assert.True(t, strings.HasSuffix(got, "; no split is trained"))

	got, err = tooFew([]string{"rpm", "rpm_tracked", "elsewhere"}, tab, set, false)
	require.NoError(t, err)
	assert.Contains(t, got, "three distinct")

	tab.Column("rpm_tracked").Name = "angle"

	got, err = tooFew([]string{"rpm", "angle"}, tab, set, false)
	require.NoError(t, err)
	assert.Empty(t, got, "twelve conditions")

	if got, _ := tooFew(nil, tab, set, false); !strings.Contains(got, "one distinct condition") {
		t.Errorf("no condition: %q", got)
	}
}
