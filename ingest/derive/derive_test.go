package derive

import (
	"math"
	"strings"
	"testing"

	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// value evaluates an expression over a = 3, b = 4 and the name with blanks = 5.
func value(t *testing.T, text string) float64 {
	t.Helper()

	s, err := New([]Definition{{"z", text}}, map[string]float64{"b": 4}, []string{"a", "blade pitch"}, nil, nil)
	require.NoError(t, err)

	v := map[string]float64{"a": 3, "blade pitch": 5}
	require.NoError(t, s.AddConditions(v, nil))

	return v["z"]
}

// The expected values are Go's own arithmetic. Operators have the order of Python
// and of paper: powers come before signs, and from the right.
func TestExpressions(t *testing.T) {
	for text, want := range map[string]float64{
		"a+b*2": 11, "(a+b)*2": 14, "a/b": 0.75, "7/2": 3.5, "-a^2": -9, "2^3^2": 512, "2**-1": 0.5, "a^0.5": math.Sqrt(3),
		"1/2*a": 1.5, "hypot(a, b)": 5, "sqrt(a^2+b^2)": 5, "a > b ? 1 : 2": 2, "a < b and b == 4 ? 1 : 2": 1,
		"min(a, b)+max(a, b)": 7, "10*log10(100)": 20, "log(exp(2))": 2, "cos(pi)": -1,
		"'blade pitch'*2": 10, "1e3*a": 3000, "9000000000*9000000000*a": 2.43e20,
		"abs(-a)": 3, "atan2(a, b)": math.Atan2(3, 4),
		"round(2.5)": 3, "round(-2.5)": -3, "round(997/a)*a": 996, "floor(-a/2)": -2, "floor(b/a)": 1, "log10(a*1000/a)": 3,
	} {
		assert.Equal(t, want, value(t, text), "%s", text)
	}
}

// Definitions keep their order, except that a definition comes after those that it needs. Here the first one needs the
// last one, and therefore waits.
func TestOrder(t *testing.T) {
	definitions := []Definition{{"area", "c*b"}, {"b2", "b*2"}, {"b4", "b2*2"}, {"b3", "b2+1"}, {"c", "b"}}
	s, err := New(definitions, nil, []string{"b"}, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"b2", "c", "area", "b4", "b3"}, s.Conditions())
}

// Names are compared, whatever they contain, and the error of a result shows them. "a" is a name here, although a
// condition is called so.
func TestNames(t *testing.T) {
	for text, want := range map[string]float64{
		"profile == 'Clark-Y' ? 1 : 0": 1, "profile != \"Clark-Y\" ? 1 : 0": 0, "'Clark-Y' == profile and a > 2 ? a : 0": 3,
		"profile == 'a' ? 1 : 0": 0, "profile == 'blade type' ? 1 : 0": 0, "'blade type' == '3' ? a : 1": 3,
		"profile == 'blade type' ? 1 : profile == \"clark-y\" ? 2 : 4": 4,
	} {
		s, err := New([]Definition{{"z", text}}, nil, []string{"a"}, []string{"profile", "blade type"}, nil)
		require.NoError(t, err)

		names := map[string]string{"profile": "Clark-Y", "blade type": "3"}
		v := map[string]float64{"a": 3}
		d := map[string]Dual{"a": {3, []float64{1}}}
		s.Differentiate(d, names)
		err = s.AddConditions(v, names)
		require.NoError(t, err, "%s", text)
		assert.InDelta(t, want, v["z"], 0, "%s", text)
		assert.InDelta(t, want, d["z"].Value, 0, "%s", text)
		assert.Len(t, v, 2, "%s", text)
	}

	s, err := New([]Definition{{"z", "1/a*(profile == 'B' ? 1 : 2)"}}, nil, []string{"a"}, []string{"profile"}, nil)
	require.NoError(t, err)

	err = s.AddConditions(map[string]float64{"a": 0}, map[string]string{"profile": "C"})
	require.Error(t, err)
	assert.True(t, strings.HasSuffix(err.Error(), "is +Inf with a = 0, profile = C"), "%v", err)

	assert.Equal(t, []string{"a", "blade type", "b_2", "C-1"}, Mentioned("a+'blade type'*b_2 == \"C-1\""), "mentioned")
}

// The Mach number of a blade's tip, computed by hand.
func TestTipMach(t *testing.T) {
	s, err := New([]Definition{
		{"ct", "thrust_n/(rho*n_rps^2*diameter_m^4)"}, // before what it needs
		{"tip_mach", "pi*diameter_m*rpm/60/sqrt(1.4*287*(273.15+temp_c))"}, {"n_rps", "rpm/60"},
	}, map[string]float64{"rho": 1.2}, []string{"diameter_m", "rpm", "temp_c"}, nil, []string{"thrust_n"})
	require.NoError(t, err)

	c := s.Conditions()
	o := s.Outcomes()
	require.Len(t, c, 2)
	require.Equal(t, "tip_mach", c[0])
	require.Equal(t, "n_rps", c[1])
	require.Len(t, o, 1)

	require.True(t, s.Needs("ct", "rpm"), "needs go through n_rps")
	assert.False(t, s.Needs("ct", "temp_c"), "needs go through n_rps")
	assert.ElementsMatch(t, []string{"thrust_n", "rpm", "diameter_m"}, s.Sources("ct"), "what ct is computed from")
	assert.Empty(t, s.Sources("rpm"), "a number that is measured has no sources")

	v := map[string]float64{"diameter_m": 0.5, "rpm": 6000, "temp_c": 20}
	require.NoError(t, s.AddConditions(v, nil))

	got := v["tip_mach"]
	want := math.Pi * 0.5 * 100 / 343.2
	assert.InDelta(t, want, got, 1e-4*want, "Mach number")

	_, ok := v["ct"]
	assert.False(t, ok, "an outcome among the conditions")

	v["thrust_n"] = 7.5
	require.NoError(t, s.AddOutcomes(v, nil))

	assert.InDelta(t, 7.5/(1.2*1e4*0.0625), v["ct"], 1e-15, "thrust coefficient")
}

