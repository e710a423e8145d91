package predict

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report"
)

// conditionRow has the numbers of a condition, as the three outputs have them.
type conditionRow struct {
	cells map[string]string // CSV, by the name of the column
	json  map[string]any    // JSON, by the same names
	table [2][]string       // words of the table's lines: the recommended model's, and the network's
}

// readOutputs returns the numbers of an answer's outputs, by condition.
func readOutputs(t *testing.T, a *Answer) []conditionRow {
	t.Helper()

	var text bytes.Buffer
	require.NoError(t, report.CSV(&text, a.CSV()))

	records, err := csv.NewReader(&text).ReadAll()
	require.NoError(t, err)

	var document struct {
		Conditions []struct{ Prediction map[string]any }
	}

	b, err := json.Marshal(a.JSON())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &document))

	lines := liftLines(t, a)
	names := records[0]
	rows := make([]conditionRow, len(records)-1)
	require.Len(t, document.Conditions, len(rows))
	require.Len(t, lines, 2*len(rows))
	for i := range rows {
		rows[i].cells = map[string]string{}
		for k, name := range names {
			rows[i].cells[name] = records[i+1][k]
		}

		rows[i].json = document.Conditions[i].Prediction
		rows[i].table = [2][]string{lines[2*i], lines[2*i+1]}
	}

	return rows
}

// liftLines returns the words of the lines about the lift in an answer's table.
func liftLines(t *testing.T, a *Answer) [][]string {
	t.Helper()

	var lines [][]string
	for line := range strings.Lines(tableText(t, a)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "lift" {
			lines = append(lines, words)
		}
	}

	return lines
}

// tableText returns an answer's table.
func tableText(t *testing.T, a *Answer) string {
	t.Helper()

	var table bytes.Buffer
	require.NoError(t, a.Table(&table))

	return table.String()
}

// number returns a number of the CSV, or NaN if the cell is empty.
func (r conditionRow) number(t *testing.T, name string) float64 {
	t.Helper()

	if r.cells[name] == "" {
		return math.NaN()
	}

	v, err := strconv.ParseFloat(r.cells[name], 64)
	require.NoError(t, err, name)

	return v
}

// checkJSON checks that JSON has the texts and numbers of the CSV.
func (r conditionRow) checkJSON(t *testing.T) {
	t.Helper()

	for name, v := range r.json {
		text := "" // of null
		switch v := v.(type) {
		case string:
			text = v
		case float64:
			text = strconv.FormatFloat(v, 'g', -1, 64)
		}

		assert.Contains(t, r.cells, name, "columns of the CSV")
		assert.Equal(t, r.cells[name], text, "%s in CSV and JSON", name)
	}
}

// checkRounded checks that a word of the table is a number of the CSV, rounded to the word's last digit.
func (r conditionRow) checkRounded(t *testing.T, word, name string) {
	t.Helper()

	printed, err := strconv.ParseFloat(word, 64)
	require.NoError(t, err, name)

	_, decimals, _ := strings.Cut(word, ".")
	assert.InDelta(t, r.number(t, name), printed, 0.501*math.Pow10(-len(decimals)), "%s in the table", name)
}

// checkTable checks the lines of the table, whose words are: outcome, unit, mean, low, …, high, σ. A condition without
// an interval has the word "none" in place of the three words of the interval.
func (r conditionRow) checkTable(t *testing.T, hasInterval bool) {
	t.Helper()

	for n, name := range []string{"lift", "network_lift"} {
		words := r.table[n]
		r.checkRounded(t, words[2], name)
		if !hasInterval {
			assert.Equal(t, "none", words[3])
			assert.Empty(t, r.cells[name+"_low"])
			continue
		}

		r.checkRounded(t, words[3], name+"_low")
		r.checkRounded(t, words[5], name+"_high")
	}

	deviation := 6
	if !hasInterval {
		deviation = 4
	}

	r.checkRounded(t, r.table[0][deviation], "lift_sd")
}

// The table, CSV and JSON have the same numbers under the same names, of conditions within and
// outside the training range. CSV is the expected value of the others; it is compared with other
// evaluations of the models in TestRecommendAgreesWithTraining, and by packages wheel and export.
func TestOutputsAgree(t *testing.T) {
	m := opened(t, split(t))

	a, err := m.Answer(t.Context(), []float64{1, 3, 2, 2, 9, 3}, Options{Network: true})
	require.NoError(t, err)
	require.Empty(t, a.Warnings)

	rows := readOutputs(t, a)
	require.Len(t, rows, 3)

	for i, row := range rows {
		hasInterval := i < 2 // the third condition is outside the training range
		assert.Len(t, row.json, len(a.columns()), "condition %d: numbers in JSON", i)
		row.checkJSON(t)
		row.checkTable(t, hasInterval)

		parts := math.Hypot(row.number(t, "lift_sd_epistemic"), row.number(t, "lift_sd_noise"))
		assert.InEpsilon(t, parts, row.number(t, "lift_sd"), 1e-12, "standard uncertainty of condition %d, of its parts", i)

		why := row.cells["lift_no_interval"]
		assert.Equal(t, hasInterval, why == "", "condition %d: no interval: %q", i, why)
		assert.Contains(t, tableText(t, a), why)
	}
}

// Without a calibrated model the plain names are empty and say why; the networks have theirs.
func TestWithoutCalibration(t *testing.T) {
	m := opened(t, split(t))

	m.Honest = nil

	a, err := m.Answer(context.Background(), []float64{1, 2}, Options{})
	require.NoError(t, err)

	compared := 0
	for name, v := range a.values(0, a.columns()).All() {
		compared++
		n, isNumber := v.(float64)
		network := strings.HasPrefix(name, "network_")
		switch {
		case strings.Contains(name, "_mean_"): // none where C ≤ 0
		case isNumber && math.IsNaN(n) == network:
			t.Errorf("%s is %g", name, n)
		case strings.HasSuffix(name, "_no_interval") && v != "no calibrated model":
			t.Errorf("%s: %q", name, v)
		}
	}

	assert.GreaterOrEqual(t, compared, 4, "values of the two answers and their names")
}
