package text

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// writtenUnit is a cell of a row of units, and the unit that a person reads in it.
type writtenUnit struct{ cell, unit string }

var writtenUnits = []writtenUnit{
	{"kN", "kN"},
	{"N", "N"},
	{"/", ""},
	{"-", ""},
	{"[-]", ""},
	{"degrees", "deg"},
	{"deg", "deg"},
	{"degr._C", "°C"},
	{"degC", "°C"},
	{"Pa", "Pa"},
	{"hPa", "hPa"},
	{"mm", "mm"},
	{"m/s", "m/s"},
	{"1/min", "1/min"},
	{"[Nm]", "Nm"},
	{"(V)", "V"},
	{"%", "%"},
	{"No", ""},
	{"x/c", ""},
	{"", ""},
	{"kg/m3", "kg/m3"},
	{"mV", "mV"},
	{"RPM", "RPM"},
}

// writtenHeader is a file as rapid writes it, and what a person reads in it.
type writtenHeader struct {
	text    string
	names   []string // "": the column has none
	units   []string
	columns [][]float64
}

// plainNames are names that are not units. They may repeat.
var plainNames = []string{
	"Run", "Alpha", "Fx", "Fy", "Mz", "Cp_1", "Cp_2", "CL", "CD", "U_inf", "Temp", "Druck", "rpm_set", "Kraft x",
	"q_inf", "Lift",
}

// headerWriter draws the lines of a file.
type headerWriter struct {
	writtenHeader
	*rapid.T
	separator, decimal string
	lines              []string
}

// isOneIn reports true once in n draws.
func (w *headerWriter) isOneIn(n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(w.T, label) == 0
}

// add adds a line of cells.
func (w *headerWriter) add(cells []string) {
	quoted := slices.Clone(cells)
	for i, cell := range quoted {
		if w.separator == "," && strings.Contains(cell, ",") {
			quoted[i] = strconv.Quote(cell)
		}
	}

	w.lines = append(w.lines, strings.Join(quoted, w.separator))
}

// number writes a number with the decimal sign.
func (w *headerWriter) number(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', -1, 64), ".", w.decimal, 1)
}

// position draws a position.
func (w *headerWriter) position() string {
	return w.number(float64(rapid.IntRange(0, 2000).Draw(w.T, "position")) / 20)
}

// drawHeader writes a file: a title, names, units, positions, blank lines and repeated names in several orders, with
// every separator and decimal sign.
func drawHeader(t *rapid.T) writtenHeader {
	cols := rapid.IntRange(2, 6).Draw(t, "columns")
	w := &headerWriter{
		T:         t,
		separator: rapid.SampledFrom([]string{"\t", ";", ",", "  "}).Draw(t, "separator"),
		decimal:   rapid.SampledFrom([]string{".", ","}).Draw(t, "decimal"),
		writtenHeader: writtenHeader{
			names: make([]string, cols), units: make([]string, cols), columns: make([][]float64, cols),
		},
	}
	if w.isOneIn(5, "title") {
		w.lines = append(w.lines, "Wind tunnel test of a wing")
	}

	inNames := w.isOneIn(4, "units in the names")
	w.drawNames(inNames)
	w.drawRowsBelow(inNames)
	if w.isOneIn(5, "blank line") {
		k := rapid.IntRange(0, len(w.lines)).Draw(t, "place of the blank line")
		w.lines = slices.Insert(w.lines, k, "")
	}

	w.drawData()
	w.text = strings.Join(w.lines, "\n") + "\n"

	return w.writtenHeader
}

// drawNames writes the row of names, once or twice.
func (w *headerWriter) drawNames(withUnits bool) {
	heads := make([]string, len(w.names))
	for i := range w.names {
		name := rapid.SampledFrom(plainNames).Draw(w.T, "name")
		if w.separator == "  " {
			name = strings.ReplaceAll(name, " ", "_")
		}

		if i > 0 && w.separator != "  " && w.isOneIn(10, "no name") {
			name = ""
		}

		w.names[i] = name
		heads[i] = name
		if withUnits && name != "" {
			w.units[i] = rapid.SampledFrom([]string{"N", "kN", "deg", "Pa"}).Draw(w.T, "unit in the name")
			heads[i] += "[" + w.units[i] + "]"
		}
	}

	w.add(heads)
	if w.isOneIn(10, "names again") {
		w.add(heads)
	}
}

