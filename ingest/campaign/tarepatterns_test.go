package campaign

import (
	"testing"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run may be named after a date. The date in the name of a file and the same date in a table agree, whether each of
// them is a number or a text. Other dates do not agree.
func TestDates(t *testing.T) {
	tares := tareFinder{campaign: &setting.Campaign{}}
	asNumber := condition.Values{Numbers: map[string]float64{"run": 20240115}}
	asText := condition.Values{Names: map[string]string{"run": "20240115"}}
	for _, c := range []struct {
		name   string
		known  condition.Values
		stated condition.Condition
		agrees bool
	}{
		{"number and text", asNumber, condition.Condition{Column: "run", Name: "20240115", IsName: true}, true},
		{"text and number", asText, condition.Condition{Column: "run", Value: 20240115}, true},
		{"number and another text", asNumber, condition.Condition{Column: "run", Name: "20240116", IsName: true}, false},
		{"text and another number", asText, condition.Condition{Column: "run", Value: 20240116}, false},
	} {
		agrees, err := tares.fits(c.known, []condition.Condition{c.stated})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.agrees, agrees, c.name)
	}
}
