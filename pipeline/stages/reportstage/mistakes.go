package reportstage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// speed is a run whose stated shaft speed its sound contradicts.
type speed struct {
	run string
	dsp.Flag
}

// swapTolerance is how near a found speed is to the one stated for another run, relative.
const swapTolerance = 0.02

// swaps names the runs whose stated speed the sound contradicts: as swapped where each has the
// speed that is stated for the other.
func (f *findings) swaps() {
	near := func(a, b float64) bool { return math.Abs(a/b-1) <= swapTolerance }
	done := make([]bool, len(f.speeds))
	for i, a := range f.speeds {
		if done[i] {
			continue
		}

		k := i + 1 + slices.IndexFunc(f.speeds[i+1:], func(b speed) bool {
			return near(a.FoundHz, b.StatedHz) && near(b.FoundHz, a.StatedHz)
		})
		if k <= i || done[k] {
			f.add("speed-contradicted", a.run+a.Code, a.run, a.Text+"; it is used as stated")
			continue
		}

		b := f.speeds[k]
		done[k] = true
		f.add("files-swapped", a.run+b.run, a.run, fmt.Sprintf("swapped with %s? Stated are %.6g and %.6g rev/min, the "+
			"sound of the one has %.4g, of the other %.4g: exchange their conditions", b.run, 60*a.StatedHz, 60*b.StatedHz,
			60*a.FoundHz, 60*b.FoundHz))
		f.add("files-swapped", a.run+b.run, b.run, "") // it is about both
	}
}

// equalRows names rows with the same outcomes, but for data so coarse that rows are equal by
// chance.
func (f *findings) equalRows(s triplets.Set) {
	if s.Couples || s.Out == 0 || s.N < 2 {
		return
	}

	distinct, first := map[float64]bool{}, map[string]int{}
	equal, at, with := 0, 0, 0
	for i := range s.N {
		distinct[s.Y1[i*s.Out]] = true
		key := fmt.Sprint(s.Y1[i*s.Out:(i+1)*s.Out], s.Y2[i*s.Out:(i+1)*s.Out])
		k, known := first[key]
		if !known {
			first[key] = i
			continue
		}

		if equal++; equal == 1 {
			at, with = i, k
		}
	}

	if equal == 0 || 2*len(distinct) < s.N {
		return
	}

	name := func(i int) string {
		if s.Recording == nil {
			return fmt.Sprintf("row %d", i+1)
		}
		return s.Recording[i]
	}

	more := ""
	if equal > 1 {
		more = fmt.Sprintf(" (and %d more rows have a double)", equal-1)
	}

	f.add("equal-rows", "equal-rows", name(at), fmt.Sprintf("all outcomes equal those of %s%s: a row entered twice is no "+
		"measurement; leave one of the two out", name(with), more))
}

// farRuns names the runs whose outcomes the others do not predict.
func (f *findings) farRuns(ctx context.Context, exp plan.Experiment, s triplets.Set) {
	if exp.Train.Honest.Base == "none" || len(exp.Train.Inputs) == 0 {
		return
	}

	learner := honest.Learner{Settings: exp.Train.Honest, Rate: trainstage.IsRate}
	for _, r := range fault.Get(learner.FarRuns(ctx, s)) {
		what, unit := "all levels", "dB"
		if r.Outcome >= 0 {
			what, unit = s.Outcomes[r.Outcome].Name, s.Outcomes[r.Outcome].Unit
		}

		than := "what the other runs predict"
		if n := repeatsOf(s, r.Run); n > 1 {
			than = fmt.Sprintf("what the %d other runs at its conditions and those around give", n)
		}

		f.add("far-run", s.Runs[r.Run]+"far", s.Runs[r.Run], fmt.Sprintf("%s %s %s from %s, %.1f times the robust "+
			"deviation of the others (limit %.1f); it is not left out: look at its conditions, gain and set-up",
			what, map[bool]string{true: "are", false: "is"}[r.Outcome < 0],
			shown(r.Offset, unit), than, r.Times, r.Limit))
	}
}

// repeatsOf counts the other runs that were measured at the conditions of a run.
func repeatsOf(s triplets.Set, run int) int {
	here, others := map[int]bool{}, map[int]bool{}
	for i, r := range s.Run {
		here[s.Condition[i]] = here[s.Condition[i]] || r == run
	}

	for i, r := range s.Run {
		if r != run && here[s.Condition[i]] {
			others[r] = true
		}
	}

	return len(others)
}

// Limits of gains: a difference worth naming, one that level-apart names, how far levels may be from it, and the runs.
const (
	gainDB, tooFarDB, constantDB = 2, 20, 1
	gainRuns                     = 5
)

