package lvm

import (
	"bytes"
	"fmt"
	"log"
	"math"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/no_x.lvm", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Println(c.Name, c.Unit, c.RateHz, c.Samples)
	}
	// Output:
	// Force N 51200 21
	// Response (Trigger) m/s^2 51200 21
}

// A unit of ms in the header changes the rate. Expected: increments in ms, a thousand times as great, give the rate of
// the increments in s; numbers of an X column that are taken for ms give a rate a thousand times as high.
func TestMilliseconds(t *testing.T) {
	for _, c := range []struct {
		file     string
		old, new string // in the header
		factor   float64
	}{
		{
			"no_x.lvm", "Delta_X\t1.953125E-5\t1.953125E-5",
			"X_Unit_Label\tms\tms\t\r\nDelta_X\t1.953125E-2\t1.953125E-2", 1,
		},
		{"one_x.lvm", "Delta_X\t", "X_Unit_Label\tms\tms\t\r\nDelta_X\t", 1000},
	} {
		b := ingesttest.Testdata(t, c.file)
		want := c.factor * rateOfSecond(t, b)

		assert.InDelta(t, want, rateOfSecond(t, replaced(t, b, c.old, c.new)), 1e-9*want, "%s: Hz", c.file)
	}
}

// rateOfSecond returns the rate of the second channel of a file in Hz.
func rateOfSecond(t *testing.T, b []byte) float64 {
	t.Helper()

	return ingesttest.Open(t, Format, b, ingest.Options{}).Info().Channels[1].RateHz
}

// replaced returns a file with a text in each place of an old one, which it must have.
func replaced(t *testing.T, b []byte, old, with string) []byte {
	t.Helper()
	require.Contains(t, string(b), old)

	return bytes.ReplaceAll(b, []byte(old), []byte(with))
}

// The files have the values that testdata/make.py gave them.
func TestDescribed(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       ingest.Options
		channel int
		want    string
		codes   string
	}{
		{"multi_x.lvm", ingest.Options{}, 2, "Acc/time s 2000 true", ""},
		{"multi_x.lvm", ingest.Options{}, 5, "Mic Pa 2000 false", ""},
		{"one_x.lvm", ingest.Options{}, 0, "time s 4000 true", ""},
		{"no_decimal.lvm", ingest.Options{}, 1, "ay Volts 1024 false", ""}, // 0.000977
		{"no_decimal.lvm", ingest.Options{RateHz: 1023.5}, 1, "ay Volts 1023.5 false", ""},
		{"segments.lvm", ingest.Options{}, 1, "b Volts 51200 false", "segments"},
		{"separated_by_commas.lvm", ingest.Options{}, 1, "b Volts 1000 false", ""},
		{"empty.lvm", ingest.Options{}, 2, "c Volts 1000 false", ""},
	} {
		r, err := Format.Open(ingesttest.Source(ingesttest.Testdata(t, c.name)), c.o)
		require.NoError(t, err, "%s", c.name)

		ch := r.Info().Channels[c.channel]
		got := fmt.Sprintf("%s %s %g %t", ch.Name, ch.Unit, math.Round(ch.RateHz*1e6)/1e6, ch.IsTime())
		assert.Equal(t, c.want, got, "%s: name, unit, rate, and whether it is the time", c.name)
		assert.Equal(t, c.codes, ingesttest.Codes(r.Info().Warnings), "%s: warnings", c.name)
	}
}

// Damaged files are refused with what was expected and what was found.
func TestRefused(t *testing.T) {
	b := ingesttest.Testdata(t, "no_x.lvm")
	several := ingesttest.Testdata(t, "segments.lvm")
	otherNames := bytes.Replace(several, []byte("X_Value\ta\tb"), []byte("X_Value\ta\tc"), 1) // in the first segment only
	ingesttest.Refused(t, Format, []struct {
		File []byte
		Want string
	}{
		{b[:100], "expected ***End_of_Header***, found the end of the file"},
		{b[:400], "expected a line that begins with X_Value, found the end of the file"},
		{b[:len(b)-100], "the header claims 21 samples, there are 16 (copy the file again"},
		{b[:bytes.Index(b, []byte("X_Value"))+40], "the header claims 21 samples, there are 0"},
		{replaced(t, b, "X_Columns\tNo", "X_Columns\tTwo"), "expected X_Columns No, One or Multi, found Two"},
		{otherNames, "expected segments of the same channels"},
		{replaced(t, several, "X_Value\ta", "X_Value\t\x97g\x97\xcd"), "found another encoding"},
		{[]byte("LabVIEW Measurement\t\n***End_of_Header***\t\n"), "expected a segment of numbers"},
	})
}

