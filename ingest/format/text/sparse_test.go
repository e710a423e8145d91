package text

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loggedRows writes a log at 10 Hz: the time, a speed in every row, and a thrust and a torque in some rows. The speed
// is the number of the row, the thrust is a half more, the torque is a quarter more. rest is written if there is none.
func loggedRows(rows int, thrust, torque []int, rest string) string {
	var b strings.Builder
	for i := range rows {
		cells := []string{strconv.FormatFloat(float64(i)/10, 'f', 1, 64), strconv.Itoa(i), rest, rest}
		if slices.Contains(thrust, i) {
			cells[2] = fmt.Sprintf("%d.5", i)
		}

		if slices.Contains(torque, i) {
			cells[3] = fmt.Sprintf("%d.25", i)
		}

		b.WriteString(strings.Join(cells, ",") + "\n")
	}

	return b.String()
}

// everyRow returns first, first+step, … below end.
func everyRow(first, step, end int) []int {
	var rows []int
	for i := first; i < end; i += step {
		rows = append(rows, i)
	}

	return rows
}

// without returns rows without one of them.
func without(rows []int, row int) []int {
	return slices.DeleteFunc(slices.Clone(rows), func(r int) bool { return r == row })
}

// A column is sparse only if its samples have few distances. Samples at more different distances than are counted are
// irregular: nobody can say of them that they are near the most frequent distance.
func TestPatternsOfRows(t *testing.T) {
	// growing returns rows whose distances are 2, 3, … to last.
	growing := func(last int) []int {
		rows := []int{0}
		for distance := 2; distance <= last; distance++ {
			rows = append(rows, rows[len(rows)-1]+distance)
		}

		return rows
	}

	for _, c := range []struct {
		name      string
		rows      []int
		isSparse  bool
		irregular int64 // distances below 1 and above 3 rows if every is 2
	}{
		{"every second row", everyRow(0, 2, 20_000), true, 0},
		{"every second row with a pause", append(everyRow(0, 2, 200), everyRow(1000, 2, 1200)...), true, 1},
		{"255 distances of which two are near", growing(256), false, 253},
		{"256 distances of which two are near", growing(257), false, 254},
		{"3000 distances of which two are near", growing(3001), false, 2998},
	} {
		t.Run(c.name, func(t *testing.T) {
			counter := newPatternCounter()
			for _, row := range c.rows {
				counter.add(int64(row))
			}

			pattern, isSparse := counter.pattern()
			assert.Equal(t, c.isSparse, isSparse)
			assert.EqualValues(t, 2, pattern.every)
			assert.Equal(t, c.irregular, pattern.irregular)
		})
	}
}

// samplesOf reads all samples of a channel.
func samplesOf(t require.TestingT, r ingest.Reader, name string) (values []float64, rateHz float64) {
	channel, err := ingest.FindChannel(r.Info(), name)
	require.NoError(t, err)

	values = make([]float64, r.Info().Channels[channel].Samples)
	_, err = r.Read([]int{channel}, 0, [][]float64{values})
	require.NoError(t, err)

	return values, r.Info().Channels[channel].RateHz
}

