package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected factors are those of scipy.constants 1.10 (scipy.constants.lbf,
// psi, inch, knot, kmh, mph, atm, torr, bar, hp, degree, zero_Celsius, …) and of
// closed forms, not the table's own products.
func TestParse(t *testing.T) {
	const tol = 1e-15
	for _, c := range []struct {
		text   string
		dim    string
		factor float64
	}{
		{"", "1", 1},
		{"-", "1", 1},
		{"N", "kg·m·s^-2", 1},
		{"[kN]", "kg·m·s^-2", 1000},
		{" (mN) ", "kg·m·s^-2", 1e-3},
		{"lbf", "kg·m·s^-2", 4.4482216152605},
		{"gf", "kg·m·s^-2", 0.00980665},
		{"kgf", "kg·m·s^-2", 9.80665},
		{"psi", "kg·m^-1·s^-2", 6894.757293168361},
		{"mbar", "kg·m^-1·s^-2", 100},
		{"hPa", "kg·m^-1·s^-2", 100},
		{"µPa", "kg·m^-1·s^-2", 1e-6},
		{"uPa", "kg·m^-1·s^-2", 1e-6},
		{"atm", "kg·m^-1·s^-2", 101325},
		{"mmHg", "kg·m^-1·s^-2", 133.32236842105263},
		{"mmH2O", "kg·m^-1·s^-2", 9.80665},
		{"mN·m", "kg·m^2·s^-2", 1e-3},
		{"mN m", "kg·m^2·s^-2", 1e-3},
		{"N*m", "kg·m^2·s^-2", 1},
		{"N.m", "kg·m^2·s^-2", 1},
		{"Nm", "kg·m^2·s^-2", 1},
		{"mNm", "kg·m^2·s^-2", 1e-3},
		{"m/s", "m·s^-1", 1},
		{"m s^-1", "m·s^-1", 1},
		{"m·s⁻¹", "m·s^-1", 1},
		{"km/h", "m·s^-1", 1 / 3.6},
		{"mph", "m·s^-1", 0.44704},
		{"kn", "m·s^-1", 0.5144444444444445},
		{"ft/s", "m·s^-1", 0.3048},
		{"kg/m^3", "kg·m^-3", 1},
		{"kg/m³", "kg·m^-3", 1},
		{"kg m-3", "kg·m^-3", 1},
		{"g/(cm^3)", "kg·m^-3", 1000},
		{"1/min", "s^-1", 1.0 / 60},
		{"rev/min", "s^-1", 1.0 / 60},
		{"rpm", "s^-1", 1.0 / 60},
		{"kHz", "s^-1", 1000},
		{"deg", "rad", math.Pi / 180},
		{"°", "rad", math.Pi / 180},
		{"rad/s", "s^-1·rad", 1},
		{"V/Pa", "m^3·s^-1·A^-1", 1},
		{"mV/Pa", "m^3·s^-1·A^-1", 1e-3},
		{"Pa^2", "kg^2·m^-2·s^-4", 1},
		{"hp", "kg·m^2·s^-3", 745.6998715822701},
		{"in", "m", 0.0254},
		{"m2", "m^2", 1},
		{"N N", "kg^2·m^2·s^-4", 1},
		{"furlong", "", 0},
		{"dB", "", 0},
		{"N/", "", 0},
		{"/N", "", 0},
		{"N//m", "", 0},
		{"(N", "", 0},
		{"N)", "", 0},
		{"N^", "", 0},
		{"N^0", "", 0},
		{"m^99", "", 0},
		{"°C/s", "", 0}, // a scale with an offset has no power
		{"kdeg", "", 0},
	} {
		u, err := Parse(c.text)
		if c.dim == "" {
			var e *Error
			require.ErrorAs(t, err, &e, "%q", c.text)
			require.Equal(t, c.text, e.Text)
			assert.Contains(t, err.Error(), strconv.Quote(c.text))

			continue
		}

		require.NoError(t, err, "%q", c.text)
		assert.Equal(t, order(c.dim), order(u.Dimension.String()), "%q: dimension", c.text)
		assert.InEpsilon(t, c.factor, u.Factor, tol, "%q: factor", c.text)
	}
}

// Numbers and brackets in units. Expected: a 1 is the number of a product, brackets change no value, and all other
// numbers are refused, because the value behind them would be lost.
func TestNumbersAndBrackets(t *testing.T) {
	for _, c := range []struct{ text, same string }{
		{"1", ""},
		{"(1)", ""},
		{"1 N", "N"},
		{"1N", "N"},
		{"N 1", "N"},
		{"1·N", "N"},
		{"1*N", "N"},
		{"1/s", "s^-1"},
		{"1 / s", "s^-1"},
		{"(1/s)", "s^-1"},
		{"1/(s)", "s^-1"},
		{"(N)/(m)", "N/m"},
		{"[N]/[m]", "N/m"},
		{"(N)(m)", "N m"},
		{"(N m)/(s)", "N m/s"},
		{"(N)", "N"},
		{"[(N)]", "N"},
		{"([N])", "N"},
		{"( N/(m s) )", "N/m/s"},
		{"(kg)/(m^3)", "kg/m^3"},
		{"[kg]/[m]^3", "refused"}, // a power of brackets
		{"11 N", "refused"},
		{"11", "refused"},
		{"1.1 N", "refused"},
		{"1,1 N", "refused"},
		{"1.0 N", "refused"},
		{"111 N", "refused"},
		{"10 N", "refused"},
		{"100 Pa", "refused"},
		{"2 N", "refused"},
		{"N 11", "refused"},
		{"N/11", "refused"},
		{"1e3 N", "refused"},
		{"N)/(m", "refused"},
		{"(N]", "refused"},
		{"[N)", "refused"},
		{"((N)", "refused"},
		{"(N))", "refused"},
		{"()", ""},
		{"()()", "refused"},
		{"(", "refused"},
	} {
		got, err := Parse(c.text)
		if c.same == "refused" {
			assert.Error(t, err, "%q", c.text)
			continue
		}

		require.NoError(t, err, "%q", c.text)
		want, err := Parse(c.same)
		require.NoError(t, err, "%q", c.same)
		want.Text = c.text
		assert.Equal(t, want, got, "%q", c.text)
	}
}

// order makes dimensions comparable whatever the order of their symbols.
func order(d string) [128]int {
	var out [128]int
	for _, s := range strings.Split(d, "·") {
		name, p, ok := strings.Cut(s, "^")

		n := 1
		if ok {
			_, _ = fmt.Sscan(p, &n)
		}

		for i := range name {
			out[name[i]] += n
		}
	}

	return out
}

// Conversions of values whose result follows from the definitions of the units. A conversion to a unit of another
// dimension is an error that names the unit.
func TestTo(t *testing.T) {
	for _, c := range []struct {
		from, to string
		v, want  float64
	}{
		{"kN", "N", 1.5, 1500},
		{"lbf", "N", 1, 4.4482216152605},
		{"rad", "deg", math.Pi, 180},
		{"Hz", "1/min", 50, 3000},
		{"km/h", "m/s", 36, 10},
		{"°F", "°C", 212, 100},
		{"°F", "°C", -40, -40},
		{"K", "°C", 0, -273.15},
		{"°C", "K", 15, 288.15},
		{"mbar", "Pa", 1013.25, 101325},
		{"m", "m", 0.1, 0.1},
	} {
		source, err := Parse(c.from)
		require.NoError(t, err, "%s", c.from)
		target, err := Parse(c.to)
		require.NoError(t, err, "%s", c.to)
		conv, err := source.To(target)
		require.NoError(t, err, "%s to %s", c.from, c.to)

		assert.InDelta(t, c.want, conv.Apply(c.v), 1e-12*math.Max(1, math.Abs(c.want)), "%g %s =%s", c.v, c.from, c.to)
		assert.Equal(t, (c.from == c.to), conv.Identity(), "%s to %s: identity", c.from, c.to)
	}

	for _, c := range []struct{ from, to string }{{"kN", "Pa"}, {"rad", "1/min"}, {"V", "N"}, {"m", ""}} {
		source, err := Parse(c.from)
		require.NoError(t, err, "%s", c.from)
		target, err := Parse(c.to)
		require.NoError(t, err, "%s", c.to)

		_, err = source.To(target)
		assert.ErrorContains(t, err, strconv.Quote(c.from), "%s to %q", c.from, c.to)
	}
}

// The units that the ends of names state.
func TestOfName(t *testing.T) {
	for name, want := range map[string]string{
		"lift_n": "N", "fx_N": "N", "thrust_gf": "gf", "u_inf_m_s": "m/s", "alpha_deg": "deg", "rpm": "1/min",
		"shaft_rpm": "1/min", "RPM": "1/min", "Rpm": "1/min", "rps": "1/s", "RPS": "1/s", "Shaft_RPM": "1/min",
		"rpm_": "", "rpm1": "", "N": "", "V": "", "Pa": "",
		"temp_c": "°C", "q_pa": "Pa", "density_kg_m3": "kg/m^3", "torque_n_m": "N·m", "radius_m": "m",
		"n": "", "c": "", "m": "", "blades": "", "cl": "", "in": "", "": "", "bpf1_db": "",
	} {
		u, ok := OfName(name)
		require.Equal(t, want != "", ok, "%q has a unit", name)
		assert.Equal(t, want, u.Text, "unit of %q", name)
	}

	for end, text := range endings {
		_, err := Parse(text)
		assert.NoError(t, err, "ending %s", end)
	}
}

// The proposed name states the usual unit of the dimension, which OfName reads back.
func TestNameWith(t *testing.T) {
	for unit, want := range map[string]string{
		"kN": "x_n", "N": "x_n", "lbf": "x_n", "hPa": "x_pa", "psi": "x_pa", "km/h": "x_m_s", "kn": "x_m_s",
		"rad": "x_deg", "1/min": "x_rps", "mm": "x_m", "mN·m": "x_n_m", "mV": "x_v", "kW": "x_w", "K": "x_c",
		"-": "", "dB": "", "N^2": "", "any words": "", "N/V": "",
	} {
		name := NameWith("x", unit)
		require.Equal(t, want, name, "name of a column in %s", unit)
		_, stated := OfName(name)
		assert.Equal(t, want != "", stated, "%s states a unit", name)
	}
}

// A product of powers parses to the product of the factors.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"kN", "mN·m", "kg/m^3", "1/min", "((((", "m^-9", "°C", "\xff", "N/(m·s)"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		u, err := Parse(s)

		var e *Error
		assert.False(t, err != nil && !errors.As(err, &e), "%q: %v is no *Error", s, err)
		assert.False(t, err == nil && (!(u.Factor > 0) && !math.IsInf(u.Factor, 0) && u.Factor != 0 || math.IsNaN(u.Factor)),
			"%q: factor %v", s, u.Factor)
	})
}

// Forces written in different units become one.
func ExampleUnit_To() {
	newton, _ := Parse("N")
	for _, text := range []string{"kN", "lbf", "gf", "psi"} {
		u, err := Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}

		c, err := u.To(newton)
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "; ", ";\n"))
			continue
		}

		fmt.Printf("1 %s = %.5g N\n", text, c.Apply(1))
	}
	// Output:
	// 1 kN = 1000 N
	// 1 lbf = 4.4482 N
	// 1 gf = 0.0098067 N
	// unit "psi": expected a unit of N (kg·m·s^-2), this one is of kg·m^-1·s^-2;
	// name the column otherwise, or state its unit in the configuration
}

// A text of any length is refused, and its message is short: millions of brackets would overflow the stack.
func TestLongTexts(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("(", 1<<22), "m" + strings.Repeat("·(m", 1<<20), strings.Repeat("m·", 1<<20),
	} {
		_, err := Parse(text)
		require.Error(t, err, "%.10s", text)
		assert.Less(t, len(err.Error()), 600, "bytes of the message about %.10s", text)
	}
}
