package filename_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/filename"
)

func ExampleRead() {
	names := filename.Read([]string{"wingA_aoa5deg_3000rpm_2024-05-03.wav", "wingB_aoa0deg_3krpm_2024-05-04.wav"})
	for _, p := range names.Pieces[0] {
		switch p.Kind {
		case filename.Number:
			fmt.Println("number:", p.Key, p.Value())
		case filename.Date:
			fmt.Println("date:", p.Text)
		case filename.Word:
			fmt.Println("text:", p.Text)
		}
	}

	fmt.Println("most have:", names.Common)
	// Output:
	// text: wingA
	// number: alpha_deg 5
	// number: rpm 3000
	// date: 2024-05-03
	// most have: [alpha_deg day rpm]
}

// shape writes the pieces of names in short: texts in quotes, numbers with their conditions, days and times of day.
func shape(names filename.Names) []string {
	var shapes []string
	for _, pieces := range names.Pieces {
		text := ""
		for _, p := range pieces {
			switch {
			case p.Key == filename.Copy:
				text += " copy=" + p.Text
			case p.Kind == filename.Number:
				text += fmt.Sprintf(" %s=%v", p.Key, p.Value())
			case p.Kind == filename.Word:
				text += fmt.Sprintf(" %q", p.Text)
			default:
				text += fmt.Sprintf(" %s:%s", p.Key, p.Text)
			}
		}

		shapes = append(shapes, text[1:])
	}

	return shapes
}

// The pieces are what an engineer reads in the names.
func TestReadNamesOfACampaign(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  []string
	}{
		{
			"an underline for a point, if all numbers of the word are wholes and halves",
			[]string{"V7_5.txt", "V10.txt", "V12_5.txt"},
			[]string{"u_inf_m_s=7.5", "u_inf_m_s=10", "u_inf_m_s=12.5"},
		},
		{
			"a second number that counts runs",
			[]string{"V7_1.txt", "V7_2.txt", "V10_1.txt"},
			[]string{"u_inf_m_s=7 condition=1", "u_inf_m_s=7 condition=2", "u_inf_m_s=10 condition=1"},
		},
		{
			"copies of a name",
			[]string{"V10.txt", "V10_2.txt", "V12.txt"},
			[]string{"u_inf_m_s=10", "u_inf_m_s=10 copy=2", "u_inf_m_s=12"},
		},
		{
			"copies that begin with other digits, with letters, and behind a gap",
			[]string{
				"V10.txt", "V10_0.txt", "V10_1.txt", "V12.txt", "V12_a.txt", "V12_b.txt", "V12_c.txt", "V14.txt", "V14_d.txt",
			},
			[]string{
				"u_inf_m_s=10", "u_inf_m_s=10 copy=0", "u_inf_m_s=10 copy=1",
				"u_inf_m_s=12", "u_inf_m_s=12 copy=a", "u_inf_m_s=12 copy=b", "u_inf_m_s=12 copy=c",
				"u_inf_m_s=14", `u_inf_m_s=14 "d"`,
			},
		},
		{
			"the number of a profile is a part of its name",
			[]string{"NACA0012_a5.txt", "NACA2412_a5.txt"},
			[]string{`"NACA0012" alpha_deg=5`, `"NACA2412" alpha_deg=5`},
		},
		{
			"words and numbers without a separator, and a day with a time",
			[]string{"alpha5U10_20240503_1450.txt"},
			[]string{"alpha_deg=5 u_inf_m_s=10 day:20240503 time:1450"},
		},
		{
			"a number apart from its unit, and a number that counts",
			[]string{"test 2000 rpm.txt", "test 3000 rpm.txt"},
			[]string{`"test" rpm=2000`, `"test" rpm=3000`},
		},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, shape(filename.Read(c.files))) })
	}
}

// A number of the form 0305 is the third of May or the fifth of March; 0345 is neither.
func TestPossibleDays(t *testing.T) {
	assert.Equal(t, "March 5, or May 3", filename.PossibleDays([]string{"0305", "0405"}))
	assert.Equal(t, "March 25", filename.PossibleDays([]string{"0325", "0326"}))
	assert.Equal(t, "", filename.PossibleDays([]string{"0345"}))
	assert.Equal(t, "", filename.PossibleDays([]string{"1210"}), "without a zero in front it is a number")
}
