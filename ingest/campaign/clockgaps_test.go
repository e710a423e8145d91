package campaign_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A clock of 1 Hz pauses for 100 s after its third sample: 5 to 8 s lie in the pause, and 104 s is not sample 104. An
// interval in seconds is therefore an error, which names numbers of samples as the remedy; these are accepted.
func TestIntervalAcrossPause(t *testing.T) {
	dir := t.TempDir()
	samples := "t [s],p [Pa]\n"
	for i := range 20 {
		second := i
		if i > 2 {
			second += 100
		}

		samples += fmt.Sprintf("%d,%d\n", second, i%5)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte(samples), 0o644))

	settings := &setting.Campaign{Files: []string{"a.csv"}, Conditions: "log.txt"}
	read := func(log string) (*campaign.Campaign, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "log.txt"), []byte(log), 0o644))
		return campaign.Read(t.Context(), settings, setting.Project{Dir: dir})
	}

	_, err := read("file,t0_s,t1_s,rpm\na.csv,5,8,3000\n")
	require.ErrorContains(t, err, "line 2")
	require.ErrorContains(t, err, "whose clock pauses")
	require.ErrorContains(t, err, "give the interval in samples, in the columns row0 and row1")

	c, err := read("file,row0,row1,rpm\na.csv,5,8,3000\n")
	require.NoError(t, err)
	assert.Equal(t, int64(3), c.Files[0].Runs[0].Stats[0].Samples)
}