// drawRowsBelow writes the rows of units and positions.
func (w *headerWriter) drawRowsBelow(inNames bool) {
	var below [][]string
	if !inNames && rapid.Bool().Draw(w.T, "units") {
		below = append(below, w.drawUnits())
	}

	if w.isOneIn(4, "positions") {
		cells := make([]string, len(w.names))
		cells[0] = rapid.SampledFrom([]string{"x/c", "y[mm]", "mm", "Position", "", "/", "No"}).Draw(w.T, "label")
		if cells[0] == "" && w.separator == "  " {
			cells[0] = "x/c"
		}

		for i := 1; i < len(cells); i++ {
			cells[i] = w.position()
		}

		below = append(below, cells)
	}

	if len(below) > 1 && rapid.Bool().Draw(w.T, "positions first") {
		slices.Reverse(below)
	}

	for _, cells := range below {
		if strings.Join(cells, "") != "" {
			w.add(cells)
		}
	}
}

// drawUnits returns a row of units, with positions in some cells.
func (w *headerWriter) drawUnits() []string {
	cells := make([]string, len(w.names))
	for i := range cells {
		unit := rapid.SampledFrom(writtenUnits).Draw(w.T, "unit")
		if unit.cell == "" && w.separator == "  " {
			unit.cell = "-"
		}

		cells[i] = unit.cell
		w.units[i] = unit.unit
		if i > 0 && w.isOneIn(6, "position among units") {
			cells[i] = w.position()
			w.units[i] = ""
		}
	}

	return cells
}

// drawData writes rows of numbers. The first column counts.
func (w *headerWriter) drawData() {
	scales := make([]float64, len(w.names))
	for i := range scales {
		scales[i] = rapid.SampledFrom([]float64{1, 0.1, 0.001}).Draw(w.T, "scale")
	}

	count := rapid.IntRange(1, 12).Draw(w.T, "rows")
	for k := range count {
		cells := make([]string, len(w.names))
		for i := range cells {
			v := float64(rapid.IntRange(-2000, 2000).Draw(w.T, "value")) * scales[i]
			if i == 0 {
				v = float64(k + 1)
			}

			cells[i] = w.number(v)
			read, err := strconv.ParseFloat(strings.Replace(cells[i], w.decimal, ".", 1), 64)
			require.NoError(w.T, err)
			w.columns[i] = append(w.columns[i], read)
		}

		w.add(cells)
	}
}

// notUnderstood are the codes of warnings which say that the reader did not understand the header.
var notUnderstood = []string{"no-header", "second-row", "header-row", "numeric-header"}

// verdict returns "right" if the reader finds what was written, "refused" if it says that it does not understand the
// file, and otherwise what it reads wrongly without a warning.
func (w writtenHeader) verdict(t require.TestingT) string {
	r, err := openString(w.text, ingest.Options{})
	if err != nil {
		return "refused"
	}

	info := r.Info()
	for _, warning := range info.Warnings {
		if slices.Contains(notUnderstood, warning.Code) {
			return "refused"
		}
	}

	if len(info.Channels) != len(w.columns) {
		return fmt.Sprintf("%d channels", len(info.Channels))
	}

	for i, ch := range info.Channels {
		values := make([]float64, ch.Samples)
		n, err := r.Read([]int{i}, 0, [][]float64{values})
		if err != nil && !errors.Is(err, io.EOF) {
			return "refused"
		}

		if !slices.Equal(values[:n], w.columns[i]) {
			return fmt.Sprintf("column %d is %v", i+1, values)
		}

		name := w.names[i]
		if name == "" {
			name = strconv.Itoa(i + 1)
		}

		if ch.Name != name {
			return fmt.Sprintf("column %d is called %q", i+1, ch.Name)
		}

		isTime := ch.IsTime() && w.units[i] == "" // the unit of a time that states none is s
		if ch.Unit != w.units[i] && !isTime {
			return fmt.Sprintf("column %d has unit %q, not %q", i+1, ch.Unit, w.units[i])
		}
	}

	return "right"
}

// TestHeaders reads headers of many forms. The reader must find the names, units and values that were written, or say
// that it does not understand the header.
func TestHeaders(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	former := checks.String()
	require.NoError(t, checks.Set(strconv.Itoa(longtest.Count(300, 5000))))
	t.Cleanup(func() { require.NoError(t, checks.Set(former)) })

	counts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawHeader(t)
		got := w.verdict(t)
		counts[got]++
		if got != "right" && got != "refused" {
			t.Fatalf("%s:\n%s", got, w.text)
		}
	})

	t.Logf("%v", counts)
	require.Greater(t, counts["right"], 4*counts["refused"], "right files, against four times the refused files")
}

