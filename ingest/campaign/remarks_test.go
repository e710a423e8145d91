package campaign

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
)

// A column of texts without a name is a remark, which a warning says. A column of numbers, or of texts that repeat as
// names of things do, is refused: it may be a condition.
func TestRemarksWithoutName(t *testing.T) {
	for name, log := range map[string]string{
		"some rows":     "file,,rpm\na,,1\nb,door open,2\nc,,3\n",
		"all rows":      "file,,rpm\na,ok,1\nb,door open,2\nc,loud,3\nd,cold,4\n",
		"with tabs":     "file\t\trpm\na\t\t1\nb\tagain\t2\n",
		"with units":    "file;;n [1/min]\na;;1\nb;wet;2\n",
		"dates of rows": "file,,rpm\na,3 May 2024,1\nb,4 May 2024,2\n",
	} {
		table, err := ParseConditions("log.csv", []byte(log), LogOptions{})
		require.NoError(t, err, name)
		assert.Len(t, table.Names, 1, name)
		assert.Empty(t, table.Labels, name)
		assert.Equal(t, "unnamed-column", ingesttest.Codes(table.Warnings), name)
	}

	for name, log := range map[string]string{
		"numbers":         "file,,rpm\na,5,1\nb,6,2\n",
		"some numbers":    "file,,rpm\na,5 m/s,1\nb,,2\nc,,3\n",
		"names of things": "file,,rpm\na,APC,1\nb,APC,2\nc,HQ,3\nd,HQ,4\n",
	} {
		_, err := ParseConditions("log.csv", []byte(log), LogOptions{})
		assert.ErrorContains(t, err, "expected a name, found an empty header", name)
	}
}
