package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// Lines that microcontrollers print for people, as sketches of Arduino and their serial monitors write them. In row i,
// {a} is i + 0.5 and {b} is -2·i. Expected: the channels with their units and the numbers, or a refusal.
func TestLabelledLines(t *testing.T) {
	for _, form := range []struct {
		line string // of row i
		want string // channels with their units, "a" and "b" in order
		why  string // of a refusal
	}{
		{line: "T:{a},H:{b}", want: "T, H"},
		{line: "T: {a}, H: {b}", want: "T, H"},
		{line: "T: {a} H: {b}", want: "T, H"},
		{line: "T:{a}\tH:{b}", want: "T, H"},
		{line: "T={a};H={b}", want: "T, H"},
		{line: "T = {a} | H = {b}", want: "T, H"},
		{line: "T:{a},H:{b},", want: "T, H"},
		{line: "  T:{a},H:{b}  ", want: "T, H"},
		{line: "temp={a} C", want: "temp [C]"},
		{line: "temp={a} *C, hum={b} %", want: "temp [°C], hum [%]"},
		{line: "temp={a}°C hum={b}%", want: "temp [°C], hum [%]"},
		{line: "Temperature: {a} C  Humidity: {b} %", want: "Temperature [C], Humidity [%]"},
		{line: "Heat index: {a}, Wind speed: {b}", want: "Heat index, Wind speed"},
		{line: "Reading: {a} grams", want: "Reading [grams]"},
		{line: "Thrust: {a} g", want: "Thrust [g]"},
		{line: "Thrust:\t{a}\tRPM:\t{b}", want: "Thrust, RPM"},
		{line: ">ax:{a}", want: "ax"},
		{line: ">ax:{a},ay:{b}", want: "ax, ay"},
		{line: "accel.x:{a} accel.y:{b}", want: "accel.x, accel.y"},
		{line: "a_x:{a}e0,a_y:{b}E+00", want: "a_x, a_y"},
		{line: "{a},T:{b}", want: "1, T"},
		{line: "12:00:0{i}.250 -> T:{a},H:{b}", want: "time [s], T, H"},
		{line: "[12:00:0{i}.250] T:{a} H:{b}", want: "time [s], T, H"},
		{line: "12:00:0{i}.250 -> {a},{b}", want: "1 [s], 2, 3"},
		{line: "12:00:0{i}.250 -> {a}\t{b}", want: "1 [s], 2, 3"},
		{line: "12:00:0{i}.250 -> {a} {b}", want: "1 [s], 2, 3"},

		{line: "T:nan,H:{a}", want: "T, H"},
		{line: "T:-inf,H:{a}", want: "T, H"},
		{line: "T:nanC,H:{a}", want: "T [C], H"},
		{line: "T:inf C,H:{a}", want: "T [C], H"},
		{line: "p:0bar,H:{a}", want: "p [bar], H"},

		// As for level:WARN, of which no letters are a number: words that begin with inf or nan, and notations of programs.
		{line: "level:WARN,T:{a},H:{b}", why: "expected a label before each number"},
		{line: "level:INFO,T:{a},H:{b}", why: "expected a label before each number"},
		{line: "board:nano;T:{a};H:{b}", why: "expected a label before each number"},
		{line: "board:Nano33 T:{a} H:{b}", why: "expected a label before each number"},
		{line: "id:0x1F,T:{a},H:{b}", why: "expected a label before each number"},
		{line: "id:0b101,T:{a},H:{b}", why: "expected a label before each number"},
		{line: "T:{i},5,H:{b}", why: `line 1: expected a label before each number, as T:21.3,H:40, found "T:0,5,H:0" (write`},
		{line: "({a}, {b})", why: "no data rows"},
		{line: "[{i}] ax={a} ay={b}", why: "no data rows"},
		{line: "T:{a}H:{b}", why: "expected a label before each number"},
		{line: "T:{a} ({b}), H:{b}", why: "expected a label before each number"},
		{line: "x:{a}\ny:{b}", why: "lines of one value each, of x, y in turn (print them in one line, as x:…,y:…)"},
		{line: ">x:{i}:{a}\n>y:{i}:{b}", why: "lines of one value each, of x, y in turn"},
	} {
		t.Run(form.line, func(t *testing.T) {
			b := labelledText(form.line, 9)
			if form.why != "" {
				_, err := Format.Open(ingesttest.Source(b), ingest.Options{})
				require.ErrorContains(t, err, form.why)

				return
			}

			r := ingesttest.Open(t, Format, b, ingest.Options{})
			var names []string
			for _, channel := range r.Info().Channels {
				name := channel.Name
				if channel.Unit != "" {
					name += " [" + channel.Unit + "]"
				}

				names = append(names, name)
			}

			require.Equal(t, form.want, strings.Join(names, ", "))
			assertNumbers(t, r, form.line)
		})
	}
}

