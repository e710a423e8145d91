package stages

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The numbers at the top of the file next to a recording are its conditions; all
// files must have the first one's.
func TestSidecars(t *testing.T) {
	x := npyFile(count(9, 1))
	files := map[string]string{
		"a.npy": x, "b.npy": x, "a.yaml": "rpm: 3000\nblades: 2\nmotor: {temperature: 40}\n",
		"b.yaml": "blades: 3\nrpm: 4000\nnote: 7\n",
	}

	b := planFiles(t, files, `{files: "*.npy", sidecar: .yaml, rate_hz: 1000}`, `{triplets: split-half-spectrum}`)
	assert.Equal(t, "rpm blades", strings.Join(b.Conditions, " "), "conditions")

	stated := b.Recordings.Files[1].Sidecar // of b.npy, in the order of the first file
	require.Len(t, stated, 2)
	assert.Equal(t, "rpm", stated[0].Column)
	assert.Equal(t, 4000.0, stated[0].Value)
	assert.Equal(t, "blades", stated[1].Column)
	assert.Equal(t, 3.0, stated[1].Value)

	assert.Equal(t, map[string]float64{"rpm": 3000, "blades": 2}, b.Known[0].Numbers, "known of a.npy")

	rpm, ok := value(b.Tasks.Plan.Tasks[1].Local, "sidecar rpm")
	require.True(t, ok, "the task's key must have the speed")
	assert.Equal(t, "4000", rpm)

	b = planFiles(t, files,
		`{files: "*.npy", sidecar: {ending: .yaml, values: {rpm: rpm, blades: blades}}, rate_hz: 1000}`,
		`{triplets: split-half-spectrum, track: {range_hz: [40, 80]}}`)
	assert.Equal(t, "rpm blades rpm_tracked", strings.Join(b.Conditions, " "), "conditions")

	files["a.yaml"] += "wing: 7\n"
	b = planFiles(t, files, "{files: a.npy, things: [wing], sidecar: .yaml, rate_hz: 9}",
		"{triplets: split-half-spectrum}")
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