// gains names microphones whose levels, three of four, differ from both neighbours' by the same in all runs and
// outcomes: by a gain, a sensitivity or a distance that the configuration does not have. The farthest comes first, and
// its levels are corrected before the next is sought: its neighbours are apart from it, too.
func (f *findings) gains(s triplets.Set) {
	rows, gain := make([][]int, len(s.Runs)), map[string]float64{}
	for i, r := range s.Run {
		rows[r] = append(rows[r], i)
	}

	for s.Recording != nil {
		name, d := "", 0.0
		apart, runs := asides(s, rows, gain)
		for _, n := range slices.Sorted(maps.Keys(apart)) {
			if v := lists.Median(apart[n]); runs[n] >= gainRuns && gain[n] == 0 && math.Abs(v) > math.Abs(d) &&
				math.Abs(v) >= gainDB && math.Abs(v) < tooFarDB && 4*len(nearTo(v, apart[n])) >= 3*len(apart[n]) {
				name, d = n, v
			}
		}

		if name == "" {
			break
		}

		all := apart[name]
		gain[name] = d
		f.add("gain-apart", "gain-apart"+name, "#"+name, fmt.Sprintf("%.1f dB %s its neighbours in %d of %d levels of %d "+
			"recordings: its gain? calibration: {gain_db: {%s: %.2f}} takes it out", math.Abs(d),
			map[bool]string{true: "below", false: "above"}[d < 0], len(nearTo(d, all)), len(all), runs[name], name, d))
	}
}

// asides are how far the levels of each microphone are from its neighbours', less the gains found, and in how many
// runs it is. rows are those of each run.
func asides(s triplets.Set, rows [][]int, gain map[string]float64) (apart map[string][]float64, runs map[string]int) {
	apart, runs = map[string][]float64{}, map[string]int{}
	microphone := func(row int) string { _, name, _ := strings.Cut(s.Recording[row], "#"); return name }
	for _, rows := range rows {
		for k, i := range rows {
			if len(rows) < 3 {
				continue
			}

			name := microphone(i)
			runs[name]++
			for o, q := range s.Outcomes {
				level := func(at int) float64 {
					return (s.Y1[rows[at]*s.Out+o]+s.Y2[rows[at]*s.Out+o])/2 - gain[microphone(rows[at])]
				}

				if d := aside(level, k, len(rows)); d == d && units.IsLevel(q.Unit) {
					apart[name] = append(apart[name], d)
				}
			}
		}
	}

	return apart, runs
}

// nearTo are the values about a gain.
func nearTo(d float64, values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.Abs(v-d) > constantDB })
}

// aside is how far level k of n is from a cubic through the four nearest, or, near an end, from what is next to it; 0
// where it is not beyond both levels next to it (at an end beyond the two nearest, the line through them and the
// parabola through three), NaN where one is not known.
func aside(level func(int) float64, k, n int) float64 {
	to := func(i int) float64 { return level(min(max(i, 0), n-1)) }
	beyond := []float64{to(k) - to(k-1), to(k) - to(k+1)}
	if s := map[int]int{0: 1, n - 1: -1}[k]; s != 0 {
		a, b, c := to(k+s), to(k+2*s), to(k+3*s)
		beyond = []float64{to(k) - a, to(k) - b, to(k) - 2*a + b, to(k) - 3*a + 3*b - c}
	}

	low, high := slices.Min(beyond), slices.Max(beyond) // NaN if one is
	cubic := level(k) - (4*to(k-1)+4*to(k+1)-to(k-2)-to(k+2))/6
	switch {
	case low <= 0 && high >= 0:
		return 0
	case k > 1 && k < n-2 && cubic == cubic:
		return cubic
	case high < 0:
		return high
	}

	return low
}

// Limits of suspects: files that a finding may have to accuse them, and names in a line or two.
const fewFiles, mostSuspects = 3, 6

// suspects names what the gravest findings accuse, with their codes.
func suspects(list []*mistake) (out []string) {
	list = slices.SortedStableFunc(slices.Values(list), func(a, b *mistake) int { return cmp.Compare(a.ratio, b.ratio) })
	for _, m := range list {
		if severity(m.code) >= severity("speed-shift") || len(m.files) > fewFiles {
			continue
		}

		for _, name := range slices.Sorted(maps.Keys(m.files)) {
			name = accused(name)
			code := strings.ReplaceAll(m.code, "-", " ") + ")"
			i := slices.IndexFunc(out, func(s string) bool { return strings.HasPrefix(s, name+" (") })
			if i < 0 {
				out = append(out, name+" ("+code)
				continue
			}

			out[i] = strings.TrimSuffix(out[i], ")") + ", " + code
		}
	}

	return out[:min(len(out), mostSuspects)]
}
