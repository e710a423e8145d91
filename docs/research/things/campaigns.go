package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"doubletake/ingest/units"
	"doubletake/train/form"
	"doubletake/train/triplets"
)

var (
	speeds = []float64{3000, 3600, 4200, 4800, 5400, 6000}
	angles = []float64{-50, -35, -20, -5, 5, 20, 35, 50}
)

// kind says which rows of which propeller are held out; those from k on teach nothing.
type kind struct {
	name     string
	held     func(thing, k int, rpm float64) bool
	own, run float64 // deviation between propellers and between runs in dB
}

func (d kind) campaign(seed uint64, k int) campaign { return propellers(seed, k, d.own, d.run, d.held) }

var kinds = []kind{
	{"beyond its own speeds", beyond, 1.2, 0.3},
	{"one speed of six", func(thing, k int, rpm float64) bool { return thing == 0 && rpm != 4200 }, 1.2, 0.3},
	{"new propellers", isNew, 1.2, 0.3},
	{"beyond its own speeds, no deviation of runs", beyond, 1.2, 0},
}

func beyond(thing, k int, rpm float64) bool { return thing == 0 && rpm == 6000 }

func isNew(thing, k int, rpm float64) bool { return thing >= k }

func noneHeldOut(int, int, float64) bool { return false }

// level is the level of a propeller in dB, as train/honest's tests have it.
func level(blades, d, p, rpm, theta float64) float64 {
	tip := math.Pi * d * 0.0254 * rpm / 60 / 343
	cos := max(math.Pow(math.Cos(theta*math.Pi/180), 3), 1e-3)

	return 62 + 52*math.Log10(tip/0.2) + 12*math.Log10(p/4.5) + 10*math.Log10(blades/2) - 3*(blades-2) +
		6*math.Log10(cos) + 0.02*theta
}

// rows collects rows of a campaign.
type rows struct {
	c         campaign
	x, y1, y2 []float64
	part      []triplets.Part
}

func (r *rows) add(rng *rand.Rand, thing, run string, held bool, x, y []float64, noise float64) {
	r.x = append(r.x, x...)
	for _, v := range y {
		r.y1, r.y2 = append(r.y1, v+noise*rng.NormFloat64()), append(r.y2, v+noise*rng.NormFloat64())
	}

	r.c.thing, r.c.run = append(r.c.thing, thing), append(r.c.run, run)
	if held {
		r.part = append(r.part, triplets.Test)
	} else {
		r.part = append(r.part, triplets.Train)
	}
}

func (r *rows) campaign(inputs, outcomes []string) campaign {
	named := func(names []string) (list []triplets.Quantity) {
		for _, n := range names {
			list = append(list, triplets.Quantity{Name: n})
		}
		return list
	}

	r.c.Set = triplets.New(named(inputs), named(outcomes), r.x, r.y1, r.y2)
	r.c.SetRuns(r.c.run)
	r.c.Part = r.part

	return r.c
}

// propellers simulates k propellers that teach and eight more, each with an offset of its own: levels over six speeds
// and eight angles.
func propellers(seed uint64, k int, own, run float64, held func(thing, k int, rpm float64) bool) campaign {
	return overAngles(seed, k, own, run, held, speeds, angles)
}

func overAngles(seed uint64, k int, own, run float64, held func(thing, k int, rpm float64) bool,
	speeds, angles []float64,
) campaign {
	rng := rand.New(rand.NewPCG(seed, 52))
	var r rows
	for i := range k + 8 {
		b, d, p := float64(2+i%3), 8+2*rng.Float64(), 4.2+rng.Float64()
		if i >= k {
			b = float64(2 + rng.IntN(3))
		}

		offset := own * rng.NormFloat64()
		for _, rpm := range speeds {
			common := run * rng.NormFloat64()
			for _, theta := range angles {
				if i >= k && !held(i, k, rpm) {
					continue
				}

				x, y := []float64{b, d, p, rpm, theta}, level(b, d, p, rpm, theta)+offset+common
				r.add(rng, fmt.Sprint(i), fmt.Sprint(i, " ", rpm), held(i, k, rpm), x, []float64{y}, 0.2)
			}
		}
	}

	return r.campaign([]string{"blades", "diameter_in", "pitch_in", "rpm", "theta_deg"}, []string{"y"})
}

