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
		"some rows":             "file,,rpm\na,,1\nb,door open,2\nc,,3\n",
		"all rows":              "file,,rpm\na,ok,1\nb,door open,2\nc,loud,3\nd,cold,4\n",
		"with tabs":             "file\t\trpm\na\t\t1\nb\tagain\t2\n",
		"with units":            "file;;n [1/min]\na;;1\nb;wet;2\n",
		"dates of rows":         "file,,rpm\na,3 May 2024,1\nb,4 May 2024,2\n",
		"at the end":            "file,rpm,\na,1,\nb,2,door open\nc,3,\n",
		"first":                 ",file,rpm\nok,a,1\ndoor open,b,2\n,c,3\n",
		"blanks as a name":      "file,  ,rpm\na,,1\nb,door open,2\n",
		"in quotes":             "file,,rpm\na,\"wet, cold\",1\nb,,2\n",
		"in the first row":      "file,,rpm\na,first run,1\nb,,2\nc,,3\n",
		"in the last row":       "file,,rpm\na,,1\nb,,2\nc,stopped early,3\n",
		"in German":             "file;;Drehzahl\na;;1\nb;Tür offen;2\n",
		"a sentence":            "file,,rpm\na,microphone 3 was loose,1\nb,,2\n",
		"a number in words":     "file,,rpm\na,run 5 again,1\nb,,2\n",
		"a mark":                "file,,rpm\na,x,1\nb,,2\nc,,3\n",
		"a question":            "file,,rpm\na,?? check,1\nb,,2\n",
		"two initials":          "file,,rpm\na,JB,1\nb,,2\nc,MK,3\n",
		"times of the day":      "file,,rpm\na,at 14:05,1\nb,at 14:20,2\n",
		"ends of Windows":       "file,,rpm\r\na,,1\r\nb,door open,2\r\n",
		"behind a missing sign": "file,,rpm\na,-,1\nb,door open,2\nc,-,3\n",
	} {
		table, err := ParseConditions("log.csv", []byte(log), LogOptions{})
		require.NoError(t, err, name)
		assert.Len(t, table.Names, 1, name)
		assert.Empty(t, table.Labels, name)
		assert.Equal(t, "unnamed-column", ingesttest.Codes(table.Warnings), name)
	}

	for name, log := range map[string]string{
		"numbers":             "file,,rpm\na,5,1\nb,6,2\n",
		"some numbers":        "file,,rpm\na,5 m/s,1\nb,,2\nc,,3\n",
		"names of things":     "file,,rpm\na,APC,1\nb,APC,2\nc,HQ,3\nd,HQ,4\n",
		"decimal commas":      "file;;rpm\na;5,5;1\nb;6,5;2\n",
		"numbers at the end":  "file,rpm,\na,1,5\nb,2,6\n",
		"a number in one row": "file,,rpm\na,,1\nb,7,2\nc,,3\n",
	} {
		_, err := ParseConditions("log.csv", []byte(log), LogOptions{})
		assert.ErrorContains(t, err, "expected a name, found an empty header", name)
	}
}