// A comment without a word says nothing about the columns, wherever it stands.
func TestBareComment(t *testing.T) {
	for _, text := range []string{"#\nt F\n0 1\n1 2\n2 3\n", "t F\n#\n0 1\n1 2\n2 3\n", "t F\n0 1\n#\n1 2\n2 3\n"} {
		r, err := openString(text, ingest.Options{})
		require.NoError(t, err, "%q", text)
		assert.Equal(t, "F", r.Info().Channels[1].Name, "%q", text)
		assert.Empty(t, r.Info().Channels[1].Unit, "%q", text)
	}
}

// TestSecondRow reads rows below the names, in the forms of public files and their siblings. The expected names, units
// and positions are what a person reads in them.
func TestSecondRow(t *testing.T) {
	const data = "1\t0.5\t20\n2\t0.6\t21\n3\t0.7\t22\n4\t0.8\t23\n"
	for _, c := range []struct {
		name, head string
		want       string // names, units in brackets and positions behind @
		warns      string
	}{
		{"slashes", "Run\tFx\tT\n/\tkN\t/\n", "Run, Fx [kN], T", ""},
		{"dashes", "Run\tFx\tT\n-\tkN\t-\n", "Run, Fx [kN], T", ""},
		{"a number", "Run\tFx\tT\nNo\tkN\tdegr._C\n", "Run, Fx [kN], T [°C]", ""},
		{"a number in German", "Run\tFx\tT\nNr.\tkN\tGrad C\n", "Run, Fx [kN], T [°C]", ""},
		{"degrees", "Run\tAlpha\tT\n/\tdegrees\tdegC\n", "Run, Alpha [deg], T [°C]", ""},
		{"no unit at all", "Run\tCL\tCD\n/\t/\t/\n", "Run, CL, CD", ""},
		{"lengths over chord", "Run\tX\tCp\nNo\tx/c\tPa\n", "Run, X, Cp [Pa]", ""},
		{"millimetres", "Run\tX\tY\nmm\tmm\tmm\n", "Run [mm], X [mm], Y [mm]", ""},
		{"in brackets", "Run\tFx\tT\n[-]\t[kN]\t[K]\n", "Run, Fx [kN], T [K]", ""},
		{"in round brackets", "Run\tFx\tT\n(-)\t(kN)\t(K)\n", "Run, Fx [kN], T [K]", ""},
		{"as words", "Run\tFx\tT\nsequence\tNewtons\tKelvin\n", "Run, Fx [N], T [K]", ""},
		{"positions among units", "Run\tQ\tCp\n/\tPa\t95.20\n", "Run, Q [Pa], Cp @95.2", ""},
		{"positions in a row", "Run\tCp1\tCp2\nx/c\t0.00\t0.05\n", "Run, Cp1 @0, Cp2 @0.05", ""},
		{"positions in a unit", "Run\tp1\tp2\ny [mm]\t-10\t10\n", "Run, p1 @-10, p2 @10", ""},
		{"a unit of positions", "Run\tp1\tp2\nmm\t-10\t10\n", "Run, p1 @-10 mm, p2 @10 mm", "second-row"},
		{"positions without a label", "Run\tp1\tp2\n\t-10\t10\n", "Run, p1 @-10, p2 @10", ""},
		{"positions in two rows", "Run\tp1\tp2\nx/c\t0.1\t0.2\ny/c\t0\t0.4\n", "Run, p1 @0.1, 0, p2 @0.2, 0.4", ""},
		{"positions in three rows", "Run\tp1\tp2\nx\t1\t\ny\t3\t4\nz\t\t9\n", "Run, p1 @1, 3, p2 @4, 9", ""},
		{"labels that are signs", "Run\tp1\tp2\n/\t1\t2\n/\t3\t4\n", "Run, p1 @1, 3, p2 @2, 4", ""},
		{"a row without a label", "Run\tp1\tp2\n\t1\t2\ny\t3\t4\n", "Run, p1 @1, 3, p2 @2, 4", ""},
		{"an empty position", "Run\tp1\tp2\n\t5\t\n", "Run, p1 @5, p2", ""},
		{
			"units of positions in two rows", "Run\tp1\tp2\nmm\t1\t2\nmm\t3\t4\n", "Run, p1 @1 mm, 3 mm, p2 @2 mm, 4 mm",
			"second-row second-row",
		},
		{"units and positions", "Run\tp1\tp2\n-\tkPa\tkPa\nx/c\t0.1\t0.2\n", "Run, p1 [kPa] @0.1, p2 [kPa] @0.2", ""},
		{"positions and units", "Run\tp1\tp2\nx/c\t0.1\t0.2\n-\tkPa\tkPa\n", "Run, p1 [kPa] @0.1, p2 [kPa] @0.2", ""},
		{"a percent sign", "Run\tFx\tT\n%\tkN\tK\n", "Run [%], Fx [kN], T [K]", ""},
		{"units in a comment", "Run\tFx\tT\n# -\tkN\tK\n", "Run, Fx [kN], T [K]", ""},
		{"a one for no unit", "Run\tFx\tCL\n-\tkN\t1\n", "Run, Fx [kN], CL", ""},
		{"nothing but units", "ms\tkN\tkPa\n", "ms [ms], kN [kN], kPa [kPa]", ""},
		{"names twice", "Run\tFx\tT\nRun\tFx\tT\n-\tkN\tK\n", "Run, Fx [kN], T [K]", ""},
		{"a blank line", "Run\tFx\tT\n\n/\tkN\tK\n\n", "Run, Fx [kN], T [K]", ""},
		{"a length and ones", "Run\tp1\tp2\nm\t1\t1\n", "Run, p1, p2", "second-row"},
		{"a one and slashes", "Run\tp1\tp2\n1\t/\t/\n", "Run, p1, p2", ""},
		{"a slash and positions", "Run\tp1\tp2\n/\t0.1\t0.2\n", "Run, p1 @0.1, p2 @0.2", ""},
		{"a number of a run", "Run\tp1\tp2\n7\tkN\t95.2\n", "Run @7, p1 [kN], p2 @95.2", ""},
	} {
		r, err := openString(c.head+data, ingest.Options{})
		require.NoError(t, err, "%s", c.name)
		ingesttest.ReadAll(t, r)

		var columns, warns []string
		for _, ch := range r.Info().Channels {
			column := strings.TrimSuffix(ch.Name+" ["+ch.Unit+"]", " []")
			for _, a := range ch.Attributes {
				if a.Name == "position" {
					column += " @" + a.Value
				}
			}

			columns = append(columns, column)
		}

		for _, warning := range r.Info().Warnings {
			warns = append(warns, warning.Code)
		}

		assert.Equal(t, c.want, strings.Join(columns, ", "), "%s", c.name)
		assert.Equal(t, c.warns, strings.Join(warns, " "), "%s", c.name)
		assert.EqualValues(t, 4, r.Info().Channels[0].Samples, "%s: rows", c.name)
	}
}

