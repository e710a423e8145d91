// Things calibrates simulated and measured campaigns with things (propellers, wings, motors), with and without offsets
// of their own, and prints the share inside intervals of four levels, half widths, interval scores, CRPS and errors:
//
//	go run ./things -part names   (or each, numbers, runs, more, shapes, orders, forms, cells, measured, curves; -h)
//
// docs/research/intervals.md has the figures, with seeds and numbers of campaigns.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"doubletake/internal/lists"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

func main() {
	part := flag.String("part", "runs", "what is examined")
	campaigns := flag.Int("campaigns", 20, "campaigns of each kind")
	seed := flag.Uint64("seed", 9100, "of the first campaign")
	things := flag.Int("things", 5, "things that teach")
	own := flag.Float64("own", 1.2, "deviation between things in dB, of parts numbers and names")
	flag.Parse()
	if err := run(*part, *campaigns, *things, *seed, *own); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run examines one part.
func run(part string, campaigns, k int, seed uint64, own float64) error {
	fmt.Fprintf(os.Stderr, "%s: %d campaigns from seed %d, %d things, %g dB between them; in brackets standard errors\n",
		part, campaigns, seed, k, own)
	of := func(make func(seed uint64) campaign) (list []campaign) {
		for c := range campaigns {
			list = append(list, make(seed+uint64(c)))
		}
		return list
	}

	switch part {
	case "runs":
		for _, kind := range kinds {
			if err := compare(kind.name, of(func(seed uint64) campaign { return kind.campaign(seed, k) }),
				byName("with things", 1), byName("and runs", 2)); err != nil {
				return err
			}
		}

		return nil
	case "names":
		return compare(part, of(func(seed uint64) campaign { return propellers(seed, k, own, 0.3, isNew) }),
			byName("without", 0), byName("with things", 1))
	case "each":
		var list []campaign
		for _, c := range of(func(seed uint64) campaign { return propellers(seed, k, own, 0.3, noneHeldOut) }) {
			list = append(list, eachHeldOut(c)...)
		}

		return compare(part, list, byName("without", 0), byName("with things", 1))
	case "numbers":
		taken := 0
		for c := range uint64(1000) { // one of the values is held out
			s := propellers(seed+c, k-7, own, 0.3, isNew)
			by := func(j int) []float64 { return lists.Column(s.X, s.In, j) }
			if honest.NumbersThings(by(1), [][]float64{by(0), by(2), by(3), by(4)}) {
				taken++
			}
		}

		fmt.Printf("of 1000 campaigns with %d diameters %d are taken for things\n", k+1, taken)

		return compare(part, of(func(seed uint64) campaign { return propellers(seed, k, own, 0.3, isNew) }),
			byValue("as settings", false), byValue("as things", true))
	case "more":
		return more(campaigns, seed)
	case "shapes":
		for _, d := range shapes {
			for _, isKnown := range []bool{false, true} {
				name := fmt.Sprintf("slopes of %g, stalls of %g, known wing %t", d.slope, d.stall, isKnown)
				list := of(func(seed uint64) campaign { return shapedWings(seed, k, d, isKnown) })
				if err := compare(name, list, byName("offsets", 1).offsetsAlone(), byName("curves", 1)); err != nil {
					return err
				}
			}
		}

		return nil
	case "orders":
		return compare(part, of(func(seed uint64) campaign { return rotors(seed, k, own) }), byName("without", 0),
			byName("with things", 1), byName("conditions", 1).withForm("conditions"))
	case "forms":
		return compare(part, of(func(seed uint64) campaign { return thrusts(seed, k) }),
			byName("without, auto", 0).form("auto"), byName("with things, raw", 1),
			byName("with things, auto", 1).form("auto"))
	case "cells":
		return compare(part, of(func(seed uint64) campaign { return long(seed, k, own) }), byName("without", 0),
			byName("with things", 1))
	case "measured":
		return measured()
	case "curves":
		return curves()
	}

	return fmt.Errorf("part: expected one of those of the package's comment, found %q", part)
}

// campaign is a set with the thing and the run of each row.
type campaign struct {
	triplets.Set
	thing, run []string
	more       []honest.Label // of measured sets
}

// variant is a way to calibrate a campaign.
type variant struct {
	name    string
	learner func(c campaign) (l honest.Learner, z []float64)
}

// byName leaves out things by name, with offsets of so many labels: things, then runs.
func byName(name string, labels int) variant {
	return variant{name, func(c campaign) (l honest.Learner, z []float64) {
		l = learner("thing")
		l.Labels, l.Names = true, slices.Compact(slices.Sorted(slices.Values(c.thing)))
		all := append([]honest.Label{{Name: "thing"}}, c.more...)
		if c.more == nil {
			all = append(all, honest.Label{Name: honest.Runs, Names: c.run})
		}

		l.Offsets = all[:labels]

		for _, name := range c.thing {
			k, _ := slices.BinarySearch(l.Names, name)
			z = append(z, float64(k))
		}

		return l, z
	}}
}

// byValue leaves out the values of the second input, as settings or as things.
func byValue(name string, things bool) variant {
	return variant{name, func(c campaign) (honest.Learner, []float64) {
		l := learner(c.Inputs[1].Name)
		if things {
			l.Labels, l.Offsets = true, []honest.Label{{Name: l.Condition}}
		}

		return l, lists.Column(c.X, c.In, 1)
	}}
}

// adjusted returns the variant with another learner: change adjusts the learner of each campaign.
func (v variant) adjusted(change func(l *honest.Learner)) variant {
	original := v.learner
	v.learner = func(c campaign) (honest.Learner, []float64) {
		l, z := original(c)
		change(&l)

		return l, z
	}

	return v
}

// form returns the variant in a form of inputs and outcomes. That form has no order form.
func (v variant) form(name string) variant {
	return v.adjusted(func(l *honest.Learner) { l.Represent, l.Dimension = name, dimension })
}

// offsetsAlone returns the variant in which names have no curves of their own.
func (v variant) offsetsAlone() variant {
	return v.adjusted(func(l *honest.Learner) { l.OffsetsAlone = true })
}

// withForm returns the variant in a form of the process, such as the order form.
func (v variant) withForm(form string) variant {
	return v.adjusted(func(l *honest.Learner) { l.Form = form })
}

func learner(condition string) honest.Learner {
	return honest.Learner{
		Settings: honest.DefaultSettings(), Condition: condition,
		Rate: func(name string) bool { return name == "rpm" || name == "speed_m_s" },
	}
}

// judged are the numbers of one campaign: shares inside at four levels, half width, interval score, CRPS, rms error,
// seconds, and 1 if names have curves of their own.
func judged(c campaign, v variant) ([]float64, error) {
	l, z := v.learner(c)
	from := time.Now()
	m, _, err := l.Process(context.Background(), c.Set, z)
	if err != nil || m.Record == nil {
		return nil, fmt.Errorf("calibrate: %s: %w", m.Absent, err)
	}

	curves := float64(len(m.Calibration.OwnCurves))
	r := m.Record
	mean := 0.0
	for k, i := range c.RowsOf(triplets.Test) {
		for j := range c.Out {
			d := (r.Mu[k*c.Out+j] - (c.Y1[i*c.Out+j]+c.Y2[i*c.Out+j])/2) / m.Calibration.Deviation[j]
			mean += d * d / float64(len(r.Mu))
		}
	}

	seconds := time.Since(from).Seconds()

	return append(slices.Clone(r.At[:]), r.After.Width/2, r.After.Score, r.CRPS, math.Sqrt(mean), seconds, curves), nil
}

// columns name the numbers of judged.
var columns = []string{".68", ".90", ".95", ".98", "half width", "score", "CRPS", "rms error", "seconds", "curves"}

// compare prints the means of the variants over campaigns, and ln of the ratio of interval scores to the first variant.
func compare(name string, list []campaign, variants ...variant) error {
	all := make([][][]float64, len(variants))
	for _, c := range list {
		for b, v := range variants {
			numbers, err := judged(c, v)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, v.name, err)
			}

			all[b] = append(all[b], numbers)
		}
	}

	for b, v := range variants {
		fmt.Printf("%s, %s (%d):", name, v.name, len(list))
		for j, column := range columns {
			mean, se := moments(all[b], j)
			fmt.Printf(" %s %.3f (%.3f)", column, mean, se)
		}

		var ratio [][]float64
		for k, row := range all[b] {
			ratio = append(ratio, []float64{math.Log(row[5] / all[0][k][5])})
		}

		mean, se := moments(ratio, 0)
		fmt.Printf(", ln score %+.3f ± %.3f\n", mean, se)
	}

	return nil
}

// moments are the mean of column j and its standard error.
func moments(rows [][]float64, j int) (mean, se float64) {
	n := float64(len(rows))
	for _, r := range rows {
		mean += r[j] / n
	}

	for _, r := range rows {
		se += (r[j] - mean) * (r[j] - mean) / n / max(n-1, 1)
	}

	return mean, math.Sqrt(se)
}