// Each error quotes the expression, and names the character, the fault and what to write.
func TestErrors(t *testing.T) {
	const known = "known are a, b, profile, thrust_n, z"

	const compare = `profile has names, no numbers: compare it with one, as profile == "NAME"`

	const not = "expected arithmetic: numbers, names, operators and functions"
	for _, c := range []struct{ text, want string }{
		{"a+thrus_n", `"a+thrus_n", character 3: unknown name "thrus_n"; did you mean "thrust_n"?`},
		{"a+", `"a+", character 2: unexpected token EOF`},
		{"a+*b", `"a+*b", character 3: unexpected token Operator("*")`},
		{"", `"", character 1: unexpected token EOF`},
		{"sinn(a)", `"sinn(a)", character 1: unknown function "sinn"; there are abs, acos, asin, atan, atan2, cos, exp, ` +
			`floor, hypot, log, log10, max, min, round, sin, sqrt, tan`},
		{"a > b", `"a > b", character 3: expected a number, found a comparison`},
		{"a % b", `"a % b", character 3: "%" is no operator here; there are + - * / ^ ** < <= > >= == != and or && || ! not`},
		{"sqrt(a, b)", `"sqrt(a, b)", character 1: expected sqrt(x), found 2 arguments`},
		{"[a, b]", `"[a, b]", character 1: ` + not},
		{"a.b", `"a.b", character 3: ` + not},
		{"$env", `"$env", character 1: unknown name "$env"; ` + known},
		{"if a > b {[a]} else {b}", `"if a > b {[a]} else {b}", character 11: ` + not},
		{"let c = a; c", `"let c = a; c", character 5: ` + not},
		{"profile*2", `"profile*2", character 1: ` + compare},
		{"a == 'Clark-Y' ? 1 : 0", `"a == 'Clark-Y' ? 1 : 0", character 6: unknown name "Clark-Y"; ` + known},
		{
			"profile == Clark ? 1 : 0",
			`"profile == Clark ? 1 : 0", character 12: expected a name in quotes, profile == "Clark"`,
		},
		{"3 != profile ? 1 : 0", `"3 != profile ? 1 : 0", character 1: expected a name in quotes, as profile == "NAME"`},
		{"profile < 'B' ? 1 : 0", `"profile < 'B' ? 1 : 0", character 1: ` + compare},
		{"z+1", "it needs itself, among z; a derived number needs measured ones in the end"},
	} {
		_, err := New([]Definition{{"z", c.text}}, nil, []string{"a", "b"}, []string{"profile"}, []string{"thrust_n"})
		assert.EqualError(t, err, c.want, "%s:\n got  %v\n want %s", c.text, err, c.want)
	}

	_, err := New([]Definition{{"z", strings.Repeat("a+", 100_000) + "*"}}, nil, []string{"a"}, nil, nil)
	require.Error(t, err)
	require.LessOrEqual(t, len(err.Error()), 400, "a long expression")
	assert.Contains(t, err.Error(), "up to 2000 characters", "a long expression")

	_, err = New([]Definition{{"a", "b"}}, nil, []string{"a", "b"}, nil, nil)
	want := `"a" is a name of the data already; choose another`
	assert.EqualError(t, err, want)
}

// The error of a result that is not a number names the numbers it was computed from.
func TestNotFinite(t *testing.T) {
	for text, want := range map[string]string{
		"a/b": "z = a/b is +Inf with a = 1, b = 0", "b/b": "z = b/b is NaN with b = 0",
		"sqrt(-a)": "z = sqrt(-a) is NaN with a = 1",
	} {
		s, err := New([]Definition{{"z", text}}, nil, []string{"a", "b"}, nil, nil)
		require.NoError(t, err)

		err = s.AddConditions(map[string]float64{"a": 1, "b": 0}, nil)

		var bad *ValueError
		require.ErrorAs(t, err, &bad, text)
		assert.Equal(t, want, err.Error(), text)
	}
}

// New returns for every text, and every definition that it accepts gives a number.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab0-9.+*/^() <>?:!&|,'#\[\]{}$=;-]{0,24}|.{0,30}`).Draw(t, "text")
		s, err := New([]Definition{{"z", text}}, nil, []string{"a", "b"}, nil, nil)
		if err != nil {
			return
		}

		v := map[string]float64{"a": 1.5, "b": -2}
		if err := s.AddConditions(v, nil); err != nil {
			return
		}

		_, ok := v["z"]
		require.True(t, ok, "%q", text)
	})
}

// The list of functions in the configuration's reference, which is made of keys.txt, is complete.
func TestFunctionsInReference(t *testing.T) {
	b := testfile.Read(t, "../../pipeline/config/keys.txt")
	assert.Contains(t, string(b), "Functions: "+strings.Join(functions(), " ")+"\n")
}

// A formula never gives −0, which would be another condition than 0 in a text. By hand: −a, a·(−2) and −(a²) of 0.
func TestZeroHasNoSign(t *testing.T) {
	for _, text := range []string{"-a", "a*(-2)", "-a^2", "0*(-a-1)"} {
		s, err := New([]Definition{{"q", text}}, nil, []string{"a"}, nil, nil)
		require.NoError(t, err)

		values := map[string]float64{"a": 0}
		require.NoError(t, s.AddConditions(values, nil), text)
		assert.Zero(t, values["q"], text)
		assert.False(t, math.Signbit(values["q"]), text)
	}
}
