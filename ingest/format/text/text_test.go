package text

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openString(s string, o ingest.Options) (ingest.Reader, error) {
	return Format.Open(ingesttest.Source([]byte(s)), o)
}

// TestTextLayouts reads texts in many layouts. The expected values are what a person reads in them.
func TestTextLayouts(t *testing.T) {
	var none ingest.TextOptions
	for _, c := range []struct {
		name, text string
		o          ingest.TextOptions
		want       string // names and units, values by channel, rate, warnings
	}{
		{"comma", "a,b\n1,2\n3,4\n", none, "comma separated: a, b [[1 3] [2 4]]"},
		{
			"empty columns with names at the end", "a,b,c,d,\n1,2,,,\n3,4,,,\n5,6,,,\n", none,
			"comma separated: a, b [[1 3 5] [2 4 6]] text-column text-column",
		},
		{"no header", "1,2\n3,4", none, "comma separated: 1, 2 [[1 3] [2 4]]"},
		{"one row", "1,2\n", none, "comma separated: 1, 2 [[1] [2]]"},
		{"header and one row", "a,b\n1,2\n", none, "comma separated: a, b [[1] [2]]"},
		{"comma and blanks", "a, b\n1, 2\n3, 4\n", none, "comma separated: a, b [[1 3] [2 4]]"},
		{"CRLF, BOM, trailing", "\ufeffa;b;\r\n1;2;\r\n3;4;\r\n\r\n", none, "semicolon separated: a, b [[1 3] [2 4]]"},
		{
			"decimal comma", "a;b\n1,5;2,25\n-3,5e2;4\n", none,
			"semicolon separated, decimal comma: a, b [[1.5 -350] [2.25 4]]",
		},
		{
			"decimal comma, tabs", "1,5\t2,25\n3\t4,125\n", none,
			"tab separated, decimal comma: 1, 2 [[1.5 3] [2.25 4.125]]",
		},
		{"blanks", "   1.5   2 \n  -3    4\n", none, "blank separated: 1, 2 [[1.5 -3] [2 4]]"},
		{
			"tabs with blanks in names", "Lift\tDrag\tTime (s)\n1\t2\t0\n3\t4\t0.25\n5\t6\t0.5\n", none,
			"tab separated: Lift, Drag, Time [s] [[1 3 5] [2 4 6] [0 0.25 0.5]] 4 Hz",
		},
		{
			"blanks, units in brackets", "Time (s)   Fx [N]\n0 1\n0.5 2\n1 3\n", none,
			"blank separated: Time [s], Fx [N] [[0 0.5 1] [1 2 3]] 2 Hz",
		},
		{"units row", "t,F\nms,N\n0,1\n10,2\n", none, "comma separated: t [ms], F [N] [[0 10] [1 2]] 100 Hz"},
		{
			"units row in brackets", "t,F\n[s],[N]\n0,1\n10,2\n", none,
			"comma separated: t [s], F [N] [[0 10] [1 2]] 0.1 Hz",
		},
		{
			"comments", "# balance: A\n% x\n// y\n! z\n; w\na,b\n1,2\n# pause\n\n3,4\n", none,
			"comma separated: a, b [[1 3] [2 4]]",
		},
		{"header in a comment", "# Fx,Fy\n1,2\n3,4\n", none, "comma separated: Fx, Fy [[1 3] [2 4]]"},
		{
			"preamble", "Project: wing\nOperator: me\nSample rate, 1000, Hz, x\na,b\n1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n", none,
			"comma separated: a, b [[1 3 5 7 9 11] [2 4 6 8 10 12]] 1000 Hz",
		},
		{
			"quotes", "\"a, x\",\"b \"\"q\"\"\"\n\"1\",2\n3,\"4\"\n", none,
			"comma separated: a, x, b \"q\" [[1 3] [2 4]]",
		},
		{"one column", "Lift\n1\n2\n3\n", none, "tab separated: Lift [[1 2 3]]"},
		{"text column", "when,F\nmon,1\ntue,2\nwed,3\n", none, "comma separated: F [[1 2 3]] text-column"},
		{"empty column", "a,b,c\n1,,2\n3,,4\n", none, "comma separated: a, c [[1 3] [2 4]] text-column"},
		{
			"names that are numbers", "Time,1,2\n0,5,6\n1,7,8\n", none,
			"comma separated: Time [s], 1, 2 [[0 1] [5 7] [6 8]] 1 Hz numeric-header clock-unit",
		},
		{
			"columns named", "1 2\n3 4\n",
			ingest.TextOptions{Columns: []string{"F [N]", "M"}},
			"blank separated: F [N], M [[1 3] [2 4]]",
		},
		{"clock named", "1 2\n3 4\n", ingest.TextOptions{Time: "2"}, "blank separated: 1, 2 [s] [[1 3] [2 4]] 0.5 Hz"},
		{"clock useless", "time,F\n5,1\n5,2\n", none, "comma separated: time [s], F [[5 5] [1 2]] clock-useless"},
		{
			"a clock that pauses", "t,F\n0,1\n1,2\n2,3\n103,4\n104,5\n105,6\n", none,
			"comma separated: t [s], F [[0 1 2 103 104 105] [1 2 3 4 5 6]] 1 Hz clock-gaps clock-unit",
		},
		{
			"delimiter stated", "1;2\n3;4\n",
			ingest.TextOptions{Delimiter: "semicolon"},
			"semicolon separated: 1, 2 [[1 3] [2 4]]",
		},
		{"only delimiters", "a,b\n1,2\n,\n , \n3,4\n", none, "comma separated: a, b [[1 3] [2 4]]"},
		{"Fortran exponent", "1.5D+01 2\n3 4d-1\n", none, "blank separated: 1, 2 [[15 3] [2 0.4]]"},
		{"DOS end", "1,2\r\n3,4\r\n\x1a", none, "comma separated: 1, 2 [[1 3] [2 4]]"},
	} {
		r, err := openString(c.text, ingest.Options{Text: c.o})
		require.NoError(t, err, c.name)

		var columns, more []string
		info := r.Info()
		for _, ch := range info.Channels {
			assert.Equal(t, info.Channels[0].RateHz, ch.RateHz, "rate")
			columns = append(columns, strings.TrimSuffix(ch.Name+" ["+ch.Unit+"]", " []"))
		}

		if hz := info.Channels[0].RateHz; hz > 0 {
			more = append(more, fmt.Sprintf(" %g Hz", hz))
		}

		for _, w := range info.Warnings {
			more = append(more, " "+w.Code)
		}

		got := info.Encoding + ": " + strings.Join(columns, ", ") + fmt.Sprint(" ", ingesttest.ReadAll(t, r)) +
			strings.Join(more, "")
		assert.Equal(t, c.want, got, "%s", c.name)
	}
}

