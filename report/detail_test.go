package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/score"
)

// campaign returns an invented rotor campaign of blades × speeds × angles conditions, with a run for each blade count
// and speed. Split i holds out the blade count i%blades + 2, and has as many networks as there are seeds. The smooth
// laws have noise from a fixed seed, so that figures are the same on every run.
func campaign(blades, speeds, angles, splits, seeds int) *Detail {
	rng := rand.New(rand.NewPCG(7, 11))
	d := &Detail{
		Experiment: rotor(),
		Inputs:     []Quantity{{Name: "blades"}, {Name: "rpm", Unit: "1/min"}, {Name: "theta_deg", Unit: "deg"}},
	}

	d.Experiment.Splits = nil
	for m := 1; m <= 5; m++ {
		d.Outcomes = append(d.Outcomes, Quantity{Name: fmt.Sprintf("bpf%d_db", m), Unit: "dB re 20 µPa"})
	}

	dim := 5
	for b := range blades {
		for s := range speeds {
			d.Runs = append(d.Runs, fmt.Sprintf("run %d %d", b, s))
			for a := range angles {
				c := len(d.X) / 3
				d.X = append(d.X, float64(b+2), 2000+500*float64(s), -60+120*float64(a)/float64(max(1, angles-1)))
				d.Cond = append(d.Cond, c)
				d.Run = append(d.Run, len(d.Runs)-1)
				for m := range dim {
					y := 60 - 4*float64(m) - 2*float64(b) + 10*math.Log10(1+float64(s)) + 3*math.Sin(float64(a)/3)
					y1 := y + rng.NormFloat64()
					y2 := y + rng.NormFloat64()
					d.Y1 = append(d.Y1, y1)
					d.Y2 = append(d.Y2, y2)
					d.Mean = append(d.Mean, (y1+y2)/2)
				}

				sp := Spectrum{Row: c, ToHz: 800}
				for k := range 160 {
					sp.Peak = append(sp.Peak, float32(20+5*math.Sin(float64(k)/9)))
				}

				sp.Line = []float32{100, 200, 300, 400, 500}
				d.Spectra = append(d.Spectra, sp)
			}
		}
	}

	n := len(d.X) / 3
	d.AllRows = n
	d.AllConditions = n
	for i := range splits {
		s := inventedSplit(d, i, blades, seeds, rng)
		d.Splits = append(d.Splits, s)
		d.Experiment.Splits = append(d.Experiment.Splits, rotor().Splits[i%2])
		d.Experiment.Splits[i].Name = s.Name
		d.Experiment.Splits[i].HeldOut = s.HeldOut
		d.Experiment.Splits[i].Methods = comparedMethods()
		d.Experiment.Splits[i].Flags = comparedExperiment().Splits[0].Flags
	}

	d.Shown = inventedSpectrum(rng)
	d.Quality = []Fact{{"recordings", fmt.Sprint(n)}, {"sampling rate", "10240 Hz"}}
	d.Config = []Fact{{"dsp.segments", "8"}, {"train.seeds", "5"}}

	return d
}

// inventedSplit returns split i of an invented campaign, see campaign.
func inventedSplit(d *Detail, i, blades, seeds int, rng *rand.Rand) SplitDetail {
	n := len(d.X) / 3

	s := SplitDetail{Name: fmt.Sprintf("%d-blades", i%blades+2), HeldOut: fmt.Sprintf("blades = %d", i%blades+2)}
	if i >= blades {
		s.Name += fmt.Sprintf("-%d", i)
	}

	for c := range n {
		s.Test = append(s.Test, int(d.X[3*c]) == i%blades+2)
	}

	for k := range seeds {
		var e SeedDetail
		for _, y := range d.Mean {
			e.Mu = append(e.Mu, y+0.3*rng.NormFloat64())
			e.Var = append(e.Var, 1+0.2*rng.Float64())
			e.Cov = append(e.Cov, 0.3*rng.Float64()-0.03)
		}

		s.Seeds = append(s.Seeds, e)

		var bins []Bin
		for t := range 10 {
			bins = append(bins, Bin{Cov: 0.01 * float64(t+1), E: 0.02 * float64(t+1), SE: 0.008})
		}

		s.Bins = append(s.Bins, bins)
		for p := range s.Coverage {
			s.Coverage[p].Nominal = []float64{0.25, 0.5, 0.75, 0.95}
			s.Coverage[p].Observed = append(s.Coverage[p].Observed, []float64{0.2 + 0.01*float64(k), 0.41, 0.66, 0.9})
		}
	}

	return s
}