// A first sample may have signs for missing values, as SAS, Stata and people write them. It is not a row of units: it
// begins with a number, and none of its words is a unit for sure.
func TestFirstSampleMissesValues(t *testing.T) {
	const samples = 9
	for _, first := range []string{
		"0.0000,1.2,.", "0.0000,1.2,–", "0.0000,1.2,*", "0.0000,1.2,/", "0.5000,*,*", "0.5000,.,.", "0.5000,.,0.3",
		"0.5000,–,–",
	} {
		r, err := openString("time,p,q\n"+first+"\n"+rows(samples, xyz), ingest.Options{})
		require.NoError(t, err, "%s", first)

		tolerant, ok := r.(ingest.Tolerant)
		require.True(t, ok, "%s", first)
		tolerant.Tolerate([]bool{true, true, true})

		values := ingesttest.ReadAll(t, r)
		for k, cell := range strings.Split(first, ",") {
			want, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				want = math.NaN()
			}

			require.Len(t, values[k], samples+1, "%s: column %d", first, k+1)
			assert.InDelta(t, want, values[k][0], 1e-9, "%s: column %d", first, k+1)
			for _, a := range r.Info().Channels[k].Attributes {
				assert.NotEqual(t, "position", a.Name, "%s: column %d", first, k+1)
			}
		}
	}
}

