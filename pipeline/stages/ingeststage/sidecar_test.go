package ingeststage

import (
	"context"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
)

// The numbers at the top of the file next to a recording are its conditions; all
// files must have the first one's.
func TestSidecars(t *testing.T) {
	x := npy(count(9, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "a.yaml": "rpm: 3000\nblades: 2\nmotor: {temperature: 40}\n",
		"b.yaml": "blades: 3\nrpm: 4000\nnote: 7\n",
	}

	b := planned(t, files, `{files: "*.npy", sidecar: .yaml, rate_hz: 1000}`, `{triplets: split-half-spectrum}`)
	assert.Equal(t, "rpm blades", strings.Join(b.Conditions, " "), "conditions")

	if got := b.Recordings.Files[1].Sidecar; len(got) != 2 || got[0].Column != "rpm" || got[0].Value != 4000 ||
		got[1].Column != "blades" || got[1].Value != 3 {
		t.Errorf("b.npy: %v", got)
	}

	if v := b.Known[0].Numbers; v["rpm"] != 3000 || v["blades"] != 2 || len(v) != 2 {
		t.Errorf("known %v", v)
	}

	if v, _ := value(b.Tasks.Plan.Tasks[1].Local, "sidecar rpm"); v != "4000" {
		t.Errorf("the task's key has rpm %q", v)
	}

	b = planned(t, files, `{files: "*.npy", sidecar: {ending: .yaml, values: {rpm: rpm, blades: blades}}, rate_hz: 1000}`,
		`{triplets: split-half-spectrum, track: {range_hz: [40, 80]}}`)
	assert.Equal(t, "rpm blades rpm_tracked", strings.Join(b.Conditions, " "), "conditions")

	files["a.yaml"] += "wing: 7\n"
	b = planned(t, files, "{files: a.npy, things: [wing], sidecar: .yaml, rate_hz: 9}", "{triplets: split-half-spectrum}")
	assert.Equal(t, "7", b.Known[0].Names["wing"], "a thing, whatever it looks like")

	for _, c := range []struct{ name, text, ingest, want string }{
		{
			"b.yaml", "", `{files: "*.npy", sidecar: .yml, rate_hz: 1000}`,
			"a.yml: expected a file with the conditions of a.npy, found none (write it",
		},
		{
			"b.yaml", "blades: 3\nrmp: 4000\n", `{files: "*.npy", sidecar: .yaml, rate_hz: 1000}`,
			`b.yaml: expected a number "rpm", found blades, rmp (did you mean "rmp"?)`,
		},
		{
			"a.yaml", "motor: {rpm: 1}\n", `{files: "*.npy", sidecar: .yaml, rate_hz: 1000}`,
			"a.yaml: expected numbers at its top, found none",
		},
		{"a.yaml", "a: [", `{files: "*.npy", sidecar: .yaml, rate_hz: 1000}`, "a.yaml: read conditions:"},
	} {
		changed := maps.Clone(files)
		if c.text != "" {
			changed[c.name] = c.text
		}

		refused(t, changed, c.ingest, `{triplets: split-half-spectrum}`, c.want)
	}
}

// arrays is a Reader of arrays in memory.
type arrays struct {
	info ingest.Info
	data [][]float64
}

func (a arrays) Info() ingest.Info { return a.info }
func (a arrays) Close() error      { return nil }
func (a arrays) Read(channels []int, start int64, dst [][]float64) (int, error) {
	for i, c := range channels {
		copy(dst[i], a.data[c][start:])
	}
	return len(dst[0]), nil
}

// A table of conditions in the file has a row for each channel.
func TestConditionTable(t *testing.T) {
	channel := func(name string, n int) ingest.Channel {
		return ingest.Channel{Name: name, Samples: int64(n), RateHz: 10}
	}
	rd := arrays{
		ingest.Info{Path: "f.h5", Channels: []ingest.Channel{
			channel("m1", 100), channel("m2", 100), channel("theta", 2),
			channel("from", 2), channel("to", 2),
		}, Attributes: []ingest.Attribute{
			{Name: "one", Value: "5"},
			{Name: "propeller", Value: "APC"},
			{Name: "left.speed", Value: "1"},
			{Name: "right.speed", Value: "2"},
		}},
		[][]float64{count(100, 1), count(100, 1), {10, 20}, {0, 50}, {40, 90}},
	}

	src := func(conditions ...setting.NamedString) *Source {
		return &Source{
			Ingest:   setting.Campaign{InFile: conditions},
			Grouping: campaign.Grouping{Except: []string{"from", "to", "theta"}},
		}
	}

	table := func(s *Source) (*campaign.Conditions, campaign.Grouping, error) {
		return (&reader{src: s, rd: rd, info: rd.info}).conditionTable(context.Background())
	}
	c, group, err := table(src(setting.NamedString{Name: "theta_deg", Value: "theta"}))
	require.NoError(t, err)

	if len(c.Rows) != 2 || c.Rows[1].Channel != "2" || c.Rows[1].States[0].Value != 20 || !math.IsInf(c.Rows[0].End, 1) ||
		len(group.Except) != 4 {
		t.Errorf("%+v without %v", c.Rows, group.Except)
	}

	for want, s := range map[string][]setting.NamedString{
		"array theta: expected a value for each of the 1 recordings, found 2": {
			{Name: "a", Value: "theta"}, {Name: "b", Value: "m1"},
		},
		"array one: expected a value for each of the 2 recordings, found 1": {{Name: "a", Value: "one"}},
		"condition a: f.h5: expected a channel":                             {{Name: "a", Value: "none"}},

		// An attribute that is found but cannot be used is described, and not reported as a missing channel.
		`condition a: f.h5: attribute propeller: expected a number, found "APC"`: {{Name: "a", Value: "propeller"}},
		`condition a: f.h5: expected one attribute "speed", found "left.speed"`:  {{Name: "a", Value: "speed"}},
	} {
		_, _, err := table(src(s...))
		assert.ErrorContains(t, err, want)
	}
}

// The table of conditions names the recording without wind of each run.
func TestOwnTare(t *testing.T) {
	row := func(line int, tare string) campaign.ConditionRow {
		return campaign.ConditionRow{
			Line: line, File: "a.csv", States: []condition.Condition{{Column: "tare", Name: tare, IsName: true}},
		}
	}
	c := &campaign.Conditions{
		Path: "c.csv", Labels: []string{"tare"},
		Rows: []campaign.ConditionRow{row(2, " off1.csv "), row(3, "off1.csv")},
	}

	text, err := ownTare("tare", c, "a.csv")
	require.NoError(t, err)
	assert.Equal(t, "off1.csv", text, "own")

	table := func(rows ...campaign.ConditionRow) *campaign.Conditions {
		return &campaign.Conditions{Path: "c.csv", Labels: []string{"tare"}, Rows: rows}
	}
	for _, c := range []struct {
		table *campaign.Conditions
		want  string
	}{
		{nil, "a.csv: expected a table of conditions with the column tare, found none"},
		{&campaign.Conditions{Path: "c.csv"}, "c.csv: expected a column tare"},
		{
			table(row(2, " ")),
			"c.csv: line 2, column tare: expected the recording without wind of a.csv, found an empty cell",
		},
		{
			table(row(2, "off1.csv"), row(3, "off2.csv")),
			`c.csv: line 3, column tare: expected "off1.csv", as for the other intervals of a.csv, found "off2.csv"`,
		},
	} {
		_, err := ownTare("tare", c.table, "a.csv")
		assert.ErrorContains(t, err, c.want)
	}

	// Recordings without wind may be among the files and are none of the campaign.
	files := map[string]string{
		"a.csv": "Fx\n1\n2\n", "off1.csv": "Fx\n1\n2\n",
		"c.txt": "file,alpha_deg,tare\na.csv,3,off1.csv\n",
	}

	b := planned(t, files,
		`{files: "*.csv", conditions: c.txt, columns: {lift_n: Fx}, balance: {tare: {column: tare, interpolation: mean}}}`,
		`{triplets: split-halves}`)
	require.Len(t, b.Recordings.Files, 1, "recordings %v", b.Recordings.Files)
	assert.Equal(t, "a.csv", b.Recordings.Files[0].Name, "recordings %v", b.Recordings.Files)
}
