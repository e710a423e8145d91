package report

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writtenOutcome is an outcome of metrics.json, with the members of its judgement and of its held-out values.
type writtenOutcome struct {
	Outcome            string
	RMSE, R2, Coverage float64
	Half               float64 `json:"half_width"`
	Coverage68         float64 `json:"coverage_68"`
	Values             float64
	Bounds             float64         `json:"upper_bounds"`
	Mean               float64         `json:"rmse_mean"`
	Linear             float64         `json:"rmse_least_squares"`
	Without            *writtenOutcome `json:"without_upper_bounds"`
}

// writtenSplit is a split of metrics.json.
type writtenSplit struct {
	Name    string
	Network []writtenOutcome
	Honest  *struct{ Outcomes []writtenOutcome }
	Held    []writtenOutcome `json:"held_out_outcomes"`
}

// rowNumbers returns the numbers that each row of the table of results should have, by split and outcome.
func rowNumbers(splits []writtenSplit) map[string][]float64 {
	rows := map[string][]float64{}
	for _, split := range splits {
		list := split.Network
		if split.Honest != nil {
			list = split.Honest.Outcomes
		}

		for k, o := range list {
			numbers := []float64{o.RMSE, o.Half, 100 * o.Coverage68, 100 * o.Coverage, o.R2}
			if len(split.Held) > k {
				held := split.Held[k]
				numbers = append(numbers, 100*held.Bounds/held.Values)
				if held.Without != nil {
					numbers = append(numbers, held.Without.RMSE)
				}

				numbers = append(numbers, held.Mean, held.Linear)
			}

			rows[split.Name+" "+o.Outcome] = numbers
		}
	}

	return rows
}

// shownRow is a row of the table of results on a page.
type shownRow struct{ split, outcome, cells string }

// resultRows returns the rows of the table of results on a page, in HTML.
func resultRows(t *testing.T, page string) []shownRow {
	t.Helper()

	_, body, isThere := strings.Cut(page, `<div class="scroll results"`)
	require.True(t, isThere)

	body, _, _ = strings.Cut(body, "</table>")
	row := regexp.MustCompile(`(?s)<tr><th scope="row"><bdi>(.*?)</bdi>.*?<small><bdi>(.*?)</bdi>(.*?)</tr>`)
	var rows []shownRow
	for _, texts := range row.FindAllStringSubmatch(body, -1) {
		rows = append(rows, shownRow{texts[1], texts[2], texts[3]})
	}

	return rows
}

// The numbers of the page's table of results are those of metrics.json, to half of their last digit. The test reads
// both as texts.
func TestPageIsTheMetrics(t *testing.T) {
	e := judged(rotor())
	measured := e.Splits[0].recommended()[0]
	measured.RMSE = 2.04
	e.Splits[0].Held = []HeldOutcome{
		{Outcome: "bpf1_db", Values: 390, Bounds: 86, Measured: &measured, MeanError: 12.04, LinearError: 5.83},
		{Outcome: "bpf2_db", Values: 390, MeanError: 10.3, LinearError: 9.96},
	}

	raw, err := e.MetricsJSON()
	require.NoError(t, err)

	var file struct{ Splits []writtenSplit }
	require.NoError(t, json.Unmarshal(raw, &file))

	want := rowNumbers(file.Splits)
	rows := resultRows(t, string(Page([]*Detail{{Experiment: e}})))
	require.Len(t, rows, len(want))

	cell := regexp.MustCompile(`<td>(-?[−0-9.]+)`)
	for _, row := range rows {
		numbers := want[row.split+" "+row.outcome]
		shown := cell.FindAllStringSubmatch(row.cells, -1)
		require.Len(t, shown, len(numbers), "%s %s: %q", row.split, row.outcome, shown)
		for k, text := range shown {
			value, err := strconv.ParseFloat(strings.ReplaceAll(text[1], "−", "-"), 64)
			require.NoError(t, err)

			_, decimals, _ := strings.Cut(text[1], ".")
			half := 0.5000001 * math.Pow(10, -float64(len(decimals)))
			assert.InDelta(t, numbers[k], value, half, "%s %s, number %d", row.split, row.outcome, k+1)
		}
	}
}