// TestSparseColumns reads logs with channels that are written in some rows only, in the forms of loggers and their
// siblings. The rows, rates and warnings that are expected are counted by hand.
func TestSparseColumns(t *testing.T) {
	const head = "Time (s),Speed (m/s),Thrust (N),Torque (Nm)\n"
	every6 := everyRow(2, 6, 30) // 2 8 14 20 26: 5 samples
	all := everyRow(0, 1, 30)
	commas := func(s string) string {
		return strings.NewReplacer(",", ";", ".", ",").Replace(s)
	}

	for _, c := range []struct {
		name, text string
		rows       []int // with a thrust
		rate       float64
		warns      string // without sparse-column
	}{
		{"every sixth row", head + loggedRows(30, every6, all, ""), every6, 10. / 6, ""},
		{"every second row", head + loggedRows(30, everyRow(0, 2, 30), all, ""), everyRow(0, 2, 30), 5, ""},
		{
			"every third row, from the second", head + loggedRows(30, everyRow(1, 3, 30), all, ""),
			everyRow(1, 3, 30), 10. / 3, "",
		},
		{"first row empty", head + loggedRows(30, everyRow(4, 5, 30), all, ""), everyRow(4, 5, 30), 2, ""},
		{"last rows empty", head + loggedRows(29, everyRow(0, 5, 25), all, ""), []int{0, 5, 10, 15, 20}, 2, "sparse-gaps"},
		{"last row empty", head + loggedRows(30, everyRow(0, 4, 30), all, ""), everyRow(0, 4, 30), 2.5, ""},
		{"it starts late", head + loggedRows(60, everyRow(30, 3, 60), all, ""), everyRow(30, 3, 60), 10. / 3, "sparse-gaps"},
		{"it stops early", head + loggedRows(60, everyRow(0, 3, 31), all, ""), everyRow(0, 3, 31), 10. / 3, "sparse-gaps"},
		{"uneven steps", head + loggedRows(30, []int{1, 7, 12, 19, 25}, all, ""), []int{1, 7, 12, 19, 25}, 10. / 6, ""},
		{
			"a missed sample", head + loggedRows(120, without(everyRow(0, 6, 120), 60), all, ""),
			without(everyRow(0, 6, 120), 60), 10. / 6, "sparse-gaps",
		},
		{"decimal commas", commas(head + loggedRows(30, every6, all, "")), every6, 10. / 6, ""},
		{"tabs", strings.ReplaceAll(head+loggedRows(30, every6, all, ""), ",", "\t"), every6, 10. / 6, ""},
		{"dashes between", head + loggedRows(30, every6, all, "-"), every6, 10. / 6, ""},
		{"two dashes between", head + loggedRows(30, every6, all, "--"), every6, 10. / 6, ""},
		{"NaN between", head + loggedRows(30, every6, all, "NaN"), every6, 10. / 6, ""},
		{"nan between", head + loggedRows(30, every6, all, "nan"), every6, 10. / 6, ""},
		{"n/a between", head + loggedRows(30, every6, all, "n/a"), every6, 10. / 6, ""},
		{"null between", head + loggedRows(30, every6, all, "null"), every6, 10. / 6, ""},
		{"pairs of quotes between", head + loggedRows(30, every6, all, `""`), every6, 10. / 6, ""},
		{"blanks between", head + loggedRows(30, every6, all, "  "), every6, 10. / 6, ""},
		{"two columns in the same rows", head + loggedRows(30, every6, every6, ""), every6, 10. / 6, ""},
		{"two columns of two rates", head + loggedRows(30, every6, everyRow(0, 4, 30), ""), every6, 10. / 6, ""},
		{
			"ends of lines of Windows", strings.ReplaceAll(head+loggedRows(30, every6, all, ""), "\n", "\r\n"), every6,
			10. / 6, "",
		},
		{"units in a row", "Time,Speed,Thrust,Torque\ns,m/s,N,Nm\n" + loggedRows(30, every6, all, ""), every6, 10. / 6, ""},
		{
			"milliseconds", "Time (ms),Speed (m/s),Thrust (N),Torque (Nm)\n" + loggedRows(30, every6, all, ""), every6,
			1e4 / 6, "",
		},
		{
			"a rate in the header", "# fs = 10 Hz\nAngle (deg),Speed (m/s),Thrust (N),Torque (Nm)\n" +
				loggedRows(30, every6, all, ""), every6, 10. / 6, "",
		},
		{"many rows", head + loggedRows(5000, everyRow(7, 50, 5000), all, ""), everyRow(7, 50, 5000), 0.2, ""},
	} {
		r, err := openString(c.text, ingest.Options{})
		require.NoError(t, err, "%s", c.name)

		values, rate := samplesOf(t, r, "Thrust")
		want := make([]float64, len(c.rows))
		for i, row := range c.rows {
			want[i] = float64(row) + 0.5
		}

		assert.Equal(t, want, values, "%s: thrust", c.name)
		assert.InEpsilon(t, c.rate, rate, 1e-9, "%s: rate of the thrust", c.name)

		var warns []string
		for _, warning := range r.Info().Warnings {
			if warning.Code != "sparse-column" && !slices.Contains(warns, warning.Code) {
				warns = append(warns, warning.Code)
			}
		}

		assert.Equal(t, c.warns, strings.Join(warns, " "), "%s: warnings", c.name)
		assert.Contains(t, ingesttest.Codes(r.Info().Warnings), "sparse-column", "%s", c.name)
	}
}