// rows writes n rows. In the format of a row, # stands for the number of the row as an integer, and a verb such as
// %[1]g for the number as a float64.
func rows(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, strings.ReplaceAll(format, "#", strconv.Itoa(i)), float64(i))
	}

	return b.String()
}

// A headerShape is a header as instruments and people write it. The expected names, units and rates are what a person
// reads in it.
type headerShape struct {
	name, text string
	want       string  // names and units
	rateHz     float64 // 0: none
	warns      string  // codes of warnings
}

// Rows of two and of three columns, for headers whose cells commas separate.
const xy, xyz = "%[1]g,1#\n", "%[1]g,1#,2#\n"

// check opens the text and compares its columns with those that are wanted.
func (c headerShape) check(t *testing.T) {
	t.Helper()

	r, err := openString(c.text, ingest.Options{})
	require.NoError(t, err, "%s", c.name)

	var names, warns []string
	info := r.Info()
	for _, ch := range info.Channels {
		names = append(names, strings.TrimSuffix(ch.Name+" ["+ch.Unit+"]", " []"))
	}

	for _, w := range info.Warnings {
		if w.Code != "clock-unit" { // whole numbers without a unit
			warns = append(warns, w.Code)
		}
	}

	assert.Equal(t, c.want, strings.Join(names, ", "), "%s: names and units", c.name)
	assert.InDelta(t, c.rateHz, info.Channels[0].RateHz, 1e-6*c.rateHz, "%s: rate", c.name)
	assert.Equal(t, c.warns, strings.Join(warns, " "), "%s: warnings", c.name)

	for k, values := range ingesttest.ReadAll(t, r) {
		assert.Len(t, values, int(info.Channels[k].Samples), "%s: values of channel %d", c.name, k)
	}
}

// Titles and the names of groups of columns stand above the names. cmd/app has the title as case title-above-header.
func TestTitlesAndGroups(t *testing.T) {
	for _, c := range []headerShape{
		{"title", "Run 7 of the wing\nt (s),Fx (N)\n" + rows(9, xy), "t [s], Fx [N]", 1, ""},
		{"title as wide as the rows", ",Balance,\nt (s),Fx (N),Fz (N)\n" + rows(9, xyz), "t [s], Fx [N], Fz [N]", 1, ""},
		{
			"title in every column", "Run 7,2024-05-01,wing\nt (s),Fx (N),Fz (N)\n" + rows(9, xyz),
			"t [s], Fx [N], Fz [N]", 1, "",
		},
		{"groups", "Tunnel,Balance,Balance\nq (Pa),Fx (N),Fz (N)\n" + rows(9, xyz), "q [Pa], Fx [N], Fz [N]", 0, ""},
		{"groups and units", "Tunnel,Balance,\nq,Fx,Fz\nPa,N,N\n" + rows(9, xyz), "q [Pa], Fx [N], Fz [N]", 0, ""},
		{"units but of one", "PT  ALPHA  Q\n    deg    Pa\n" + rows(9, "%g 1# 2#\n"), "PT, ALPHA, Q", 0, "no-header"},
		{"groups with tabs", "\tBalance\t\nt\tFx\tFz\ns\tN\tN\n" + rows(9, "%g\t1#\t2#\n"), "t [s], Fx [N], Fz [N]", 1, ""},
		{"names in two lines", "Time,Balance,Balance\n,Fx,Fz\ns,N,N\n" + rows(9, xyz), "Time [s], Fx [N], Fz [N]", 1, ""},
		{"names in two lines, merged", "Time,Balance,\n,Fx,Fz\n" + rows(9, xyz), "Time [s], Fx, Fz", 1, ""},
		{"names in two lines, repeated", "Time,Balance,Balance\n,Fx,Fz\n" + rows(9, xyz), "Time [s], Fx, Fz", 1, ""},
		{"names in two lines, units", "Time,Balance\n,Fx\ns,N\n" + rows(9, xy), "Time [s], Fx [N]", 1, ""},
		{"units but of the time", "Time (s),Fx,Fz\n,N,N\n" + rows(9, xyz), "Time [s], Fx [N], Fz [N]", 1, ""},
		{"channels below names", "Time (s),Fx,Fz\nAI0,AI1,AI2\n" + rows(9, xyz), "Time [s], Fx, Fz", 1, "second-row"},
		{"two titles", "Wing,,\n,Balance,\nt (s),Fx (N),Fz (N)\n" + rows(9, xyz), "t [s], Fx [N], Fz [N]", 1, ""},
		{"names that are units", "Motor 1,,\nV,A,W\n" + rows(9, xyz), "V, A, W", 0, ""},
		{"names and units that are units", "h,m\ns,N\n" + rows(9, xy), "h [s], m [N]", 0, ""},
		{"four lines", "Wing 7\nt,Fx,Fz\ns,N,N\nraw,raw,raw\n" + rows(9, xyz), "t [s], Fx [N], Fz [N]", 1, ""},
		{"four lines, no units", "Wing 7\nCard 1\nt,Fx,Fz\nraw,raw,raw\n" + rows(9, xyz), "t [s], Fx, Fz", 1, ""},
	} {
		c.check(t)
	}
}

// Separators at the ends of lines make no columns.
func TestTrailingSeparators(t *testing.T) {
	for _, c := range []headerShape{
		{"trailing commas", "t,Voltage,,,\n" + rows(9, "%g,1#,,,\n"), "t [s], Voltage", 1, ""}, // case trailing-commas
		{"trailing commas of the header", "t,Voltage,,,\n" + rows(9, xy), "t [s], Voltage", 1, ""},
		{"trailing commas of the rows", "t,Voltage\n" + rows(9, "%g,1#,,,\n"), "t [s], Voltage", 1, ""},
		{"trailing semicolons", "t;Voltage;;;;\n" + rows(9, "%g;1#;;\n"), "t [s], Voltage", 1, ""},
		{"trailing tabs", "t\tVoltage\t\t\n" + rows(9, "%g\t1#\t\t\t\n"), "t [s], Voltage", 1, ""},
		{"names of empty columns", "t,F,Note,\n" + rows(9, "%g,1#,,\n"), "t [s], F", 1, "text-column"},
		{"trailing commas of some rows", "t,F\n" + rows(5, "%g,1#,,\n") + "5,1\n6,1,\n7,1\n", "t [s], F", 1, ""},
	} {
		c.check(t)
	}
}