// labelledText returns rows of a form.
func labelledText(line string, rows int) []byte {
	var b strings.Builder
	for i := range rows {
		b.WriteString(strings.NewReplacer("{a}", fmt.Sprint(float64(i)+0.5), "{b}", fmt.Sprint(-2*i), "{i}",
			fmt.Sprint(i)).Replace(line) + "\n")
	}

	return []byte(b.String())
}

// assertNumbers expects the channels of a and b with the numbers that labelledText wrote.
func assertNumbers(t *testing.T, r ingest.Reader, line string) {
	t.Helper()

	n := len(r.Info().Channels)
	values := make([][]float64, n)
	channels := make([]int, n)
	for c := range values {
		values[c] = make([]float64, 9)
		channels[c] = c
	}

	_, err := r.Read(channels, 0, values)
	require.NoError(t, err)

	slopes := []float64{1}
	begins := []float64{0.5}
	if strings.Contains(line, "{b}") {
		slopes = append(slopes, -2)
		begins = append(begins, 0)
	}

	first := n - len(slopes) // the channels before it are the time
	for c := range slopes {
		for i, v := range values[first+c] {
			require.InDelta(t, begins[c]+slopes[c]*float64(i), v, 1e-12, "channel %d, row %d", c, i)
		}
	}
}

// Lines that do not fit: before the first row they are left out with a warning, behind it they are errors with their
// number. Names that the options give, and a delimiter, take precedence.
func TestLabelledLinesThatDiffer(t *testing.T) {
	rows := string(labelledText("T:{a},H:{b}", 9))
	r := ingesttest.Open(t, Format, []byte("MPU ready!\n5,H:3\n"+rows), ingest.Options{})
	assert.Equal(t, int64(9), r.Info().Channels[0].Samples)
	assert.Equal(t, "header-row header-row", ingesttest.Codes(r.Info().Warnings))
	assertNumbers(t, r, "{a}{b}")

	r = ingesttest.Open(t, Format, []byte(rows+"T:1,"), ingest.Options{Truncated: "use"})
	assert.Equal(t, int64(9), r.Info().Channels[0].Samples)
	assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings))

	r = ingesttest.Open(t, Format, []byte(rows), ingest.Options{Text: ingest.TextOptions{Columns: []string{"x", "y (N)"}}})
	assert.Equal(t, "x", r.Info().Channels[0].Name)
	assert.Equal(t, "N", r.Info().Channels[1].Unit)

	many := strings.Repeat(rows, 10)
	for line, want := range map[string]string{
		"T:1,H:2,P:3\n": `line 91: expected values of T, H, as in line 1, found "T:1,H:2,P:3" (correct the line`,
		"H:1,T:2\n":     `line 91: expected values of T, H, as in line 1, found "H:1,T:2"`,
		"T:,H:2\n":      `line 91: expected values of T, H, as in line 1, found "T:,H:2"`,
		"MPU ready!\n":  `line 91: expected values of T, H, as in line 1, found "MPU ready!"`,
		"T:1,":          "the last row is cut short; truncated: use under ingest leaves it out",
	} {
		_, err := Format.Open(ingesttest.Source([]byte(many+line)), ingest.Options{})
		assert.ErrorContains(t, err, want)
	}
}

