package pairs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A command that reads a table has no keys of a configuration. Its messages name what can be done to the table.
func TestMessagesOfTablesNameNoKeys(t *testing.T) {
	for content, want := range map[string]string{
		"speed,lift\n1,2\n1,3\n":                         "write the two measurements of an outcome side by side",
		"speed,lift_1,lift_2,lift_3\n1,2,3,4\n2,3,4,5\n": "write each further pair of values into a row of its own",
	} {
		path := filepath.Join(t.TempDir(), "pairs.csv")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))

		_, err := FromPath(path).Open(nil)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "pipeline init")
		assert.NotContains(t, err.Error(), "with inputs")
		assert.NotContains(t, err.Error(), "with repeats")
	}
}