// Dashes underline names.
func TestDashesInHeaders(t *testing.T) {
	for _, c := range []headerShape{
		{"dashes", "  alpha     CL\n ------ --------\n" + rows(9, "%g 1#\n"), "alpha, CL", 0, ""}, // case dashes-under-header
		{"dashes with commas", "alpha,CL\n-----,--\n" + rows(9, xy), "alpha, CL", 0, ""},
		{"double line", "alpha CL\n========\n" + rows(9, "%g 1#\n"), "alpha, CL", 0, ""},
		{"dashes between names and units", "t CL\n--- ---\n(s) (-)\n" + rows(9, "%g 1#\n"), "t [s], CL", 1, ""},
		{"dashes in comments", "# t CL\n# -----\n" + rows(9, "%g 1#\n"), "t [s], CL", 1, ""},
		{"dashes above and below", "------\nt CL\n------\n" + rows(9, "%g 1#\n"), "t [s], CL", 1, ""},
	} {
		c.check(t)
	}
}

// Units stand in a row of their own, in brackets, or behind the names.
func TestUnitsInHeaders(t *testing.T) {
	for _, c := range []headerShape{
		{"units bare", "t,M,p\nms,N·m,hPa\n" + rows(9, xyz), "t [ms], M [N·m], p [hPa]", 1000, ""},
		{"units in brackets", "t,M,n\n[ms],[N·m],[-]\n" + rows(9, xyz), "t [ms], M [N·m], n", 1000, ""},
		{"units in round brackets", "Time\tFx\n(s)\t(N)\n" + rows(9, "%g\t1#\n"), "Time [s], Fx [N]", 1, ""},
		{"units of an unusual kind", "t,F,eta\ns,N,furlong\n" + rows(9, xyz), "t [s], F [N], eta [furlong]", 1, ""},
		{"units with a blank", "t [s]  M [N m]\n" + rows(9, "%g 1#\n"), "t [s], M [N m]", 1, ""},
		{"names and units in comments", "# t F\n# [ms] [N]\n" + rows(9, "%g 1#\n"), "t [ms], F [N]", 1000, ""},
		{"names with brackets", "t (s),F (raw),(x) y (z)\n" + rows(9, xyz), "t [s], F [raw], (x) y [z]", 1, ""},
		{"quantity over unit", "t/s,Fx/N,CL/CD\n" + rows(9, xyz), "t [s], Fx [N], CL/CD", 1, ""},
		{"ratios", "T/W,S/N,rad/s\n" + rows(9, xyz), "T/W, S/N, rad/s", 0, ""},
		{"units with in and a comma", "Zeit in ms;Kraft, N\n" + rows(9, "%g;1#\n"), "Zeit [ms], Kraft [N]", 1000, ""},
		{"units behind a blank", "t in s;U km/h;n in U/min\n" + rows(9, "%g;1#;1\n"), "t [s], U [km/h], n [U/min]", 1, ""},
		{
			"units as words", "Time,Force,M\nseconds,Newton,Newton meter\n" + rows(9, xyz),
			"Time [s], Force [N], M [Newton meter]", 1, "",
		},
		{"units in tight brackets", "t(ms),F(kgf),F(t)\n" + rows(9, xyz), "t [ms], F [kgf], F(t)", 1000, ""},
	} {
		c.check(t)
	}
}

// Oscilloscopes, loggers and LabVIEW write keys and blocks of their own above the columns.
func TestHeadersOfInstruments(t *testing.T) {
	for _, c := range []headerShape{
		{"Keysight", "x-axis,1,2\nsecond,Volt,Volt\n" + rows(9, xyz), "x-axis [s], 1 [V], 2 [V]", 1, ""},
		{
			"Rigol", "X,CH1,Start,Increment,\nSequence,Volt,0.000000e+00,1.000000e-06\n" +
				rows(9, "%g,1#,,\n"), "X, CH1 [V]", 1e6,
			"text-column text-column",
		},
		{"Rigol, below other names", "foo,bar\nX,CH1,,Increment\n" + rows(9, xy), "X, CH1", 0, ""},
		{"Rigol, without the first name", "time,volt\n,CH1,,Increment\n" + rows(9, xy), "time [s], CH1", 1, ""},
		{"list without names", "# Channels: 2\n#\n" + rows(9, xy), "1, 2", 0, ""},
		{"list of names above an empty comment", "# Variables: t, p\n#\n" + rows(9, xy), "t [s], p", 1, ""},
		{
			"Rigol, rows of two cells", "X,CH1,Start,Increment,\nSequence,Volt,-6.0e-03,1.0e-05\n" + rows(9, "%g,1#,\n"),
			"X, CH1 [V]", 1e5, "",
		},
		{
			"Siglent", "Record Length,Analog:9\nSample Interval,1\nSource,CH1\nSecond,Volt\n" + rows(9, xy),
			"Source [s], CH1 [V]", 1, "",
		},
		{
			"Siglent without source", "Vertical Units,V\nVertical Scale,CH1:0.5\nSecond,Value\n" + rows(9, xy),
			"Second [s], Value [V]", 1, "",
		},
		{
			"Tektronix", "Model,MSO58\nHorizontal Units,s\nSample Interval,1\nVertical Units,V\nLabel,\nTIME,CH1\n" +
				rows(9, xy),
			"TIME [s], CH1 [V]", 1, "",
		},
		{
			"Tektronix TDS", "Record Length,5,Points,-4e-3,1\nSample Interval,1e-3,s,-3e-3,2\nSource,CH2,,-2e-3,1\n" +
				"Vertical Units,V,,-1e-3,4\n" + rows(9, ",,,0.00#,%g\n"), "time [s], CH2 [V]", 1000, "",
		},
		{"OWON", "Source,CH2\nTime interval :,1ms\nVUnit,V\n" + rows(9, "0.00#,%g\n"), "Source [s], CH2 [V]", 1e3, ""},
		{"Yokogawa", "TraceName,A,B\nVUnit,V,N\nHUnit,s,s\n" + rows(9, ",%g,1#\n"), "A [V], B [N]", 0, "text-column"},
		{"LabVIEW", "waveform\t[0]\ndelta t\t1\ntime\tY\n" + rows(9, "1/2/2026 1:00:0#\t%g\n"), "time [s], Y", 1, ""},
		{"units above", "raw,raw,raw\ns,N,Nm\nt,Fx,My\n" + rows(9, xyz), "t [s], Fx [N], My [Nm]", 1, ""},
		{"other brackets", "1:t <ms>,F {N},3:G\n" + rows(9, xyz), "1:t [ms], F [N], 3:G", 1e3, ""},
		{
			"LeCroy", "LECROYWS424,11696,Waveform\nSegments,1,SegmentSize,9\nTime,Ampl\n" + rows(9, "%.1e,1#\n"),
			"Time [s], Ampl", 1, "",
		},
		{"Pico", "Time,Channel A\n(ms),(V)\n\n" + rows(9, xy), "Time [ms], Channel A [V]", 1000, ""},
		{
			"Campbell", "\"TOA5\",\"CR1\",\"CR1\",\"12\"\n\"TIMESTAMP\",\"RECORD\",\"Fx\",\"Fz\"\n\"TS\",\"RN\",\"N\",\"N\"\n" +
				"\"\",\"\",\"Avg\",\"Avg\"\n" + rows(9, "\"2024-05-01 12:00:0#\",%g,1#,2#\n"),
			"TIMESTAMP [s], RECORD [RN], Fx [N], Fz [N]", 1, "",
		},
	} {
		c.check(t)
	}
}

