package derive

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// value evaluates an expression over a = 3, b = 4 and the name with blanks = 5.
func value(t *testing.T, text string) float64 {
	t.Helper()

	s, err := New([]Definition{{"z", text}}, map[string]float64{"b": 4}, []string{"a", "blade pitch"}, nil)
	if err != nil {
		t.Fatal(err)
	}

	v := map[string]float64{"a": 3, "blade pitch": 5}
	if err := s.AddConditions(v); err != nil {
		t.Fatal(err)
	}

	return v["z"]
}

// The expected values are Go's own arithmetic; the order of operators is that of
// Python and of paper: powers before signs, from the right.
func TestExpressions(t *testing.T) {
	for text, want := range map[string]float64{
		"a+b*2": 11, "(a+b)*2": 14, "a/b": 0.75, "7/2": 3.5, "-a^2": -9, "2^3^2": 512, "2**-1": 0.5, "a^0.5": math.Sqrt(3),
		"1/2*a": 1.5, "hypot(a, b)": 5, "sqrt(a^2+b^2)": 5, "a > b ? 1 : 2": 2, "a < b and b == 4 ? 1 : 2": 1,
		"min(a, b)+max(a, b)": 7, "10*log10(100)": 20, "log(exp(2))": 2, "cos(pi)": -1,
		"'blade pitch'*2": 10, "1e3*a": 3000, "9000000000*9000000000*a": 2.43e20,
		"abs(-a)": 3, "atan2(a, b)": math.Atan2(3, 4),
		"round(2.5)": 3, "round(-2.5)": -3, "round(997/a)*a": 996, "floor(-a/2)": -2, "floor(b/a)": 1, "log10(a*1000/a)": 3,
	} {
		if got := value(t, text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// The example of the issue: a Mach number of a tip, by hand.
func TestTipMach(t *testing.T) {
	s, err := New([]Definition{
		{"ct", "thrust_n/(rho*n_rps^2*diameter_m^4)"}, // before what it needs
		{"tip_mach", "pi*diameter_m*rpm/60/sqrt(1.4*287*(273.15+temp_c))"}, {"n_rps", "rpm/60"},
	}, map[string]float64{"rho": 1.2}, []string{"diameter_m", "rpm", "temp_c"}, []string{"thrust_n"})
	if err != nil {
		t.Fatal(err)
	}

	if c, o := s.Conditions(), s.Outcomes(); len(c) != 2 || c[0] != "tip_mach" || c[1] != "n_rps" || len(o) != 1 {
		t.Fatalf("conditions %q, outcomes %q", c, o)
	}

	if !s.Needs("ct", "rpm") || s.Needs("ct", "temp_c") {
		t.Error("needs go through n_rps")
	}

	v := map[string]float64{"diameter_m": 0.5, "rpm": 6000, "temp_c": 20}
	if err := s.AddConditions(v); err != nil {
		t.Fatal(err)
	}

	if got, want := v["tip_mach"], math.Pi*0.5*100/343.2; math.Abs(got-want) > 1e-4*want { // 343.2 m/s at 20 °C
		t.Errorf("Mach number %v, want %v", got, want)
	}

	if _, ok := v["ct"]; ok {
		t.Error("an outcome among the conditions")
	}

	v["thrust_n"] = 7.5
	if err := s.AddOutcomes(v); err != nil {
		t.Fatal(err)
	}

	if got, want := v["ct"], 7.5/(1.2*1e4*0.0625); math.Abs(got-want) > 1e-15 {
		t.Errorf("thrust coefficient %v, want %v", got, want)
	}
}

func TestErrors(t *testing.T) {
	const known = "known are a, b, thrust_n, z"

	const not = "expected arithmetic: numbers, names, operators and functions"
	for _, c := range []struct{ text, want string }{
		{"a+thrus_n", `"a+thrus_n", character 3: unknown name "thrus_n"; did you mean "thrust_n"?`},
		{"a+", `"a+", character 2: unexpected token EOF`},
		{"a+*b", `"a+*b", character 3: unexpected token Operator("*")`},
		{"", `"", character 1: unexpected token EOF`},
		{"sinn(a)", `"sinn(a)", character 1: unknown function "sinn"; there are abs, acos, asin, atan, atan2, cos, exp, ` +
			`floor, hypot, log, log10, max, min, round, sin, sqrt, tan`},
		{"a > b", `"a > b", character 1: expected float64, but got bool`},
		{"a % b", `"a % b", character 3: "%" is no operator here; there are + - * / ^ ** < <= > >= == != and or && || ! not`},
		{"sqrt(a, b)", `"sqrt(a, b)", character 1: too many arguments to call sqrt`},
		{"[a, b]", `"[a, b]", character 1: ` + not},
		{"a.b", `"a.b", character 3: ` + not},
		{"$env", `"$env", character 1: unknown name "$env"; ` + known},
		{"filter([a], true)", `"filter([a], true)", character 1: ` + not},
		{"let c = a; c", `"let c = a; c", character 5: ` + not},
		{"z+1", "it needs itself, among z; a derived number needs measured ones in the end"},
	} {
		_, err := New([]Definition{{"z", c.text}}, nil, []string{"a", "b"}, []string{"thrust_n"})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got  %v\n want %s", c.text, err, c.want)
		}
	}

	_, err := New([]Definition{{"a", "b"}}, nil, []string{"a", "b"}, nil)
	if want := `"a" is a name of the data already; choose another`; err == nil || err.Error() != want {
		t.Errorf("clash: %v", err)
	}
}

// A result that is no number is named with what it was computed from.
func TestNotFinite(t *testing.T) {
	for text, want := range map[string]string{
		"a/b": "z = a/b is +Inf with a = 1, b = 0", "b/b": "z = b/b is NaN with b = 0",
		"sqrt(-a)": "z = sqrt(-a) is NaN with a = 1",
	} {
		s, err := New([]Definition{{"z", text}}, nil, []string{"a", "b"}, nil)
		if err != nil {
			t.Fatal(err)
		}

		err = s.AddConditions(map[string]float64{"a": 1, "b": 0})

		var bad *ValueError
		if !errors.As(err, &bad) || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Whatever text comes, New returns and what it accepts gives a number.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab0-9.+*/^() <>?:!&|,'#\[\]{}$=;-]{0,24}|.{0,30}`).Draw(t, "text")
		s, err := New([]Definition{{"z", text}}, nil, []string{"a", "b"}, nil)
		if err != nil {
			return
		}

		v := map[string]float64{"a": 1.5, "b": -2}
		if err := s.AddConditions(v); err != nil {
			return
		}

		if _, ok := v["z"]; !ok {
			t.Fatalf("%q: no value", text)
		}
	})
}

// An event holds where Go's own comparison does, and its errors have their place.
func TestEvents(t *testing.T) {
	outcomes := []string{"bpf1_db", "lift n"}
	for text, in := range map[string]func(y float64) bool{
		"bpf1_db > 70":                         func(y float64) bool { return y > 70 },
		"bpf1_db >= 60 and not(bpf1_db > 70)":  func(y float64) bool { return y >= 60 && y <= 70 },
		"abs('lift n') < 2^6 || 'lift n' > 80": func(y float64) bool { return math.Abs(y) < 64 || y > 80 },
	} {
		e, err := NewEvent(Definition{"e", text}, outcomes)
		if err != nil {
			t.Fatal(err)
		}

		for _, y := range []float64{-80, -64, 59.9, 60, 64, 70, 70.1, 81} {
			if e.Holds(y) != in(y) {
				t.Errorf("%s at %g: %v", text, y, e.Holds(y))
			}
		}
	}

	const one = `expected a comparison of one outcome, found `

	const derived = "; ingest: {derive: …} makes one outcome of several; known are bpf1_db, lift n"
	for text, want := range map[string]string{
		"bpf1_db + 1":        `"bpf1_db + 1", character 1: expected bool, but got float64`,
		"bpf_db > 70":        `"bpf_db > 70", character 1: unknown name "bpf_db"; did you mean "bpf1_db"?`,
		"70 > 60":            `"70 > 60", character 1: ` + one + "none" + derived,
		"bpf1_db > 'lift n'": `"bpf1_db > 'lift n'", character 1: ` + one + "bpf1_db, lift n" + derived,
		"bpf1_db > 70 and":   `"bpf1_db > 70 and", character 16: unexpected token EOF`,
	} {
		if _, err := NewEvent(Definition{"e", text}, outcomes); err == nil || err.Error() != want {
			t.Errorf("%s:\n got  %v\n want %s", text, err, want)
		}
	}
}

// The list of functions in the configuration's reference, which is made of keys.txt, is complete.
func TestFunctionsInReference(t *testing.T) {
	b, err := os.ReadFile("../../pipeline/config/keys.txt")
	if err != nil {
		t.Fatal(err)
	}

	if want := "Functions: " + strings.Join(functions(), " ") + "\n"; !strings.Contains(string(b), want) {
		t.Errorf("keys.txt has no %q", want)
	}
}
