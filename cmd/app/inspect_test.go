package app

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
	"doubletake/report/answer/inspect"
)

// A flag of inspect that does not apply to the contents of the file is an error, and is not ignored. The expected
// texts name the flag and the kind of the file.
func TestInspectChecksFlags(t *testing.T) {
	recording := &inspect.Description{Path: "x", Kind: "recording", Recording: &inspect.Recording{}}
	table := &inspect.Description{Path: "x", Kind: "table", Table: &inspect.Table{}}
	model := &inspect.Description{Path: "x", Kind: "model", Model: &inspect.Model{}}

	for _, c := range []struct {
		description *inspect.Description
		channel     string
		values      bool
		want        string // "": the flags apply
	}{
		{recording, "1", false, ""},
		{table, "", true, ""},
		{model, "", false, ""},
		{table, "1", false, "--channel selects a channel of a recording; x is a table"},
		{model, "1", false, "--channel selects a channel of a recording; x is a model"},
		{recording, "", true, "--values lists the values of a table; x is a recording"},
		{model, "", true, "--values lists the values of a table; x is a model"},
	} {
		err := checkInspected(c.description, c.channel, c.values)
		if c.want == "" {
			assert.NoError(t, err, "%+v", c)
			continue
		}

		assert.EqualError(t, err, c.want)
	}
}

// Of 42 channels, inspect prints the first samples of 40 and says that it leaves out 2.
func TestInspectSaysHowManySamplesAreLeftOut(t *testing.T) {
	recording := &inspect.Recording{}
	for i := range 42 {
		recording.Channels = append(recording.Channels, inspect.Channel{Name: fmt.Sprintf("c%d", i+1)})
	}

	var b strings.Builder
	printSamples(&b, recording)
	assert.Contains(t, b.String(), "\nc40\n… and of 2 more channels (--json lists them)\n")
}

// Samples near the greatest float64 have a power that is not a finite number. Nothing is drawn then.
func TestInspectHugeSamples(t *testing.T) {
	x := make([]float64, 8192)
	for i := range x {
		x[i] = 1.7e308 * math.Sin(0.1*float64(i*i))
	}

	path := filepath.Join(t.TempDir(), "huge.npy")
	require.NoError(t, os.WriteFile(path, ingesttest.Columns(false, x), 0o600))

	var stdout, stderr strings.Builder
	assert.Zero(t, run([]string{"inspect", path, "--rate", "1000"}, &stdout, &stderr), stderr.String())
	assert.NotContains(t, stdout.String(), "spectrum")
	assert.Zero(t, run([]string{"inspect", path, "--rate", "1000", "--json"}, &stdout, &stderr), stderr.String())
}