// A column of dates and times of the day is a clock in s.
func TestTimesOfDay(t *testing.T) {
	for _, c := range []headerShape{
		{
			"date and time", "Date,Time,Fx\ndd.mm.yyyy,hh:mm:ss,N\n" + rows(9, "01.05.2024,12:00:0#,%g\n"),
			"Time [s], Fx [N]", 1, "text-column",
		},
		{"time with a fraction", "Date,Time,F\n" + rows(9, "2024-05-01,23:59:59.#,%g\n"), "Time [s], F", 10, "text-column"},
		{"time in German", "Uhrzeit;F\n" + rows(9, "12:00:00,0#;%g\n"), "Uhrzeit [s], F", 100, ""},
		{"time of half a day", "Time\tF\n" + rows(9, "1:00:00.00# PM\t%g\n"), "Time [s], F", 1000, ""},
		{"date and time in one cell", "Stamp,F\n" + rows(9, "05/01/2024 12:00:0#.5,%g\n"), "Stamp [s], F", 1, ""},
		{"ISO 8601", "Stamp,F\n" + rows(9, "2024-05-01T12:00:00.#Z,%g\n"), "Stamp [s], F", 10, ""},
		{"time that repeats", "Time,F\n12:00:00,1\n12:00:00,2\n12:00:01,3\n", "F", 0, "text-column"},
		{"midnight", "Time,F\n23:59:58,1\n23:59:59,2\n00:00:00,3\n00:00:01,4\n", "Time [s], F", 1, ""},
		{"midnight of half a day", "Time,F\n11:59:59 PM,1\n12:00:00 AM,2\n12:00:01 AM,3\n", "Time [s], F", 1, ""},
		{"a clock that goes back", "Time,F\n12:00:02,1\n12:00:01,2\n12:00:03,3\n", "F", 0, "text-column"},
		{"time beside a clock", "Time,t,F\n" + rows(9, "12:00:0#,%g,1#\n"), "t [s], F", 1, "text-column"},
		{"American dates", "Stamp,F\n" + rows(9, "5/1/2024 1:00:0# PM,%g\n"), "Stamp [s], F", 1, ""},
		{"dates of two digits", "Stamp,F\n" + rows(9, "1.5.24 1:00:0#,%g\n"), "Stamp [s], F", 1, ""},
	} {
		c.check(t)
	}
}

// A name says that a column is the time, and may state its unit.
func TestNamesOfTime(t *testing.T) {
	for _, c := range []headerShape{
		{"time_ms", "time_ms,F\n" + rows(9, xy), "time_ms [ms], F", 1000, ""}, // case time-names, with the next three
		{"timestamp_us", "timestamp_us,F\n" + rows(9, "#000,%g\n"), "timestamp_us [us], F", 1000, ""},
		{"millis", "millis,F\n" + rows(9, xy), "millis [ms], F", 1000, ""},
		{"t_ms", "t_ms,F\n" + rows(9, xy), "t_ms [ms], F", 1000, ""},
		{"second(s)", "second(s),F\n" + rows(9, xy), "second [s], F", 1, ""},
		{"usec", "usec;F\n" + rows(9, "#00;%g\n"), "usec [us], F", 10000, ""},
		{"days of a spreadsheet", "Time,F\n" + rows(9, "45412.5000#,%g\n"), "Time [day], F", 1 / 0.864, ""},
		{"T is a temperature", "T,F\n" + rows(9, xy), "T, F", 0, ""},
		{"t is not even", "t,F\n3,1\n1,2\n4,3\n1,4\n", "t, F", 0, "clock-useless"},
		{"timeMs", "timeMs,F\n" + rows(9, xy), "timeMs [ms], F", 1000, ""},
		{"ms", "ms,F\n" + rows(9, xy), "ms [ms], F", 1000, ""},
		{"Laufzeit", "Laufzeit [us];F\n" + rows(9, "%g;1#\n"), "Laufzeit [us], F", 1e6, ""},
		{"rel_time_s", "rel_time_s,F\n" + rows(9, xy), "rel_time_s [s], F", 1, ""},
		{"a better column", "t,F,millis\n" + rows(9, xyz), "t, F, millis [ms]", 1000, ""},
	} {
		c.check(t)
	}
}