// An increment of few digits stands for a whole rate: 1/0.000163 is 6134.97.
func TestRateOfFewDigits(t *testing.T) {
	b := replaced(t, ingesttest.Testdata(t, "no_x.lvm"), "1.953125E-5", "0.000163")
	info := ingesttest.Open(t, Format, b, ingest.Options{}).Info()

	assert.Equal(t, 6135.0, info.Channels[0].RateHz)
	assert.Equal(t, "rate-digits", ingesttest.Codes(info.Warnings))
}

// With truncated: use, a file that is cut short anywhere in its last rows has the rows that are whole. A row ends with
// a line end. The last row of the file may lack the line end if all its digits are there, and if the header does not
// state further rows. Expected: the rows are counted in the bytes of the file.
func TestTruncatedUse(t *testing.T) {
	counted := ingesttest.Testdata(t, "no_x.lvm") // its header states 21 rows
	uncounted := replaced(t, counted, "Multi_Headings\tYes", "Multi_Headings\tNo")
	whole := ingesttest.ReadAll(t, ingesttest.Open(t, Format, counted, ingest.Options{}))

	check := func(file []byte, rows int, warnings string, cut int) {
		t.Helper()

		r := ingesttest.Open(t, Format, file, ingest.Options{Truncated: "use"})
		require.EqualValues(t, rows, r.Info().Channels[0].Samples, "%d bytes cut: rows", cut)
		assert.Equal(t, warnings, ingesttest.Codes(r.Info().Warnings), "%d bytes cut: warnings", cut)

		for c, x := range ingesttest.ReadAll(t, r) {
			require.Equal(t, whole[c][:rows], x, "%d bytes cut: channel %d", cut, c+1)
		}
	}

	for cut := 1; cut <= 100; cut++ {
		b := counted[:len(counted)-cut]
		rows := bytes.Count(b[bytes.Index(b, []byte("X_Value")):], []byte("\n")) - 1
		gone := counted[len(b):]
		lacksLineEnd := gone[0] == '\n' || bytes.HasPrefix(gone, []byte("\r\n"))

		lastRows := rows
		if lacksLineEnd {
			lastRows++
		}

		warnings := "truncated"
		hasPart := len(bytes.TrimSpace(b[bytes.LastIndexByte(b, '\n')+1:])) > 0 // of a row
		if lacksLineEnd || !hasPart {
			warnings = ""
		}

		check(uncounted[:len(uncounted)-cut], lastRows, warnings, cut)

		if lastRows == 21 {
			check(b, 21, "", cut)
		} else {
			check(b, rows, "truncated", cut)
		}
	}
}

// A cell that is not a number is an error when its channel is read, not when the file is opened.
func TestBadCell(t *testing.T) {
	b := ingesttest.Testdata(t, "no_x.lvm")
	b[len(b)-4] = 'x'
	r := ingesttest.Open(t, Format, b, ingest.Options{})

	n, err := r.Read([]int{1}, 0, [][]float64{make([]float64, 21)})
	ingesttest.WantDataError(t, n, err, "column 3: expected a number")
}

// A program that leaves out zeros at the end of numbers writes a last number with fewer digits. Such a file without a
// last line end is complete if an earlier number has fewer digits too.
func TestLastNumberOfFewDigits(t *testing.T) {
	counted := bytes.TrimRight(ingesttest.Testdata(t, "no_x.lvm"), "\r\n\t")
	short := counted[:len(counted)-2]
	_, err := Format.Open(ingesttest.Source(short), ingest.Options{})
	require.ErrorContains(t, err, "the header claims 21 samples, there are 20")

	rows := bytes.Split(short, []byte("\n"))
	earlier := len(rows) - 3
	rows[earlier] = bytes.TrimRight(rows[earlier], "\r\t")
	rows[earlier] = rows[earlier][:len(rows[earlier])-2]
	r := ingesttest.Open(t, Format, bytes.Join(rows, []byte("\n")), ingest.Options{})
	assert.EqualValues(t, 21, r.Info().Channels[0].Samples)
}
