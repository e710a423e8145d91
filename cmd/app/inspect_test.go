package app

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
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
	assert.Contains(t, b.String(), "\nc40\n… and of 2 more channels (--json lists all)\n")
}

// Samples near the greatest float64 have a power that is not a finite number. No spectrum is drawn then, as it is of
// samples near 1, and JSON has null for every power.
func TestInspectHugeSamples(t *testing.T) {
	for amplitude, hasSpectrum := range map[float64]bool{1: true, 1.7e308: false} {
		x := make([]float64, 8192)
		for i := range x {
			x[i] = amplitude * math.Sin(0.1*float64(i*i))
		}

		path := filepath.Join(t.TempDir(), "x.npy")
		require.NoError(t, os.WriteFile(path, ingesttest.Columns(false, x), 0o600))

		var text, js, stderr strings.Builder
		require.Zero(t, run([]string{"inspect", path, "--rate", "1000"}, &text, &stderr), stderr.String())
		require.Zero(t, run([]string{"inspect", path, "--rate", "1000", "--json"}, &js, &stderr), stderr.String())
		assert.Equal(t, hasSpectrum, strings.Contains(text.String(), "\nspectrum of channel "), "amplitude %g", amplitude)

		powers := regexp.MustCompile(`(?s)"power": \[(.*?)\]`).FindStringSubmatch(js.String())
		require.NotNil(t, powers, "amplitude %g: JSON\n%.2000s", amplitude, &js)
		assert.Equal(t, hasSpectrum, strings.ContainsAny(powers[1], "0123456789"), "amplitude %g", amplitude)
	}
}