// inventedSpectrum returns a spectrum of five harmonics with noise.
func inventedSpectrum(rng *rand.Rand) *SpectrumDetail {
	sd := &SpectrumDetail{
		Recording: "run 0 0#1", Unit: "dB re 20 µPa", BinHz: 2,
		Shaft: [2]float64{33.3, 33.4},
	}

	for h := range 2 {
		for k := range 400 {
			sd.Level[h] = append(sd.Level[h], 20+8*math.Exp(-math.Abs(float64(k%66)-33)/2)+0.5*rng.NormFloat64())
		}

		for m := range 5 {
			hz := 66.6 * float64(m+1)
			sd.Lines[h] = append(sd.Lines[h], SpectrumLine{
				Order: float64(m + 1), Hz: hz, Level: 30, Floor: 20,
				Search: [2]float64{hz - 4, hz + 4}, Band: [2]float64{hz - 2, hz + 2},
			})
		}

		sd.Orders[h] = []SpectrumLine{{Order: 1, Hz: 33, Level: 25}}
	}

	for k := 14; k < 28; k++ {
		c := math.Pow(10, float64(k)/10)
		sd.Third = append(sd.Third, ThirdOctave{Lo: c * 0.89, Hi: c * 1.12, Centre: c, Level: 30 + float64(k)})
	}

	return sd
}

// comparedMethods returns two methods with a number in every column of the comparison.
func comparedMethods() []Compared {
	var out []Compared
	for _, name := range []string{"pair, |raw|", "ensemble"} {
		m := Compared{Method: name}
		for _, key := range []string{"e", "nll", "coverage95", "sum_e_ratio"} {
			m.Values = append(m.Values, score.Keyed{Key: key, Value: score.Value{Mean: 0.04196, Std: 0.00032, N: 5}})
		}

		out = append(out, m)
	}

	return out
}

// airfoilOf returns an invented airfoil experiment with two inputs, two outcomes and three rows for each condition.
// name stands wherever a user's text can stand, so that tests can pass hostile text.
func airfoilOf(name string) *Detail {
	e := propeller()
	e.Name = name
	e.Construction = "random-samples"
	e.Couples = false
	d := &Detail{
		Experiment: e, Inputs: []Quantity{{Name: "alpha_deg", Unit: "deg"}, {Name: name, Unit: "m/s"}},
		Outcomes: []Quantity{{Name: "cl"}, {Name: name, Unit: "N"}}, Runs: []string{name},
	}

	for u := range 3 {
		for a := range 21 {
			c := len(d.X) / 2

			d.X = append(d.X, float64(a-10), 5*float64(u+1))
			for r := range 3 {
				d.Cond = append(d.Cond, c)
				d.Run = append(d.Run, 0)
				for k := range 2 {
					y := math.Sin(float64(a-10)/6)*float64(k+1) + 0.05*float64((r*7+a)%5)
					d.Y1 = append(d.Y1, y)
					d.Y2 = append(d.Y2, y+0.04)
				}
			}

			d.Mean = append(d.Mean, math.Sin(float64(a-10)/6), 2*math.Sin(float64(a-10)/6))
		}
	}

	n := len(d.X) / 2
	d.AllRows = 100 * len(d.Cond)
	d.AllConditions = n
	e.Splits[0].Name = name
	e.Splits[0].HeldOut = name + " = 5"
	e.Splits = e.Splits[:1]
	d.Experiment = e

	s := SplitDetail{Name: name, HeldOut: name + " = 5"}
	for c := range n {
		s.Test = append(s.Test, d.X[2*c+1] == 5)
	}

	for k := range 2 {
		var sd SeedDetail
		for _, y := range d.Mean {
			sd.Mu = append(sd.Mu, y+0.01*float64(k))
			sd.Var = append(sd.Var, 0.01)
			sd.Cov = append(sd.Cov, 0.002*float64(k)-0.0005)
		}

		s.Seeds = append(s.Seeds, sd)
		s.Bins = append(s.Bins, []Bin{{Cov: -0.1, E: 0.2, SE: math.NaN()}, {Cov: 0.1, E: -0.2, SE: 0.1}})
	}

	d.Splits = []SplitDetail{s}
	d.Quality = []Fact{{name, name}}
	d.Config = d.Quality

	return d
}

// Each kind of outcome has a name for people. The expected names are written by hand.
func TestWordOfQuantity(t *testing.T) {
	for name, want := range map[string]string{
		"l_31_5hz_db": "band level 31.5 Hz", "l_500to1005hz_db": "band level 500 to 1005 Hz",
		"l_1_5to2_5so_db": "band level 1.5 to 2.5 shaft orders", "oaspl_db": "overall level",
		"oaspl_a_db": "overall level, weighted A", "tonal_c_db": "tonal level, weighted C", "broadband_db": "broadband level",
		"l_length_db": "l_length_db", "oaspl_x_db": "oaspl_x_db", "bpf2_db": "BPF harmonic 2", "lift": "lift",
	} {
		assert.Equal(t, want, (Quantity{Name: name}).Word(), "%s", name)
	}
}