// A line above the names states the rate, or the step of time.
func TestRatesInHeaders(t *testing.T) {
	for _, c := range []headerShape{
		{"rate with thousands", "# fs = 51,200 Hz\nF,M\n" + rows(9, xy), "F, M", 51200, ""},
		{"rate", "# fs = 1000 Hz\nF,M\n" + rows(9, xy), "F, M", 1000, ""},
		{"rate with a percent sign", "% Sampling rate: 51200\nF M\n" + rows(9, "%g 1#\n"), "F, M", 51200, ""},
		{"rate in a row", "Sample Rate,1000,1000\nF,M,N\n" + rows(9, xyz), "F, M, N", 1000, ""},
		{"rate with its unit in a cell", "Sample Rate,1000,Hz\nF,M,N\n" + rows(9, xyz), "F, M, N", 1000, ""},
		{"rate in German", "Abtastrate [kHz]: 51,2\nF;M\n" + rows(9, "%g,5;1#\n"), "F, M", 51200, ""},
		{"rate with German thousands", "fs = 51.200 Hz\nF;M\n" + rows(9, "%g,5;1#\n"), "F, M", 51200, ""},
		{"rate in kHz with zeros", "fs: 51.200 kHz\nF;M\n" + rows(9, "%g,5;1#\n"), "F, M", 51200, ""},
		{"rate with both marks", "fs: 51.200,00 Hz\nF;M\n" + rows(9, "%g;1#\n"), "F, M", 51200, ""},
		{"rate with points", "fs: 51.200 Hz\nF;M\n" + rows(9, "%g.5;1#\n"), "F, M", 51.2, ""},
		{"rate of two readings", "fs: 51.200 Hz\nF;M\n" + rows(9, "%g;1#\n"), "F, M", 0, "odd-rate"},
		{"rate of numpy", "# F[N] M[Nm]\n# sampled at 51.2 kHz\n" + rows(9, "%g 1#\n"), "F [N], M [Nm]", 51200, ""},
		{"rate by its unit", "# max. 5 kS/s\n# Wing 7, 2000 samples/second\n# F M\n" + rows(9, "%g 1#\n"), "F, M", 2000, ""},
		{"rate of a card", "# Scan rate: 2 kS/s\nF,M\n" + rows(9, xy), "F, M", 2000, ""},
		{"step", "# SampleInterval=1e-3 s\nF,M\n" + rows(9, xy), "F, M", 1000, ""},
		{"step in German", "dt = 0,00005 s\nF;M\n" + rows(9, "%g,5;1#\n"), "F, M", 20000, ""},
		{"step in two readings", "# dt = 1,000 ms\nF,M\n" + rows(9, xy), "F, M", 0, "odd-rate"},
		{"step in ms", "# dt = 0.5 ms\nF,M\n" + rows(9, xy), "F, M", 2000, ""},
		{"step in the row of names", "F (N),M,t0 =-5e-03s, tInc = 1e-05,\n" + rows(9, "%g,1#,,\n"), "F [N], M", 1e5, ""},
		{"step behind the names", "\"Name\",\"F\",\"M\"\n\"Delta T\",\"0.001\",\"0.001\"\n\"Unit\",\"N\",\"Nm\"\n" +
			rows(9, ",%g,1#\n"), "F [N], M [Nm]", 1000, "text-column"},
		{"rate and whole ms", "# fs = 1000 Hz\nt,F\n" + rows(9, xy), "t [ms], F", 1000, ""},
		{"rate and other steps", "# fs = 2000 Hz\nt (s),F\n" + rows(9, xy), "t [s], F", 1, "rates-contradict"},
		{"two rates", "# fs = 2000\n# dt = 0.001\nF,M\n" + rows(9, xy), "F, M", 2000, "rates-contradict"},
		{"a duration is no step", "# Sampling time: 10 s\nF,M\n" + rows(9, xy), "F, M", 0, ""},
		{"a rate of what", "# fs = 50 kilohertz\nF,M\n" + rows(9, xy), "F, M", 0, ""},
	} {
		c.check(t)
	}
}

// A line may list the names, as Tecplot's VARIABLES does; numbers of columns and channels are not names.
func TestListedNames(t *testing.T) {
	for _, c := range []headerShape{
		{
			"Tecplot", "TITLE = \"w\"\nVARIABLES = \"x [m]\" \"cp\"\nZONE T=\"a\", I=9, F=POINT\n" + rows(9, "%g 1#\n"),
			"x [m], cp", 0, "",
		},
		{"Tecplot with commas", "VARIABLES = \"x\", \"c p\"\nZONE I=9\n" + rows(9, "%g 1#\n"), "x, c p", 0, ""},
		{"Tecplot line by line", "VARIABLES = \"x\"\n\"cp\"\nZONE I=9\n" + rows(9, "%g 1#\n"), "x, cp", 0, ""},
		{"list in a comment", "# Columns: t F\n" + rows(9, "%g 1#\n"), "t [s], F", 1, ""},
		{"numbers of channels", "1,2,3\nt,F,M\n" + rows(9, xyz), "t [s], F, M", 1, ""},
		{"numbers below names", "t,F,M\n1,2,3\ns,N,Nm\n" + rows(9, xyz), "t [s], F [N], M [Nm]", 1, ""},
		{"brackets that differ", "Cp (x/c=0.5),Cp (x/c=0.6)\n" + rows(9, xy), "Cp (x/c=0.5), Cp (x/c=0.6)", 0, ""},
		{"decimal commas in quotes", "\"t\",\"F\"\n" + rows(9, "\"0,00#\",\"%g,5\"\n"), "t [s], F", 1000, ""},
	} {
		c.check(t)
	}
}

// The error of one uneven row names the line of the row, and not the header.
func TestUnevenRow(t *testing.T) {
	for _, c := range []struct{ header, row, uneven string }{
		{"t,F,Note,\n", "%g,1#,,\n", "20,1,Cutoff: x (val=1, limit=0),\n"},
		{"t,F,Note,\n", "%g,1#,,\n", "20,1,x,y,z\n"},
		{"t;F;M;\n", "%g;1#;2#;\n", "20;1\n"},
		{"t F\n", "%g 1#\n", "20 1 2\n"},
		{"t\tF\t\n", "%g\t1#\t\n", "20\t1\t\tx\n"},
		{"t,F\n", "%g,1#,\n", "20,1,stall\n"},
	} {
		for _, after := range []int{5, 150, 3000} { // below the middle of the sample, above it, and outside
			r, err := openString(c.header+rows(after, c.row)+c.uneven+rows(40, c.row), ingest.Options{})
			if err == nil {
				x := make([]float64, after+41)
				_, err = r.Read([]int{0}, 0, [][]float64{x})
			}

			ingesttest.WantDataError(t, r, err, fmt.Sprintf("x: line %d, ", after+2))
		}
	}
}

// The names of the user replace the names of the header, whose encoding then does not matter. Comments and lines above
// the header become attributes.
func TestTextAttributes(t *testing.T) {
	o := ingest.Options{Text: ingest.TextOptions{Columns: []string{"x", "y"}}}
	named, err := openString("\x89\xf1 [N],b [m]\n1,2\n3,4\n", o)
	require.NoError(t, err)
	assert.Equal(t, []string{"x", "y"}, named.Info().Names())
	assert.Equal(t, "m", named.Info().Channels[1].Unit)

	r, err := openString("# balance: A 7\nProject = wing\na,b\n1,2\n3,4\n", ingest.Options{})
	require.NoError(t, err)
	assert.Equal(t, []ingest.Attribute{{Name: "balance", Value: "A 7"}, {Name: "Project", Value: "wing"}},
		r.Info().Attributes)
}

