package lvm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// column is a channel of a file that two writes.
type column struct {
	delta   string // Delta_X as it is written
	samples int    // that the file has
	stated  string // Samples in the header; "" if it has no such line
}

// twoRates writes an LVM file with channels a and b in blocks of rows. A channel counts from 1 on.
func twoRates(xColumns, separator, decimal string, blocks int, columns ...column) []byte {
	number := func(v float64) string { return strings.ReplaceAll(fmt.Sprintf("%.4f", v), ".", decimal) }
	var b strings.Builder
	line := func(cells ...string) { b.WriteString(strings.Join(cells, separator) + "\n") }

	named := map[string]string{"\t": "Tab", ",": "Comma"}[separator]
	for _, cells := range [][]string{
		{magic, ""}, {"Separator", named}, {"Decimal_Separator", decimal}, {"X_Columns", xColumns}, {endMark, ""}, {},
	} {
		line(cells...)
	}

	samples := []string{"Samples"}
	deltas := []string{"Delta_X"}
	names := []string{"X_Value"}
	for i, c := range columns {
		if xColumns == "Multi" && i > 0 {
			samples = append(samples, "")
			deltas = append(deltas, "")
			names = append(names, "X_Value")
		}

		samples = append(samples, c.stated)
		deltas = append(deltas, strings.ReplaceAll(c.delta, ".", decimal))
		names = append(names, string(rune('a'+i)))
	}

	line(samples...)
	line(deltas...)
	line(endMark, "")
	line(append(names, "Comment")...)
	for block := range blocks {
		if block > 0 {
			line()
		}

		for row := range columns[0].samples {
			var cells []string
			if xColumns != "Multi" {
				cells = append(cells, "")
			}

			for i, c := range columns {
				x := ""
				value := ""
				if row < c.samples {
					step := 0.0
					_, _ = fmt.Sscan(c.delta, &step)
					x = number(float64(row) * step)
					value = number(float64(row + 1))
				}

				switch {
				case xColumns == "Multi":
					cells = append(cells, x)
				case xColumns == "One" && i == 0:
					cells[0] = x
				}

				cells = append(cells, value)
			}

			line(cells...)
		}
	}

	return []byte(b.String())
}

// LabVIEW writes channels of different rates side by side. Expected: each has its own rate, and the samples that were
// written: 1, 2, 3, …. If the header does not state fewer samples for a channel, missing cells remain missing samples.
func TestChannelsOfTwoRates(t *testing.T) {
	const missing = "and NaN"
	fast := column{"0.001", 40, "40"}
	for _, form := range []struct {
		name     string
		xColumns string
		sep, dec string
		blocks   int
		slow     column
		want     string // rate and samples of b
	}{
		{"ten times slower", "No", "\t", ".", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"half the rate", "No", "\t", ".", 1, column{"0.002", 20, "20"}, "500 Hz, 20"},
		{"an odd ratio", "No", "\t", ".", 1, column{"0.0025", 16, "16"}, "400 Hz, 16"},
		{"one sample", "No", "\t", ".", 1, column{"0.04", 1, "1"}, "25 Hz, 1"},
		{"one sample less", "No", "\t", ".", 1, column{"0.001", 39, "39"}, "1000 Hz, 39"},
		{"the same rate", "No", "\t", ".", 1, column{"0.001", 40, "40"}, "1000 Hz, 40"},
		{"separated by commas", "No", ",", ".", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"a decimal comma", "No", "\t", ",", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"an exponent", "No", "\t", ".", 1, column{"1.0E-2", 4, "4"}, "100 Hz, 4"},
		{"X columns of their own", "Multi", "\t", ".", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"X columns, half the rate", "Multi", "\t", ".", 1, column{"0.002", 20, "20"}, "500 Hz, 20"},
		{"X columns, separated by commas", "Multi", ",", ".", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"X columns, a decimal comma", "Multi", "\t", ",", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"X columns, the same rate", "Multi", "\t", ".", 1, column{"0.001", 40, "40"}, "1000 Hz, 40"},
		{"the X column of the faster channel", "One", "\t", ".", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"one X column, separated by commas", "One", ",", ".", 1, column{"0.01", 4, "4"}, "100 Hz, 4"},
		{"one X column, the same rate", "One", "\t", ".", 1, column{"0.001", 40, "40"}, "1000 Hz, 40"},
		{"no number of samples", "No", "\t", ".", 1, column{"0.01", 4, ""}, "100 Hz, 40 and NaN"},
		{"another number of samples", "No", "\t", ".", 1, column{"0.01", 4, "40"}, "100 Hz, 40 and NaN"},
		{"no number of samples in X columns", "Multi", "\t", ".", 1, column{"0.01", 4, ""}, "0 Hz, 40 and NaN"},
		{"two blocks of the same rate", "No", "\t", ".", 2, column{"0.001", 40, "40"}, "1000 Hz, 80"},
		{"two blocks", "No", "\t", ".", 2, column{"0.01", 4, "4"}, "left out"},
		{"two blocks of X columns", "Multi", "\t", ".", 2, column{"0.01", 4, "4"}, "left out"},
	} {
		t.Run(form.name, func(t *testing.T) {
			b := twoRates(form.xColumns, form.sep, form.dec, form.blocks, fast, form.slow)
			r := ingesttest.Open(t, Format, b, ingest.Options{})
			info := r.Info()
			assert.InDelta(t, 1000, info.Channels[0].RateHz, 1e-9, "the first channel, or its time")
			assert.EqualValues(t, 40*form.blocks, info.Channels[0].Samples)

			k, err := ingest.FindChannel(info, "b")
			if form.want == "left out" {
				require.Error(t, err)
				require.NotEmpty(t, info.Unread)
				last := info.Unread[len(info.Unread)-1]
				assert.Equal(t, "b", last.Name)
				assert.Contains(t, last.Reason, "save one segment a file")

				return
			}

			require.NoError(t, err)
			channel := info.Channels[k]
			got := fmt.Sprintf("%.6g Hz, %d", channel.RateHz, channel.Samples)
			values := make([]float64, channel.Samples)
			_, err = r.Read([]int{k}, 0, [][]float64{values})
			require.NoError(t, err)
			for i, v := range values {
				if v != v {
					require.Equal(t, form.slow.samples, i, "the first missing sample")
					got += " " + missing

					break
				}

				require.Equal(t, float64(i%form.slow.samples+1), v, "sample %d", i)
			}

			assert.Equal(t, form.want, got)
		})
	}
}