// TestHeaderSeparators reads headers that are separated in another way than their rows, which a warning says. Titles
// are not headers.
func TestHeaderSeparators(t *testing.T) {
	for _, c := range []struct{ name, text, want, warns string }{
		{"commas above tabs", "Z[mm],Pdin[Pa], Pt[Pa]\n0\t2\t3\n5\t2\t4\n", "Z [mm], Pdin [Pa], Pt [Pa]", "header-separator"},
		{"commas above blanks", "x,y,p\n0 2 3\n5 2 4\n", "x, y, p", "header-separator"},
		{"semicolons above tabs", "x;y (m);p\n0\t2\t3\n5\t2\t4\n", "x, y [m], p", "header-separator"},
		{"tabs above commas", "x\ty\tp\n0,2,3\n5,2,4\n", "x, y, p", "header-separator"},
		{"below a title", "Wake of wing 7\nz,q,p\n0\t2\t3\n5\t2\t4\n", "z, q, p", "header-separator"},
		{"in a comment", "# z,q,p\n0\t2\t3\n5\t2\t4\n", "z, q, p", "header-separator"},
		{"a title", "Wing 7, run 3, cold\n0\t2\t3\n5\t2\t4\n", "1, 2, 3", "no-header"},
		{"a setting", "U = 20, alpha = 3, beta = 0\n0\t2\t3\n5\t2\t4\n", "1, 2, 3", "no-header"},
		{"another number of names", "z,q\n0\t2\t3\n5\t2\t4\n", "1, 2, 3", "no-header"},
		{"of R", "\"G\" \"F\"\n\"1\" 2 3\n\"2\" 5 6\n", "1, G, F", ""},
		{"of R with tabs", "G\tF\n1\t2\t3\n2\t5\t6\n", "1, G, F", ""},
		{"one name less, and no numbers of rows", "t F\n4 2 3\n9 5 6\n", "1, 2, 3", "no-header"},
		{"serial numbers below", "t,F,M\n,SN1234,SN5678\n0.0,2,3\n0.1,5,6\n", "t [s], F, M", "second-row"},
		{"comments of semicolons", ";logger 7\n;t F M\n0.0 2 3\n0.1 5 6\n", "t [s], F, M", ""},
		{"names of its own", "a,b,c\nz\tq\tp\n0\t2\t3\n5\t2\t4\n", "z, q, p", ""},
	} {
		r, err := openString(c.text, ingest.Options{})
		require.NoError(t, err, "%s", c.name)

		var columns []string
		for _, ch := range r.Info().Channels {
			columns = append(columns, strings.TrimSuffix(ch.Name+" ["+ch.Unit+"]", " []"))
		}

		assert.Equal(t, c.want, strings.Join(columns, ", "), "%s", c.name)
		assert.Equal(t, c.warns, ingesttest.Codes(r.Info().Warnings), "%s", c.name)
	}
}

// Rows behind the samples that are computed from them are errors, whatever column is read. Words in columns of text are
// not.
func TestSummaryRows(t *testing.T) {
	const data = "x,F,M\n0,2,3\n1,5,6\n2,5,4\n"
	for _, row := range []string{
		"Mean,4,4.3", "mean:,4,4.3", "AVG,4,4.3", "Average,4,4.3", "Min,2,3", "Maximum,5,6", "Std,1,1", "Std. dev.,1,1",
		"StdDev,1,1", "standard deviation,1,1", "Sum,12,13", "Total,12,13", "Count,3,3",
		"Median,5,4", "RMS,4,4", "Mittelwert,4,4.3",
		"Summe,12,13", "Moyenne,4,4.3", "Media,4,4.3", ",mean,4.3", "Mean,4,4.3\n\nMax,5,6", "sigma,1,1",
	} {
		_, err := openString(data+row+"\n", ingest.Options{})
		require.ErrorContains(t, err, "expected a row of samples, found a row of", "%s", row)
	}

	for _, text := range []string{
		"mode,F\nmax,2\nmax,5\nmin,6\n", "t,F,mode\n0,2,max\n1,5,min\n2,5,mean\n", "mean,max\n2,3\n4,5\n",
	} {
		_, err := openString(text, ingest.Options{})
		require.NoError(t, err, "%s", text)
	}
}

// Rows that are neither data nor units nor positions are errors that name the row.
func TestUnknownSecondRow(t *testing.T) {
	const data = "1\t0.5\t20\n2\t0.6\t21\n3\t0.7\t22\n4\t0.8\t23\n"
	for _, c := range []struct{ name, text, want string }{
		{"words and numbers", "Run\tp1\tp2\nSensor\tfurlongs\t95.2\n" + data, "line 2, column 1: expected a row of data"},
		{"no units", "Run\tp1\tp2\nwing\toff\t95.2\n" + data, "line 2, column 1: expected a row of data"},
		{"no labels", "Run\tp1\tp2\n\t0.1\t0.2\n\t0.3\t0.4\n" + data, "line 2: expected a row of data"},
		{"no second label", "Run\tp1\tp2\nx\t1\t2\n\t3\t4\n\t5\t6\n" + data, "line 3: expected a row of data"},
		{
			"again among the data", "Run\tp1\tp2\n/\tPa\t95.2\n" + data + "/\tPa\t95.2\n" + data,
			"line 7: expected a row of data, found the row of units or positions again",
		},
	} {
		r, err := openString(c.text, ingest.Options{})
		if err == nil { // then reading must fail
			_, err = r.Read([]int{2}, 0, [][]float64{make([]float64, r.Info().Channels[2].Samples)})
		}

		require.ErrorContains(t, err, c.want, "%s", c.name)
	}
}