// One line may make several statements. The pairs of names and values are as a reader of the line tells them apart.
func TestStatementsOfOneLine(t *testing.T) {
	for line, want := range map[string]string{
		"AoA: 5.00 deg - Uinf: 11.06 m/s":  "AoA=5.00 deg|Uinf=11.06 m/s",
		"a = 1, b = 2; c = 3":              "a=1|b=2|c=3",
		"a: 1\tb: 2":                       "a=1|b=2",
		"a: 1   b: 2":                      "a=1|b=2",
		"Date: 2024-01-02, Time: 12:30:15": "Date=2024-01-02|Time=12:30:15",
		"note: seen - not repeated":        "note=seen - not repeated",
		"title: wing, half, left":          "title=wing, half, left",
		"file: C:\\data\\a.csv":            "file=C:\\data\\a.csv",
		"see: https://example.org/a":       "see=https://example.org/a",
		"range: -5 - 5 deg":                "range=-5 - 5 deg",
	} {
		r, err := openString("# "+line+"\na,b\n1,2\n3,4\n", ingest.Options{})
		require.NoError(t, err, line)

		var got []string
		for _, attribute := range r.Info().Attributes {
			got = append(got, attribute.Name+"="+attribute.Value)
		}

		assert.Equal(t, want, strings.Join(got, "|"), line)
	}
}

// TestTextRefused reads texts that must be refused, with an error that names the place and what was expected and found.
func TestTextRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          ingest.Options
		want       []string
	}{
		{name: "empty", text: "", want: []string{"no data rows"}},
		{name: "blank lines", text: "\n\n  \n", want: []string{"expected rows of numbers, found no data rows"}},
		{name: "only comments", text: "# a\n# b\n", want: []string{"no data rows"}},
		{name: "only a header", text: "a,b\n", want: []string{"line 1", "no data rows"}},
		{name: "only header and units", text: "a,b\ns,N\n", want: []string{"no data rows"}},
		{
			name: "short row", text: "a,b,Fz\n1,2,3\n4,5,6\n7,8\n9,10,11\n",
			want: []string{"x: line 4, column 3 (Fz): expected 3 columns, found 2", "too short"},
		},
		{name: "a cell of two lines", text: "a,b,n\n1,2,z\n3,4,z\n4,5,\"x\ny\"\n7,8,z\n", want: []string{"write it in one"}},
		{
			name: "long row", text: "a,b,note\n1,2,\n4,5,\n7,8,Cutoff: x, limit 0\n9,10,\n", // case uneven-row
			want: []string{
				"line 4, column 4: expected 3 columns, found 4", `too long: "limit 0" behind the columns is text`,
				"separator ',' in quotes",
			},
		},
		{
			name: "short row of blanks", text: "1 2 3\n4 5 6\n7 8\n9 10 11\n",
			want: []string{"line 3, column 3 (3): expected 3 columns, found 2"},
		},
		{
			name: "long row of blanks", text: "1 2 3\n4 5 6\n7 8 9 10\n9 10 11\n",
			want: []string{"line 3, column 4: expected 3 columns, found 4"},
		},
		{
			name: "a remark behind numbers", text: "a,b,c\n1,2,3\n4,5,6,gust\n7,8,9\n",
			want: []string{"line 3, column 4: expected 3 columns, found 4 (the row is too long: \"gust\" behind the columns"},
		},
		{
			name: "a remark of several words behind blanks", text: "1 2 3\n4 5 6\n7 8 9 door was open\n9 10 11\n",
			want: []string{"line 3, column 4: expected 3 columns, found 6", `"door" behind the columns is text`},
		},
		{
			name: "a remark behind tabs and an empty cell", text: "a\tb\n1\t2\n4\t5\t\tgust\n7\t8\n",
			want: []string{"line 3, column 3: expected 2 columns, found 4", `"gust" behind the columns is text`},
		},
		{
			name: "a remark behind decimal commas", text: "a;b\n1,5;2\n4,5;5;Böe\n7,5;8\n",
			want: []string{"line 3, column 3: expected 2 columns, found 3", `"Böe" behind the columns is text`},
		},
		{
			name: "a remark behind a number", text: "a,b\n1,2\n4,5,6,gust\n7,8\n",
			want: []string{"expected 2 columns, found 4", `"gust" behind the columns is text`},
		},
		{
			name: "one number more", text: "a,b\n1,2\n4,5,6\n7,8\n",
			want: []string{"found 3 (the row is too long: correct or delete it; a decimal comma needs semicolons"},
		},
		{
			name: "text in a number column", text: "a,b,Fz\n1,2,3\n4,off,6\n7,8,9\n7,8,9\n",
			want: []string{`x: line 3, column 2 (b): expected a number, found "off"`},
		},
		{name: "number with a tail", text: "a,b\n1,2\n4,5V\n7,8\n7,8\n", want: []string{`line 3, column 2 (b)`, `"5V"`}},
		{
			name: "empty cell", text: "a,b,c\n1,2,3\n4,,6\n7,8,9\n7,8,9\n",
			want: []string{"line 3, column 2 (b): expected a number, found an empty cell"},
		},
		{
			name: "a channel in every third row", text: "a,b,c\n" + strings.Repeat("1,,3\n1,2,3\n1,,3\n", 4),
			want: []string{"line 2, column 2 (b)", "an empty cell", "column b is filled in 4 of the first 12 rows only"},
		},
		{
			name: "empty last cell", text: "a,b\n1,2\n4,\n7,8\n7,8\n",
			want: []string{"line 3, column 2 (b): expected a number, found an empty cell"},
		},
		{
			name: "decimal comma between points", text: "a;b\n1.5;2\n1.5;2\n3.5;2\n1,5;2\n",
			want: []string{"line 5, column 1 (a)", "decimal comma"},
		},
		{name: "too large", text: "a,b\n1,2\n4,1e999\n7,8\n7,8\n", want: []string{`"1e999"`}},
		{
			name: "header too short", text: "a,b\n1,2,3\n4,5,6\n",
			want: []string{"line 1: expected a header of 3 names, as the rows have columns, found 2 names"},
		},
		{
			name: "columns miscounted", text: "1 2\n3 4\n", o: ingest.Options{Text: ingest.TextOptions{Columns: []string{"a"}}},
			want: []string{"1 columns as named in the configuration, found 2"},
		},
		{name: "CR alone", text: "1,2\r3,4\r", want: []string{"CR alone"}},
		{name: "zero byte", text: "1,2\n3,\x004\n", want: []string{"byte 6", "a zero byte"}},
		{
			name: "unknown clock", text: "a,b\n1,2\n3,4\n", o: ingest.Options{Text: ingest.TextOptions{Time: "time"}},
			want: []string{`a channel "time"`, `only "a", "b"`},
		},
		{
			name: "clock in newtons", text: "a [N],b\n1,2\n3,4\n", o: ingest.Options{Text: ingest.TextOptions{Time: "a"}},
			want: []string{"a unit of time", `"N"`},
		},
		{
			name: "rate contradicts", text: "t,b\n0,2\n1,4\n", o: ingest.Options{RateHz: 2},
			want: []string{"column t", "expected a rate of 2 Hz as configured, found 1 Hz"},
		},
		{
			name: "another separator", text: strings.Repeat("1,2,3\n", 50) + strings.Repeat("4;5;6\n", 50),
			want: []string{
				"line 1", "expected rows that are semicolon separated", "a row of numbers, comma separated", `"1,2,3"`,
			},
		},
		{
			name: "another separator below a header", text: "a\tb\n" + strings.Repeat("1\t2\n", 5) + strings.Repeat("1,2\n", 6),
			want: []string{"line 2", "comma separated", "tab separated"},
		},
		{
			name: "another decimal sign", text: "1.5;2.5\n3.5;4.5\n1,5;2,5\n3,5;4,5\n",
			want: []string{"line 1", "semicolon separated, decimal comma, found a row of numbers, semicolon separated"},
		},
		{
			name: "one row of samples", text: "0.25" + strings.Repeat(",1.5", 11174) + "\n",
			want: []string{"line 1", "columns of samples", "one row of 11175 numbers", "one number a line"},
		},
		{
			name: "Shift JIS", text: "t,\x89\xf1\x93]\x90\x94 [rpm]\n1,2\n3,4\n",
			want: []string{"line 1: expected text in UTF-8, UTF-16 or Windows-1252, found another", "save the file as UTF-8"},
		},
		{name: "Cyrillic", text: "# V, \xec/\xf1\nt,\xf3\xe3\xee\xeb\n1,2\n", want: []string{"line 2", "another encoding"}},
		{name: "Polish", text: "t;k\xb9t [\xb0]\n1;2\n", want: []string{"line 1", "another encoding: \"k¹t [°]\""}},
		{
			name: "half a character", text: "\xff\xfe1\x00,\x002\x00\n",
			want: []string{"byte 8", "two bytes", "cut short"},
		},
		{
			name: "short row beside a header",
			text: "Record Length,5,Points,-4e-3,1\n1 2 3\nSample Interval,1e-3,s,-3e-3,2\nSource,CH2,,-2e-3,1\n",
			want: []string{"line 2, column 2 (2): expected 5 columns, found 1", "too short"},
		},
		{
			name: "a rate without columns of numbers", text: "# SampleInterval=1e-3 s\nF,M\t\t\nfs = 51,200 Hz\n",
			want: []string{"line 3: expected rows of numbers, found numbers with units behind them"},
		},
		{
			name: "cut off", text: "a,b,c\n1,2,3\n4,5,6\n7,8",
			want: []string{"line 4, column 3 (c)", "2 columns of 3, then the end of the file", "truncated: use"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openString(c.text, c.o)
			if err == nil { // then reading must fail
				dst := make([][]float64, len(r.Info().Channels))
				chans := make([]int, len(dst))
				for i := range dst {
					dst[i] = make([]float64, r.Info().Channels[0].Samples)
					chans[i] = i
				}

				_, err = r.Read(chans, 0, dst)
			}

			ingesttest.WantDataError(t, r, err, c.want...)
		})
	}
}

