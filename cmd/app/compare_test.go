package app

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first argument is the FILE if its name ends as configurations do, or if it is a file. Expected: the arguments by
// hand. If there are two, and the first is not a file, the error names it.
func TestCompareArguments(t *testing.T) {
	other := filepath.Join(t.TempDir(), "settings")
	put(t, filepath.Dir(other), "settings", "version: 1\n")
	for _, c := range []struct {
		args             []string
		file, experiment string
	}{
		{nil, "pipeline.yaml", ""},
		{[]string{"drone"}, "pipeline.yaml", "drone"},
		{[]string{"a.yaml", "drone"}, "a.yaml", "drone"},
		{[]string{"A.YAML"}, "A.YAML", ""},
		{[]string{other, "drone"}, other, "drone"},
	} {
		file, experiment, err := compareArguments(c.args)
		require.NoError(t, err, "%q", c.args)
		assert.Equal(t, c.file, file, "%q", c.args)
		assert.Equal(t, c.experiment, experiment, "%q", c.args)
	}

	_, _, err := compareArguments([]string{"nothere", "drone"})
	assert.EqualError(t, err, `pipeline compare takes a FILE and an EXPERIMENT, and "nothere" is not a file`)

	_, _, err = compareArguments([]string{"a.yaml", "drone", "rotor"})
	assert.EqualError(t, err, `pipeline compare takes a FILE and an EXPERIMENT, found ["a.yaml" "drone" "rotor"]`)
}