// Cells that are missing in a column that is written in each row, or without any order, are errors of Read as before.
func TestMissingCells(t *testing.T) {
	const head = "Time (s),Speed (m/s),Thrust (N),Torque (Nm)\n"
	all := everyRow(0, 1, 30)
	for _, c := range []struct{ name, text, want string }{
		{"one cell", head + loggedRows(30, without(all, 17), all, ""), "line 19, column 3 (Thrust)"},
		{"the first cell", head + loggedRows(30, everyRow(1, 1, 30), all, ""), "line 2, column 3 (Thrust)"},
		{"the last cells", head + loggedRows(30, everyRow(0, 1, 28), all, ""), "line 30, column 3 (Thrust)"},
		{"the second half", head + loggedRows(30, everyRow(0, 1, 15), all, ""), "line 17, column 3 (Thrust)"},
		{"bursts", head + loggedRows(30, []int{0, 1, 2, 3, 12, 13, 14, 24, 25, 26}, all, ""), "line 6, column 3 (Thrust)"},
		{"two samples", head + loggedRows(30, []int{5, 20}, all, ""), "line 2, column 3 (Thrust)"},
		{
			"no order", head + loggedRows(90, []int{0, 9, 11, 40, 44, 58, 60, 61, 78, 83}, everyRow(0, 1, 90), ""),
			"line 3, column 3 (Thrust)",
		},
		{
			"no rate", "Angle (deg),Speed (m/s),Thrust (N),Torque (Nm)\n" + loggedRows(30, everyRow(2, 6, 30), all, ""),
			"line 2, column 3 (Thrust)",
		},
	} {
		r, err := openString(c.text, ingest.Options{})
		require.NoError(t, err, "%s", c.name)

		values := make([]float64, r.Info().Channels[2].Samples)
		_, err = r.Read([]int{2}, 0, [][]float64{values})
		require.ErrorContains(t, err, c.want, "%s", c.name)
	}
}

// A rate that the configuration states makes sparse columns of a log without times readable.
func TestSparseWithStatedRate(t *testing.T) {
	text := "Angle (deg),Speed (m/s),Thrust (N),Torque (Nm)\n" + loggedRows(30, everyRow(2, 6, 30), everyRow(0, 1, 30), "")
	r, err := openString(text, ingest.Options{RateHz: 12})
	require.NoError(t, err)

	values, rate := samplesOf(t, r, "Thrust")
	assert.Equal(t, []float64{2.5, 8.5, 14.5, 20.5, 26.5}, values)
	assert.InDelta(t, 2, rate, 1e-9, "every sixth row at 12 Hz")
}

// sparseLog is a log at 40 Hz with a speed in each row, a thrust in every sixth and a torque in every fourth row.
func sparseLog() string {
	var b strings.Builder
	b.WriteString("Time (s),Speed (m/s),Thrust (N),Torque (Nm)\n")
	for i := range 200 {
		thrust := ""
		if i%6 == 2 {
			thrust = strconv.Itoa(i * 5 % 13)
		}

		torque := ""
		if i%4 == 1 && i < 190 {
			torque = strconv.Itoa(i * 3 % 17)
		}

		fmt.Fprintf(&b, "%.3f,%d,%s,%s\n", float64(i)/40, i*7%11, thrust, torque)
	}

	return b.String()
}

// meanOf returns the mean of values.
func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}

	return sum / float64(len(values))
}

