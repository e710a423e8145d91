package text

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkNumber compares Number with strconv.ParseFloat, which gives the expected
// value of the tests here. Number refuses hexadecimal and underlined numbers on
// purpose, and reads Fortran's exponent letter on purpose.
func checkNumber(t testing.TB, s string) {
	t.Helper()
	got, ok := Number([]byte(s), '.')
	want, err := strconv.ParseFloat(s, 64)

	if strings.ContainsAny(s, "xXpP_") {
		require.False(t, ok, "%q is a number", s)
		return
	}

	if strings.ContainsAny(s, "dD") {
		want, err = strconv.ParseFloat(strings.NewReplacer("d", "e", "D", "e").Replace(s), 64)
	}

	require.Equal(t, err == nil, ok, "%q is a number; strconv returns %v", s, err)
	if ok {
		requireSameBits(t, want, got, s)
	}

	// The same with a decimal comma.
	if strings.Contains(s, ",") {
		return
	}

	withComma, isWithComma := Number([]byte(strings.ReplaceAll(s, ".", ",")), ',')
	require.Equal(t, ok, isWithComma, "%q with a decimal comma is a number", s)
	if ok {
		requireSameBits(t, want, withComma, s+" with a decimal comma")
	}
}

// requireSameBits fails the test unless two numbers have the same bits, or both are NaN.
func requireSameBits(t testing.TB, want, got float64, text string) {
	t.Helper()

	if !math.IsNaN(want) || !math.IsNaN(got) {
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%q: expected %v, found %v", text, want, got)
	}
}

var hardNumbers = []string{
	"", "0", "-0", "+0", "0.0", "-0.0", "1", "-1", "+1", ".5", "5.", ".", "-", "+", "-.", "e5", "1e", "1e+", "1e-", "1e5",
	"1E5", "1e+05", "1e-05",
	"9007199254740992", "9007199254740993", "9007199254740991e22", "9007199254740991e23", "9007199254740991e-22",
	"9007199254740991e-23",
	"1e22", "1e23", "1e-22", "1e-23", "123456789012345678", "1234567890123456789", "12345678901234567890", "0.1", "0.2",
	"0.3",
	"1.7976931348623157e308", "1.7976931348623159e308", "1e309", "-1e309", "4.9e-324", "2.4703282292062327e-324",
	"2.4703282292062328e-324", "1e-400",
	"2.2250738585072011e-308", "2.2250738585072014e-308", "nan", "NaN", "NAN", "inf", "-Inf", "+INF", "infinity",
	"Infinity", "nano", "1.2.3", "1,2",
	"0x10", "0x1p-2", "1_000", "1 ", " 1", "1e99999", "1e-99999", "0e99999", "0e-99999", "00000000000000000000001",
	"0.00000000000000000000001",
	"1.0D+03", "1d-3", "1510924907.244811", "48.006121", "1e0000000001", "--1", "+-1", "1-", "1e1e1", "١", "1e5.0",
	"-804548e-6",
	"179769313486231580793728971405301", "0.500000000000000166533453693773481063544750213623046875",
}

func TestParseNumber(t *testing.T) {
	for _, s := range hardNumbers {
		checkNumber(t, s)
	}

	// Random bit patterns in the notations that programs write.
	r := rand.New(rand.NewPCG(1, 2))

	for range longtest.Count(20000, 200000) {
		v := math.Float64frombits(r.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}

		checkNumber(t, strconv.FormatFloat(v, "efgE"[r.IntN(4)], -1, 64))
		checkNumber(t, strconv.FormatUint(r.Uint64()>>r.IntN(60), 10)+"e"+strconv.Itoa(r.IntN(160)-80))

		// Half-way between two floats, and the smallest step from it.
		half := float64(uint64(1)<<53+2*r.Uint64N(1<<52)) * math.Ldexp(1, r.IntN(8))
		if d := strconv.FormatFloat(half, 'f', 0, 64); len(d) <= 19 {
			m, _ := strconv.ParseUint(d, 10, 64)
			checkNumber(t, strconv.FormatUint(m+1, 10))
			checkNumber(t, strconv.FormatUint(m+1, 10)+".000000000000000001")
		}

		w := (r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(12)-4))
		checkNumber(t, strconv.FormatFloat(w, "efg"[r.IntN(3)], r.IntN(20), 64))
	}
}

