package condition

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Numbers in names of files. Each line is one folder: its names are parted by blanks, and ~ stands for a blank in a
// name. want has the numbers of each name; ? marks a number that is Doubtful. Expected: by hand, from the rules in the
// comment of CutNames.
func TestCutNames(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"aoa-10_r1 aoa-05_r1 aoa000_r1 aoa+05_r1 aoa+10_r1", "-10,1 -5,1 0,1 5,1 10,1"},
		{"alpha-4.txt alpha0.txt alpha4.txt", "-4 0 4"},
		{"alpha-4.txt alpha-8.txt", "-4? -8?"},
		{"a-5 a-10", "-5? -10?"},
		{"aoa_-5 aoa_5", "-5 5"},
		{"run-1 run-2 run-3", "1 2 3"},
		{"rpm-3000_u-10 rpm-4000_u-10", "3000,10 4000,10"},
		{"run-1_alpha-4 run-2_alpha0", "1,-4 2,0"},
		{"run-1_alpha-4 run-2_alpha-8", "1,4? 2,8?"},
		{"run-03_aoa-05 run-04_aoa-10", "3,5? 4,10?"},
		{"run-03_aoa-00 run-04_aoa-00", "3,0 4,0"},
		{"run-03_u-05 run-04_u-10", "3,5 4,10"},
		{"NACA-0012 NACA0015", "12 15"},
		{"NACA-0012_aoa-5 NACA-0015_aoa-10", "12,-5? 15,-10?"},
		{"prop_hq-5040 prop_hq5140", "5040 5140"},
		{"2023-04-11_a5 2023-04-12_a-5", "2023,4,11,5 2023,4,12,-5"},
		{"alpha1,5deg alpha2deg", "1.5 2"},
		{"alpha1p5deg alpha2p0deg", "1.5 2"},
		{"alpha1d5deg", "1.5"},
		{"Re2.5e5 Re1e5 Re2e+05", "250000 100000 200000"},
		{"am5 a5 a0", "-5 5 0"},
		{"alpham5 alphap5", "-5 5"},
		{"alpha_m5_u10 alpha_p5_u10", "-5,10 5,10"},
		{"alpha_neg5 alpha_5", "-5 5"},
		{"aoa_n05 aoa_005 AoAn10", "-5 5 -10"},
		{"a_n50 a_n60", "50 60"},
		{"alpha_n3000", "3000"},
		{"neg5 5", "-5 5"},
		{"aoa_minus2p5", "-2.5"},
		{"minus05deg_x 05deg_x", "-5 5"},
		{"m5deg p5deg", "-5 5"},
		{"rpm3000 rpm4500", "3000 4500"},
		{"ramp5 stem5 map5", "5 5 5"},
		{"2blades_3000rpm_10deg", "2,3000,10"},
		{"ISAE_2_6000_-45", "2,6000,-45"},
		{"mic05_20p15", "5,20.15"},
		{"J0.5_n6000 J0p55_n6000", "0.5,6000 0.55,6000"},
		{"beta=-10 beta=10", "-10 10"},
		{"yaw-15 yaw-10 yaw-05", "-15? -10? -5?"},
		{"yaw-10 yaw-5 yaw-0", "10 5 0"},
		{"beta_neg5 beta_pos5", "-5 5"},
		{"rollplus5", "5"},
		{"u12.5ms u12ms", "12.5 12"},
		{"5,10,15", "5,10,15"},
		{"v1.2.3", "1.2,3"},
		{"rec_0017", "17"},
		{"naca0012_a5 naca0012_am5", "12,5 12,-5"},
		{"take5 take12", "5 12"},
		{"x-5mm x5mm", "-5 5"},
		{"pos-5 pos+5", "-5 5"},
		{"T20C_p101325Pa", "20,101325"},
		{"-5deg 5deg a−0_x–5", "-5 5 0,-5"},
		{"20230411_153012_a2", "2.0230411e+07,153012,2"},
		{"rpm3000p20", "3000,20"},
		{"aoa5m_n50 aoa0_n50 aoa5p_n50 yaw10neg_n50", "-5,50 0,50 5,50 -10,50"},
		{"alpha_minus_4 alpha_plus_4 pitch_neg_4", "-4 4 -4"},
		{"el-60_V5 el-45_V5", "-60?,5 -45?,5"},
		{"xm20_y0 x0_yneg5 x0_y0 x20_y5", "-20,0 0,-5 0,0 20,5"},
		{"ca5_u1 cam5_u1", "5,1 5,1"},
		{"a-.5_u1 a0_u1 a.5_u1", "-0.5,1 0,1 0.5,1"},
		{"V.10.a.5 V.20.a.0", "10,5 20,0"},
		{"alpha1pt5 alpha2point5", "1.5 2.5"},
		{"5'500rpm 5’500_rpm 12~000~rpm_a3 rpm~5~500", "5500 5500 12000,3 5500"},
		{"wing~3~500~rpm 2~1500rpm 2~500rpm", "3,500 2,1500 2,500"},
		{"5mps_n10deg 5mps_10deg", "5,-10 5,10"},
		{"V7p5,a3 V7d5,a3 V12,5_a3 V2,4,6", "7.5,3 7.5,3 12.5,3 2,4,6"},
		{"4_500rpm_a0 10_500_rpm_a-5 Re150_000_a0 Re1_500_000", "4500,0 10500,-5? 150000,0 1.5e+06"},
		{"0_500rpm 5_500rpm a-4_500rpm", "0,500 5,500 -4?,500"},
		{"Re200_000 Re200_120 Re200_090deg 5'500Hz", "200,0 200,120 200,90 5500"},
		{"M08_u1 P05_u1 00_u1 z_m30 z_0 z_p45", "-8,1 5,1 0,1 -30 0 45"},
		{"Re2·10⁵_a0 Re10⁶_a0 Re5x10^4_a0 1e5Re_a0", "200000,0 1e+06,0 50000,0 100000,0"},
	} {
		var got []string
		files := strings.Fields(c.files)
		for i, file := range files {
			files[i] = strings.ReplaceAll(file, "~", " ")
		}

		for i, n := range CutNames(files) {
			var v []string
			for k := range n.Numbers {
				x, _ := ParseName(n.Numbers[k])
				text := fmt.Sprint(x)
				if slices.Contains(n.Doubtful, k) {
					text += "?"
				}

				v = append(v, text)
			}

			got = append(got, strings.Join(v, ","))
			assert.Equal(t, files[i], n.join(), "the parts of a name are its whole")
		}

		assert.Equal(t, c.want, strings.Join(got, " "), "%s", c.files)
	}

	for s, want := range map[string]float64{
		"5": 5, "m5": -5, "p5": 5, "pos5": 5, "plus5": 5, "neg5": -5,
		"minus1p5": -1.5, "1,5": 1.5, "2.5e-3": .0025, "5.": 5, ".5": .5, "+5": 5,
		"": math.NaN(), "m": math.NaN(), "1e999": math.NaN(), "five": math.NaN(),
	} {
		v, ok := ParseName(s)
		assert.Equal(t, !math.IsNaN(want), ok, "%q", s)
		if ok {
			assert.InDelta(t, want, v, 0, "%q", s)
		}
	}
}

// join returns the name that was cut.
func (c Cut) join() string {
	var b strings.Builder
	for k, n := range c.Numbers {
		b.WriteString(c.Texts[k] + n)
	}

	return b.String() + c.Texts[len(c.Numbers)]
}