// TestSparsePandas compares sparse columns with pandas: d = read_csv(…), then d.count() and d.mean(), which leave
// out empty cells, and the rate (count − 1)/(last time − first time).
func TestSparsePandas(t *testing.T) {
	r, err := openString(sparseLog(), ingest.Options{})
	require.NoError(t, err)

	for _, c := range []struct {
		name       string
		count      int
		mean, rate float64
	}{
		{"Speed", 200, 4.985, 40},
		{"Thrust", 33, 5.848485, 6.666667},
		{"Torque", 48, 8.041667, 10},
	} {
		values, rate := samplesOf(t, r, c.name)
		assert.Len(t, values, c.count, "%s: count", c.name)
		assert.InDelta(t, c.mean, meanOf(values), 1e-6, "%s: mean", c.name)
		assert.InDelta(t, c.rate, rate, 1e-6, "%s: rate", c.name)
	}
}

// TestSparseTogether compares columns that are read together with pandas: h = d.ffill().bfill(), then h.mean() and
// h["Thrust (N)"][95:110].
func TestSparseTogether(t *testing.T) {
	names := []string{"Speed", "Thrust", "Torque"}
	r, err := openString(sparseLog(), ingest.Options{Together: names})
	require.NoError(t, err)

	means := map[string]float64{"Speed": 4.985, "Thrust": 5.89, "Torque": 7.945}
	for _, name := range names {
		values, rate := samplesOf(t, r, name)
		assert.Len(t, values, 200, "%s: a sample in each row", name)
		assert.InDelta(t, means[name], meanOf(values), 1e-9, "%s: mean", name)
		assert.InDelta(t, 40, rate, 1e-9, "%s: rate", name)
	}

	thrust := []float64{5, 5, 5, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0}
	for _, start := range []int64{95, 100, 97, 95} { // forwards and back
		k := int(start - 95)
		dst := [][]float64{make([]float64, len(thrust)-k)}
		_, err = r.Read([]int{2}, start, dst)
		require.NoError(t, err)
		assert.Equal(t, thrust[k:], dst[0], "from row %d", start)
	}
}

// Columns in the same rows keep their own samples when they are read together: nothing is repeated.
func TestSparseTogetherInTheSameRows(t *testing.T) {
	rows := everyRow(2, 6, 30)
	text := "Time (s),Speed (m/s),Thrust (N),Torque (Nm)\n" + loggedRows(30, rows, rows, "")
	r, err := openString(text, ingest.Options{Together: []string{"Thrust", "Torque"}})
	require.NoError(t, err)

	dst := [][]float64{make([]float64, 5), make([]float64, 5)}
	n, err := r.Read([]int{2, 3}, 0, dst)
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	assert.Equal(t, []float64{2.5, 8.5, 14.5, 20.5, 26.5}, dst[0])
	assert.Equal(t, []float64{2.25, 8.25, 14.25, 20.25, 26.25}, dst[1])
}

// A read of channels of different lengths ends with the shortest, and samples can be read from any place.
func TestSparseReads(t *testing.T) {
	r, err := openString(sparseLog(), ingest.Options{})
	require.NoError(t, err)

	dst := [][]float64{make([]float64, 40), make([]float64, 40)}
	n, err := r.Read([]int{1, 2}, 0, dst)
	require.True(t, errors.Is(err, io.EOF), "the thrust has 33 samples")
	assert.Equal(t, 33, n)
	assert.Equal(t, []float64{0, 7, 3}, dst[0][:3], "the first speeds")
	assert.Equal(t, []float64{10, 1, 5}, dst[1][:3], "the thrusts of rows 2, 8 and 14")

	one := [][]float64{make([]float64, 1)}
	for _, k := range []int64{30, 2, 17, 0} {
		_, err := r.Read([]int{2}, k, one)
		require.NoError(t, err)
		assert.InDelta(t, float64((2+6*k)*5%13), one[0][0], 0, "thrust %d, of row %d", k, 2+6*k)
	}
}