// A line of names behind the times of a serial monitor names the columns.
func TestNamesBehindArrows(t *testing.T) {
	b := append([]byte("12:00:00.000 -> thrust (N),rpm\n"), labelledText("12:00:0{i}.250 -> {a},{b}", 9)...)
	r := ingesttest.Open(t, Format, b, ingest.Options{})
	require.Len(t, r.Info().Channels, 3)
	assert.Equal(t, "thrust", r.Info().Channels[1].Name)
	assert.Equal(t, "N", r.Info().Channels[1].Unit)
	assert.InDelta(t, 1, r.Info().Channels[1].RateHz, 1e-9, "a row each second")
	assertNumbers(t, r, "{a}{b}")
}

// Names of columns in quotes, in Greek and German, and words that begin with nan or inf are names. Cells without a
// value are none: the times stay the first column. Expected: the names as they stand in the line, and 9 or 10 times.
func TestFirstCellsBehindArrows(t *testing.T) {
	rows := string(labelledText("12:00:0{i}.250 -> {a},{b}", 9))
	for _, name := range []string{"nano_pressure", "inflow", "Überdruck", "Δp", `"p"`} {
		r := ingesttest.Open(t, Format, []byte("12:00:00.000 -> "+name+",rpm\n"+rows), ingest.Options{})
		require.Len(t, r.Info().Channels, 3, name)
		assert.Equal(t, "time", r.Info().Channels[0].Name, name)
		assert.Equal(t, strings.Trim(name, `"`), r.Info().Channels[1].Name)
		assertNumbers(t, r, "{a}{b}")
	}

	for _, cell := range []string{"nan", "NaN", "inf", "-inf", "Infinity", "null", "N/A", "-"} {
		r := ingesttest.Open(t, Format, []byte(rows+"12:00:09.250 -> "+cell+",3\n"), ingest.Options{})
		require.Len(t, r.Info().Channels, 3, cell)
		assert.Equal(t, int64(10), r.Info().Channels[0].Samples, cell)
		assert.InDelta(t, 1, r.Info().Channels[1].RateHz, 1e-9, "%s: a row each second", cell)
		assertNumbers(t, r, "{a}{b}")
	}
}

// A byte-order mark, as editors of Windows write it, and a drawn line between rows change nothing. Expected: the
// channels and the numbers of the text without them.
func TestMarksBesideLabels(t *testing.T) {
	for _, form := range []string{"T:{a},H:{b}", "12:00:0{i}.250 -> {a},{b}", "[12:00:0{i}.250] T:{a} H:{b}"} {
		rows := string(labelledText(form, 9))
		want := ingesttest.Open(t, Format, []byte(rows), ingest.Options{}).Info()
		first, others, _ := strings.Cut(rows, "\n")
		texts := []string{byteOrderMark + rows}
		if strings.Contains(form, "T:") {
			texts = append(texts, "-----\n"+rows, first+"\n-----\n"+others)
		}

		for _, text := range texts {
			r := ingesttest.Open(t, Format, []byte(text), ingest.Options{})
			assert.Equal(t, want.Channels, r.Info().Channels, text)
			assert.Empty(t, r.Info().Warnings, text)
			assertNumbers(t, r, "{a}{b}")
		}
	}
}

// A comment of nothing but its sign and a delimiter names no column, and is not an error.
func TestEmptyComments(t *testing.T) {
	r := ingesttest.Open(t, Format, []byte("%\t\n1e5 #\n%\t\n2e5 #\n%\t\n3e5 #\n"), ingest.Options{})
	require.Len(t, r.Info().Channels, 1)
	assert.Equal(t, int64(3), r.Info().Channels[0].Samples)
}