// shape has the deviations of what wings have of their own beside an offset.
type shape struct {
	slope float64 // of the lift over the angle, in 1/degree
	stall float64 // of the angle of stall in degrees
}

var shapes = []shape{{0, 0}, {0.003, 1}, {0.01, 3}}

// shapedWings simulates the lift of k wings that teach and eight more over the angle at two speeds. A wing has an
// offset and a shape of its own, and no input but its name tells it from others. If isKnown is true, most angles of the
// first wing are held out, otherwise the eight wings are.
func shapedWings(seed uint64, k int, d shape, isKnown bool) campaign {
	rng := rand.New(rand.NewPCG(seed, 66))
	var r rows
	for i := range k + 8 {
		offset := 0.15 * rng.NormFloat64()
		slope := 0.1 + d.slope*rng.NormFloat64()
		stall := 10 + d.stall*rng.NormFloat64()
		for _, u := range []float64{12, 20} {
			for step := range 12 {
				a := -6 + 2*float64(step)
				held := !isKnown && i >= k || isKnown && i == 0 && step%3 != 1
				if i >= k && !held {
					continue
				}

				cl := slope*(a+2) - 0.05*math.Log1p(math.Exp(a-stall)) + offset + 0.02*math.Log(u/15)
				run := fmt.Sprint(i, " ", u, " ", a)
				r.add(rng, fmt.Sprint(i), run, held, []float64{a, u}, []float64{cl}, 0.01)
			}
		}
	}

	return r.campaign([]string{"alpha_deg", "speed_m_s"}, []string{"cl"})
}

// long is a campaign of more rows than a process takes: 12 speeds and 52 angles of each propeller, of which few of
// the new ones are judged.
func long(seed uint64, k int, own float64) campaign {
	var more, many []float64
	for i := range 12 {
		more = append(more, 3000+300*float64(i))
	}

	for i := range 52 {
		many = append(many, -51+2*float64(i))
	}

	return overAngles(seed, k, own, 0.3, isNew, more, many)
}

// rotors simulates levels of the first five harmonics of k rotors that teach and eight more: eight or more that teach
// at 15 speeds and 12 angles, fewer, and the new ones, at every third. A tone depends on its shaft order, a rotor has
// an offset common to its tones.
func rotors(seed uint64, k int, own float64) campaign {
	rng := rand.New(rand.NewPCG(seed, 55))
	var r rows
	for i := range k + 8 {
		b := float64(2 + i%4)
		if i >= k {
			b = float64(2 + rng.IntN(4))
		}

		offset, step := own*rng.NormFloat64(), 3
		if i < k && k >= 8 {
			step = 1
		}

		for s := 0; s < 15; s += step {
			rpm := 3000 + 250*float64(s)
			common := 0.3 * rng.NormFloat64()
			for a := 0; a < 12; a += step {
				theta := -55 + 10*float64(a)
				tip, cos := math.Pi*0.25*rpm/60/343, math.Cos(theta*math.Pi/180)
				var y []float64
				for m := 1; m <= 5; m++ {
					order := float64(m) * b
					tone := 80 + 52*math.Log10(tip/0.2) + 10*math.Log10(b/2) - (3.2-6*tip)*(order-2) + 3*order*math.Log10(cos)
					y = append(y, tone+offset+common)
				}

				r.add(rng, fmt.Sprint(i), fmt.Sprint(i, " ", rpm), i >= k, []float64{b, rpm, theta}, y, 0.3)
			}
		}
	}

	tones := []string{"bpf1_db", "bpf2_db", "bpf3_db", "bpf4_db", "bpf5_db"}

	return r.campaign([]string{"blades", "rpm", "theta_deg"}, tones)
}

