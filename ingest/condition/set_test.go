package condition

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
)

// Conditions of two origins that contradict each other are an error that names both. A set point in the name and a
// measured value within the tolerance do not contradict: the measured one holds, whichever comes first. The expected
// values were chosen by hand.
func TestMerge(t *testing.T) {
	number := func(v float64, origin string) Condition { return Condition{Column: "rpm", Value: v, Origin: origin} }
	name := func(s, origin string) Condition {
		return Condition{Column: "rpm", Name: s, IsName: true, Origin: origin}
	}
	const (
		log       = "log.csv, line 2"
		attribute = "the attribute RPM"
	)
	for _, c := range []struct {
		first, second Condition
		want          string
	}{
		{number(3000, Configured), number(3000, log), "map[rpm:3000] map[]"},
		{number(3000, FileName), number(2997, log), "map[rpm:2997] map[]"},
		{number(3010, attribute), number(3000, FileName), "map[rpm:3010] map[]"},
		{number(3000, Configured), number(2997, log), "map[rpm:2997] map[]"},
		{number(2991, Configured), number(3000, FileName), "map[rpm:3000] map[]"},
		{number(2991, attribute), number(2990, log), "map[rpm:2990] map[]"},
		{
			number(3000, FileName), number(2980, log),
			"condition rpm: expected 3000, as in the file's name, found 2980 in " + log,
		},
		{number(3, attribute), number(4, log), "condition rpm: expected 3, as in the attribute RPM, found 4 in " + log},
		{name("APC", FileName), name("APC", log), "map[] map[rpm:APC]"},
		{name("APC", FileName), name("HQ", log), `label rpm: expected "APC", as in the file's name, found "HQ" in ` + log},
		{number(3, attribute), name("3", log), `label rpm: expected 3, as in the attribute RPM, found "3" in ` + log},
		{number(3, attribute), number(math.NaN(), log), "condition rpm: expected a finite number, found NaN in " + log},
	} {
		v, err := Merge("a.wav", map[string]Tolerance{"rpm": {Relative: 0.005}}, c.first, c.second)
		got := fmt.Sprint(v.Numbers, v.Names)
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "a.wav: ")
		}

		assert.Equal(t, c.want, got, "%v, %v", c.first, c.second)
	}
}

// Alike returns the pairs of names that a person takes for one, and no pair that a person takes for two. The names were
// chosen by hand.
func TestAlike(t *testing.T) {
	for names, want := range map[string]string{
		"NACA0015,NACA 0015,naca-0015,APC-8x6,APC 8x6,APC-8x7": "[{APC 8x6 APC-8x6} {NACA 0015 NACA0015} " +
			"{NACA 0015 naca-0015} {NACA0015 naca-0015}]",
		"apc,APC": "[{APC apc}]", "Clark-Y,clark y": "[{Clark-Y clark y}]",
		"Graupner,Grauper,APC": "[{Grauper Graupner}]", "Propeller,Propellor": "[{Propeller Propellor}]",
		"APC 8x6,APC 8x7": "[]", "A,B": "[]", "Mon,Tue": "[]", "run1,run2": "[]", "Motor,Rotor1": "[]", "wing,wind": "[]",
		"NACA0012,NACA0015": "[]", "west,west": "[]", "MotorA,MotorB": "[{MotorA MotorB}]", "session1,session": "[]",
		"Müller,Mueller": "[{Mueller Müller}]", "Mu\u0308ller,Müller": "[{Mu\u0308ller Müller}]", "8x6,8×6": "[{8x6 8×6}]",
		"APC 8.5x6,APC 85x6": "[]", "APC 8.5x6,apc-8.5x6": "[{APC 8.5x6 apc-8.5x6}]", "Nr. 5,Nr 5": "[{Nr 5 Nr. 5}]",
		"Nr.5,Nr5.": "[{Nr.5 Nr5.}]", "v1.2.3,v1.23": "[]",
		"wing A,wing B": "[]", "wing_A,wing_B": "[]", "wing-A,wing B": "[]", "Wing A,wing b": "[]", "prop_A,prop_B": "[]",
		"wing A B,wing A C": "[]", "A wing,B wing": "[]", "wing Ä,wing B": "[]", "wing A,wings": "[]",
		"wing_A,wing A": "[{wing A wing_A}]", "Motor A,Rotor A": "[{Motor A Rotor A}]",
		"Bäumer,Däumer": "[{Bäumer Däumer}]", "Nähe 1,Nähr 2": "[]",
	} {
		assert.Equal(t, want, fmt.Sprint(Alike(strings.Split(names, ","))), "%v", names)
	}
}

// Dates of one day: written in two ways, or with times of day that are too many to name anything. The keys are names,
// parted by semicolons, and the values are the names of their days; they are empty if the names stay as they are.
// Expected: by hand.
func TestDays(t *testing.T) {
	for names, want := range map[string]string{
		"2024-05-06;6.5.24;7 May 2024;05/07/2024":  "2024-05-06;2024-05-06;7 May 2024;05/07/2024",
		"45418.4;45418.41;45418.5;45418.6;45418.7": "45418;45418;45418;45418;45418", "2024-05-06;2024-05-07": ";",
		"2024-05-06T09:00:10Z;6.5.24 9:05;6 May 2024 1:00 PM": "2024-05-06;2024-05-06;2024-05-06", "Mon;Tue": ";",
		"2024-05-06_09:00;2024-05-06_09:05:10;2024-05-06":     "2024-05-06;2024-05-06;2024-05-06",
		"6.5.24 09:00;6.5.24 14:00;6.5.24 09:00;6.5.24 14:00": ";;;", "6.5.24 9:00, rain;6.5.24": ";",
	} {
		list := strings.Split(names, ";")
		days := Days(list)
		var got []string
		for _, name := range list {
			got = append(got, days[name])
		}

		require.Equal(t, want, strings.Join(got, ";"), "%s", names)
	}
}

// Attributes that are no number of the condition. Expected: the message names what is wrong, the unit or the number.
func TestAttributeOfOtherUnit(t *testing.T) {
	for _, c := range []struct{ value, condition, want string }{
		{"5 deg", "alpha_deg", ""},
		{"10 mm", "alpha_deg", "a number in deg, found mm"},
		{"5 deg", "gap_mm", "a number in mm, found deg"},
		{"fast", "alpha_deg", `a number, found "fast"`},
		{"nan", "alpha_deg", `a number, found "nan"`},
	} {
		info := ingest.Info{Path: "a.h5", Attributes: []ingest.Attribute{{Name: "setting", Value: c.value}}}
		_, err := Roles{}.Attribute(info, "setting", c.condition, "")
		if c.want == "" {
			assert.NoError(t, err, c.value)
		} else {
			assert.ErrorContains(t, err, "expected "+c.want, c.value)
		}
	}
}