// TestTextUTF16 reads UTF-16 in either byte order as Python's codecs write it:
// 'a [°],b\n1,2\n3,4\n'.encode('utf-16').
func TestTextUTF16(t *testing.T) {
	little := "\xff\xfea\x00 \x00[\x00\xb0\x00]\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x003\x00,\x004\x00\n\x00"
	big := []byte(little)
	for i := 0; i < len(big); i += 2 {
		big[i], big[i+1] = big[i+1], big[i]
	}

	// .encode('utf-16-le') and 'utf-16-be' write no mark.
	for _, text := range []string{little, string(big), little[2:], string(big[2:])} {
		r, err := openString(text, ingest.Options{})
		require.NoError(t, err)

		assert.Equal(t, []string{"a", "b"}, r.Info().Names())
		assert.Equal(t, "°", r.Info().Channels[0].Unit)

		x := ingesttest.ReadAll(t, r)
		ingesttest.Equal(t, x[0], []float64{1, 3})
		ingesttest.Equal(t, x[1], []float64{2, 4})
	}
}

// With truncated: use, an incomplete last row is left out with a warning that names its line.
func TestTextTruncatedUsed(t *testing.T) {
	r, err := openString("a,b,c\n1,2,3\n4,5,6\n7,8", ingest.Options{Truncated: "use"})
	require.NoError(t, err)

	warnings := r.Info().Warnings
	require.Len(t, warnings, 1)
	assert.Equal(t, "truncated", warnings[0].Code)
	assert.Contains(t, warnings[0].Text, "line 4")

	ingesttest.Equal(t, ingesttest.ReadAll(t, r)[2], []float64{3, 6})
}

