package campaign

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/setting"
)

// One warning names the first run whose files have several values of a condition, by the order of the runs' names,
// whatever signs a name has. The setting run says that runs go across conditions: then there is no warning. The words
// were written by hand.
func TestWarnRuns(t *testing.T) {
	pattern, err := ParsePattern("{run:text}_a{alpha}.wav")
	require.NoError(t, err)

	for _, c := range []struct {
		files []string
		run   string // the setting
		want  []string
	}{
		{[]string{"1_a3.wav", "1_a3.wav", "2_a5.wav"}, "", nil},
		{[]string{"2_a3.wav", "2_a5.wav", "1_a3.wav", "1_a5.wav"}, "", []string{"run 1 has 2 values of alpha"}},
		{[]string{"50%_a3.wav", "50%_a5.wav"}, "", []string{"run 50% has 2 values of alpha"}},
		{[]string{"1_a3.wav", "1_a5.wav"}, "run", nil},
	} {
		v := &Inventory{Settings: setting.Campaign{Run: c.run}, Pattern: pattern}
		for _, name := range c.files {
			v.Files = append(v.Files, File{Name: name})
		}

		require.NoError(t, v.matchRows())

		var got []string
		for _, warning := range v.Warnings {
			assert.Equal(t, "runs-across", warning.Code)
			got = append(got, warning.Text)
		}

		require.Len(t, got, len(c.want), "%v", c.files)
		for k, text := range c.want {
			assert.Contains(t, got[k], text+": it is one run, whose recordings are kept together", "%v", c.files)
		}
	}
}