func FuzzParseFloat(f *testing.F) {
	for _, s := range hardNumbers {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		checkNumber(t, s)
	})
}

// Typed reads marks between thousands as Python's f"{v:,}" writes them, narrow blanks in their place, and
// marks as in German. It refuses texts that only look like such numbers.
func TestTyped(t *testing.T) {
	for _, c := range []struct {
		cell     string
		dec      byte
		want     float64 // NaN: not a number
		doubtful bool
	}{
		{"1,234,567.25", '.', 1234567.25, false},
		{"1\u202f234\u202f567.25", '.', 1234567.25, false},
		{"1.234.567,25", ',', 1234567.25, false},
		{"-1,000", '.', -1000, true},
		{"-1\u00a0000", '.', -1000, false},
		{"-1.000", ',', -1000, true},
		{"12’345", '.', 12345, false},
		{"1'000e3", '.', math.NaN(), false},
		{"−0.5", '.', -0.5, false},
		{"1.5", '.', 1.5, false},
		{"1,5", '.', math.NaN(), false},
		{"0,123", '.', math.NaN(), false},
		{"1,23,456", '.', math.NaN(), false},
		{"1,2345", '.', math.NaN(), false},
		{"1,234 567", '.', math.NaN(), false},
		{",123", '.', math.NaN(), false},
		{"1.234.567", '.', math.NaN(), false},
		{"12.03.2026", ',', math.NaN(), false},
		{"12:034", '.', math.NaN(), false},
	} {
		v, doubtful, ok := Typed([]byte(c.cell), c.dec)
		require.Equal(t, !math.IsNaN(c.want), ok, "%s with %q is a number", c.cell, c.dec)
		if !ok {
			continue
		}

		assert.Equal(t, c.want, v, "%s with %q", c.cell, c.dec)
		assert.Equal(t, c.doubtful, doubtful, "%s with %q is doubtful", c.cell, c.dec)
	}
}

// The characters are those of Python's bytes(range(128, 256)).decode("cp1252", "replace").
func TestWindows1252(t *testing.T) {
	const want = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ\u00a0" +
		"¡¢£¤¥¦§¨©ª«¬\u00ad®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏ" +
		"ÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ"

	b := make([]byte, 128)
	for i := range b {
		b[i] = byte(128 + i)
	}

	assert.Equal(t, want, raw.Decoded(b))

	r, err := openString("T [\xb0C];n\xba \xf8 8 mm, CL\xb1dCL, \xfc. NN\n1.234,5;2\n2.345,5;3\n", ingest.Options{})
	require.NoError(t, err)
	require.Len(t, r.Info().Channels, 2)
	require.Equal(t, "°C", r.Info().Channels[0].Unit)

	ingesttest.Equal(t, ingesttest.ReadAll(t, r)[0], []float64{1234.5, 2345.5})

	r, err = openString("alpha;\xdf [\xb0]\n1;2\n2;3\n", ingest.Options{}) // ß for the angle β
	require.NoError(t, err)
	assert.Equal(t, "ß", r.Info().Channels[1].Name)
}

// The expected values are the numbers of Fortran's notations by its standard: D is an exponent letter, and an exponent
// of three digits has none.
func TestFortran(t *testing.T) {
	for s, want := range map[string]float64{"1.5": 1.5, "1.5D+03": 1500, "-2.5-101": -2.5e-101, "1.0+100": 1e100} {
		got, ok := Fortran([]byte(s), '.')
		assert.True(t, ok, "%s is a number", s)
		assert.Equal(t, want, got, "%s", s)
	}

	for _, s := range []string{"", "-", "1-", "a", "1.0-x"} {
		_, ok := Fortran([]byte(s), '.')
		assert.False(t, ok, "%q is a number", s)
	}
}