// A last number that is cut is found if the 50 rows before it have a format with equally many characters behind the
// decimal sign. Expected: 1.2346e-05 cut to 1.234 is another number; numbers that people type, or that a program writes
// without zeros at the end, may have fewer digits.
func TestTextCutNumber(t *testing.T) {
	for _, c := range []struct {
		name, head, rows string // rows stand several times
		times            int
		last             string
		isCut            bool
	}{
		{"exponent", "t,p\n", "1,1.2345e-05\n2,1.2346e-05\n", 25, "4,1.234", true},
		{"exponent without a digit", "t,p\n", "1,1.2345e-05\n2,1.2346e-05\n", 25, "4,1.2348e-0", true},
		{"fixed", "t\tp\n", "1\t-0.545940\n3\t12.823562\n", 25, "4\t-0.54", true},
		{"decimal comma", "t;p\n", "1;-0,545940\n3;12,823562\n", 25, "4;-0", true},
		{"one column", "", "0.545940\n0.766328\n", 25, "0.54594", true},
		{"whole", "t,p\n", "1,1.2345e-05\n2,1.2346e-05\n", 25, "4,1.2348e-05", false},
		{"more digits", "t,p\n", "1,0.5459\n2,0.7663\n", 25, "4,10.54594", false},
		{"a line end", "t,p\n", "1,0.545940\n2,0.766328\n", 25, "4,0.54\n", false},
		{"a remark behind it", "t,p\n", "1,0.545940\n2,0.766328\n", 25, "4,0.54\n# end", false},
		{"digits as typed", "t,p\n", "1,0.5\n2,0.25\n", 25, "4,1", false},
		{"one digit", "t,p\n", "1,0.5\n2,1.5\n", 25, "4,3", false},
		{"zeros left out", "t,p\n", "1,0.54594\n" + strings.Repeat("2,0.766328\n", 24), 2, "4,0.54", false},
		{"49 rows before", "t,p\n", "1,0.545940\n", 49, "3,0.54", false},
		{"50 rows before", "t,p\n", "1,0.545940\n", 50, "3,0.54", true},
		{"uneven rows long before", "t,p\n1,0.5\n", "1,0.545940\n", 50, "3,0.54", true},
		{"text", "t,p,remark\n", "1,0.5,v1.2345\n2,0.6,v1.2346\n", 25, "4,0.8,v1", false},
	} {
		text := c.head + strings.Repeat(c.rows, c.times) + c.last
		rows := strings.Count(strings.TrimSuffix(text, "\n"), "\n") // without the header
		if c.head == "" {
			rows++
		}

		rows -= strings.Count(text, "#") // lines of remarks

		r, err := openString(text, ingest.Options{})
		if !c.isCut {
			require.NoError(t, err, c.name)
			assert.EqualValues(t, rows, r.Info().Channels[0].Samples, "%s: rows", c.name)

			continue
		}

		ingesttest.WantDataError(t, r, err, "which is shorter than the numbers above", "truncated: use")

		r, err = openString(text, ingest.Options{Truncated: "use"})
		require.NoError(t, err, c.name)
		assert.EqualValues(t, rows-1, r.Info().Channels[0].Samples, "%s: rows", c.name)
		assert.Contains(t, ingesttest.Codes(r.Info().Warnings), "truncated", c.name)
	}
}

// TestTextRandomAccess reads from any row of a file. With DOUBLETAKE_LONG, the file is
// so long that the index of rows is thinned out twice. Each cell contains the number of
// its row, which is the expected value.
func TestTextRandomAccess(t *testing.T) {
	count := longtest.Count(20000, 1024*maxMarks*2+5000)

	var b bytes.Buffer
	for i := range count {
		if i%10007 == 0 {
			b.WriteString("# pause\n\n")
		}

		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\n')
	}

	r, err := openString(b.String(), ingest.Options{})
	require.NoError(t, err)

	require.Equal(t, int64(count), r.Info().Channels[0].Samples, "rows")

	if count > 1024*maxMarks { // the marks of fewer rows are not thinned out
		assert.NotEmpty(t, r.(*Reader).marks)
		assert.LessOrEqual(t, len(r.(*Reader).marks), maxMarks, "marks are thinned out")
	}

	g := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		first := g.IntN(count)
		x := make([]float64, 1+g.IntN(3000))
		n, err := r.Read([]int{0}, int64(first), [][]float64{x})
		require.Equal(t, min(len(x), count-first), n, "rows read from row %d on", first)
		if n < len(x) {
			require.ErrorIs(t, err, io.EOF, "read from row %d on", first)
		} else {
			require.NoError(t, err, "read from row %d on", first)
		}

		for k := range n {
			if x[k] != float64(first+k) {
				t.Fatalf("row %d: expected its number, found %v", first+k, x[k])
			}
		}
	}
}

// TestTextWide reads a text with many columns. The values are those that were written. The test prints the time if it
// is far above the time that a linear reader takes; a reader with quadratic time took 19 s.
func TestTextWide(t *testing.T) {
	const columns, rows = 16000, 10

	var b strings.Builder
	for r := range rows {
		for c := range columns {
			fmt.Fprintf(&b, "%d.5,", r*c)
		}
		b.WriteString("1\n")
	}

	best := time.Hour // the shortest of three, because other work on the machine makes some longer
	for range 3 {
		start := ingesttest.CPU()

		r, err := openString(b.String(), ingest.Options{})
		require.NoError(t, err)

		x := ingesttest.ReadAll(t, r)
		best = min(best, ingesttest.CPU()-start)

		require.Len(t, x, columns+1, "columns")
		require.Equal(t, 15999*9+0.5, x[15999][9], "last row of column 16000")
		require.Equal(t, 1.0, x[columns][9], "last row of the last column")
	}

	ingesttest.ReportBound(t, fmt.Sprintf("processor time for %d columns", columns), best, 500*time.Millisecond)
}

// TestTextLongLines reads rows of 230 KB, two of which do not fit into a buffer of 256 KiB. A first row of more than
// 256 KiB is refused, and a later line of more than maxLine bytes, whether or not it ends with a line feed.
func TestTextLongLines(t *testing.T) {
	const columns = 30000

	var b strings.Builder
	for row := range 3 {
		for c := range columns {
			fmt.Fprintf(&b, "%d.%d\t", c, row)
		}
		b.WriteString("2\n")
	}

	r, err := openString(b.String(), ingest.Options{})
	require.NoError(t, err)

	x := ingesttest.ReadAll(t, r)
	require.Len(t, x, columns+1, "columns")

	for c, values := range x[:columns] {
		require.Equal(t, []float64{float64(c), float64(c) + 0.1, float64(c) + 0.2}, values, "column %d", c+1)
	}

	require.Equal(t, []float64{2, 2, 2}, x[columns], "last column")

	r, err = openString(strings.Repeat("1.25\t", 60000)+"2\n", ingest.Options{})
	ingesttest.WantDataError(t, r, err, "line 1: no row within 256 KiB")

	long := strings.Repeat("9", maxLine+100)
	for _, end := range []string{"", "\n", ",1\n5,6\n"} {
		r, err := openString("1,2\n3,4\n"+long+end, ingest.Options{})
		ingesttest.WantDataError(t, r, err, "byte 8: expected lines of at most 4194304 bytes, found a longer one")
	}
}

// If many columns have no numbers, twenty are named in a warning each, and one more warning counts the others.
func TestManyEmptyColumns(t *testing.T) {
	r, err := openString(strings.Repeat(";", 30)+"1\n"+strings.Repeat(";", 30)+"2\n", ingest.Options{})
	require.NoError(t, err)

	warnings := r.Info().Warnings
	require.Len(t, warnings, 21)
	assert.Equal(t, "10 more columns hold text or are empty: they are no channels", warnings[20].Text)
}
