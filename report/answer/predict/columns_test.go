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

// The table, CSV and JSON have the same numbers under the same names, of conditions within and
// outside the training range. CSV is the expected value of the others; it is compared with other
// evaluations of the models in TestRecommendAgreesWithTraining, and by packages wheel and export.
func TestOutputsAgree(t *testing.T) {
	m := opened(t, split(t))

	a, err := m.Answer(context.Background(), []float64{1, 3, 2, 2, 9, 3}, Options{Network: true})
	require.NoError(t, err)

	var table bytes.Buffer
	require.NoError(t, a.Table(&table))

	var text bytes.Buffer
	require.NoError(t, report.CSV(&text, a.CSV()))

	rows, err := csv.NewReader(&text).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)

	var doc struct {
		Conditions []struct{ Prediction map[string]any }
	}

	b, err := json.Marshal(a.JSON())
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}

	require.NoError(t, err)

	var lines [][]string
	for line := range strings.Lines(table.String()) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "lift" {
			lines = append(lines, f)
		}
	}

	require.Len(t, lines, 6)
	require.Len(t, doc.Conditions, 3)

	for i, row := range rows[1:] {
		cells := map[string]string{}
		for k, name := range rows[0] {
			cells[name] = row[k]
		}

		assert.Len(t, doc.Conditions[i].Prediction, len(a.columns()), "condition %d: numbers in JSON", i)
		for name, v := range doc.Conditions[i].Prediction {
			text := ""
			switch v := v.(type) {
			case string:
				text = v
			case float64:
				text = strconv.FormatFloat(v, 'g', -1, 64)
			}

			if got, there := cells[name]; !there || got != text {
				t.Errorf("condition %d: %s is %q in CSV (%v), %q in JSON", i, name, got, there, text)
			}
		}

		number := func(name string) float64 {
			v, err := strconv.ParseFloat(cells[name], 64)
			if err != nil {
				return math.NaN()
			}

			return v
		}

		agree := func(printed, name string) {
			v, err := strconv.ParseFloat(printed, 64)
			_, decimals, _ := strings.Cut(printed, ".")
			if step := math.Pow10(-len(decimals)); err != nil || !(math.Abs(v-number(name)) <= 0.501*step) {
				t.Errorf("condition %d: the table has %s for %s, %s", i, printed, name, cells[name])
			}
		}

		// outcome, unit, mean, low, …, high, σ
		for n, name := range []string{"lift", "network_lift"} {
			f := lines[2*i+n]
			agree(f[2], name)

			if none := f[3] == "none"; none != (i == 2) || none != (cells[name+"_low"] == "") {
				t.Errorf("condition %d: %q, CSV %q", i, f, cells[name+"_low"])
			} else if !none {
				agree(f[3], name+"_low")
				agree(f[5], name+"_high")
			}
		}

		deviation := 6 // its place in the line, behind three words of the interval
		if i == 2 {
			deviation = 4 // "none" stands for the interval
		}

		agree(lines[2*i][deviation], "lift_sd")

		if u := math.Hypot(number("lift_sd_epistemic"), number("lift_sd_noise")); math.Abs(u-number("lift_sd")) > 1e-12*u {
			t.Errorf("condition %d: standard uncertainty %s, of its parts %g", i, cells["lift_sd"], u)
		}

		if why := cells["lift_no_interval"]; (why == "") != (i < 2) || !strings.Contains(table.String(), why) {
			t.Errorf("condition %d: no interval: %q", i, why)
		}
	}

	require.Empty(t, a.Warnings)
}

// Without a calibrated model the plain names are empty and say why; the networks have theirs.
func TestWithoutCalibration(t *testing.T) {
	m := opened(t, split(t))

	m.Honest = nil

	a, err := m.Answer(context.Background(), []float64{1, 2}, Options{})
	require.NoError(t, err)

	for name, v := range a.values(0, a.columns()).All() {
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
}