// thrusts simulates the thrust of k propellers that teach and eight more at eight speeds and five advance speeds: the
// coefficient of each is off by a factor of its own, 8 %.
func thrusts(seed uint64, k int) campaign {
	rng := rand.New(rand.NewPCG(seed, 56))
	var r rows
	for i := range k + 8 {
		d, own := 0.2+0.06*rng.Float64(), 1+0.08*rng.NormFloat64()
		for s := range 8 {
			rpm := 3000 + 500*float64(s)
			common := 1 + 0.01*rng.NormFloat64()
			for u := range 5 {
				speed := 1 + 2.0*float64(u)
				n := rpm / 60
				j := speed / (n * d)
				thrust := (0.11 - 0.07*j - 0.05*j*j) * 1.2 * n * n * math.Pow(d, 4) * own * common
				x, y := []float64{d, rpm, speed}, []float64{thrust}
				r.add(rng, fmt.Sprint(i), fmt.Sprint(i, " ", rpm), i >= k, x, y, 0.005*thrust)
			}
		}
	}

	return r.campaign([]string{"diameter_m", "rpm", "speed_m_s"}, []string{"thrust_n"})
}

// dimension is that of the unit that a name states.
func dimension(q triplets.Quantity) form.Dimension {
	if q.Name == "rpm" {
		return form.Dimension{Time: -1, Known: true}
	}

	u, ok := units.OfName(q.Name)
	if d := u.Dimension; ok && d.Current == 0 && d.Temperature == 0 && d.Angle == 0 {
		return form.Dimension{Mass: int(d.Mass), Length: int(d.Length), Time: int(d.Time), Known: true}
	}

	return form.Dimension{}
}

// wings simulates k wings that teach and eight more: a name, and lift over the angle.
func wings(seed uint64, k int) campaign {
	rng := rand.New(rand.NewPCG(seed, 53))
	a0, stall, drop := 0.08+0.03*rng.Float64(), 9+4*rng.Float64(), 0.02+0.04*rng.Float64()
	var r rows
	for i := range k + 8 {
		own := 0.3 * rng.NormFloat64()
		for a := -6.0; a < 17; a += 2 {
			lift := a0*(a+2) - drop*math.Log1p(math.Exp((a-stall)*1.2)) + own + 0.01*rng.NormFloat64()
			r.add(rng, fmt.Sprint(i), fmt.Sprint(i, a), i >= k, []float64{a}, []float64{lift}, 0.02)
		}
	}

	return r.campaign([]string{"alpha_deg"}, []string{"lift"})
}

// more prints by how much intervals of new things narrow when one more teaches, with the forecast.
func more(campaigns int, seed uint64) error {
	for _, of := range []struct {
		name string
		make func(seed uint64, k int) campaign
		k    []int
		p    float64 // properties
		some int     // one in so many campaigns
	}{
		{"wings", wings, []int{3, 5, 7}, 0, 1},
		{"propellers", func(seed uint64, k int) campaign { return propellers(seed, k, 1.2, 0.3, isNew) }, []int{5, 7}, 3, 10},
	} {
		for _, k := range of.k {
			var found [][]float64
			for c := range campaigns / of.some {
				var width [2]float64
				var least, record float64
				for b := range width {
					s := of.make(seed+uint64(c), k+b)
					l, z := byName("", 1).learner(s)
					m, _, err := l.Process(context.Background(), s.Set, z)
					if err != nil || m.Record == nil {
						return fmt.Errorf("calibrate: %s: %w", m.Absent, err)
					}

					width[b] = m.Record.After.Width
					if b > 0 {
						continue
					}

					half, n := 0.0, float64(k)
					for _, g := range m.Calibration.Groups {
						half += g.Half / n
					}

					record = max(1-width[0]/2/half, 0) * (n - 1) / n
					share := m.Calibration.Things[0].Between[0].Share
					least = 1 - math.Sqrt((share*(1+(of.p+1)/(n+1))+1-share)/(share*(1+(of.p+1)/n)+1-share))
				}

				found = append(found, []float64{math.Log(width[1] / width[0]), -record, -least})
			}

			for j, what := range []string{"found", "forecast by the record", "by least squares"} {
				mean, se := moments(found, j)
				fmt.Printf("%s, %d to %d (%d), %s: %+.4f (%.4f)\n", of.name, k, k+1, len(found), what, mean, se)
			}
		}
	}

	return nil
}
