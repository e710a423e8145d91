package findings

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// Limits of the mistakes whose effect is computed.
const (
	mostEffects = 6    // largest number of effects
	mostShare   = 0.1  // largest share of runs with the mistake; a finding about more runs is a property of the campaign
	quickValues = 2000 // conditions × outcomes of a set up to which effects of less grave findings are computed too
	leastEffect = 0.9  // ratio of half widths above which there is no effect
)

// Effects computes what mistakes cost.
type Effects struct {
	Splits []report.Split // splits whose intervals are compared
	Runs   int            // number of runs of the experiment
	Set    triplets.Set

	// Recalibrate returns the record of the intervals of a split, by its number in Splits, that were calibrated without
	// the rows for which isLeft returns true. It returns nil if this leaves out no training row.
	Recalibrate func(ctx context.Context, split int, isLeft func(run, recording string) bool) (*interval.Record, error)

	splitName func(name string) []string // splits a joined name
}

// Words contains the findings in words, with the effects of mistakes on the intervals.
type Words struct {
	Warnings []string // the worst first
	Widening int      // number of the first warnings that are about mistakes that widen an interval
	Suspects []string // files that the gravest findings accuse
}

// Words describes the warnings and flags, the worst first. farPairs is a warning about pairs that are far apart, or "".
func (f *Findings) Words(ctx context.Context, effects Effects, farPairs string) (Words, error) {
	mistakes := f.ranked()
	effects.splitName = f.splitName
	all, err := effects.add(ctx, mistakes)
	if err != nil {
		return Words{}, err
	}

	mistakes = byEffect(mistakes)
	words := Words{Suspects: suspects(mistakes)}
	if all != nil && all.ratio < leastEffect*mistakes[0].ratio {
		mistakes = slices.Insert(mistakes, 0, all)
	}

	words.Warnings, words.Widening = inWords(mistakes, farPairs)

	return words, nil
}

// add computes the effect of the gravest mistakes and stores it in them. If it computes several effects, it also
// returns a mistake that stands for all of them, because one mistake may hide the effect of another. Otherwise it
// returns nil.
func (e *Effects) add(ctx context.Context, list []*mistake) (*mistake, error) {
	all := &mistake{files: map[string]bool{}, ratio: 1}
	several := 0
	for i, m := range list {
		if several == mostEffects || !effectCounts(m, list[:i], e.Runs, e.Set) {
			continue
		}

		known, err := e.addTo(ctx, m)
		if err != nil {
			return nil, err
		}

		if known {
			maps.Copy(all.files, m.files)
			several++
		}
	}

	if several < 2 {
		return nil, nil
	}

	all.text = fmt.Sprintf("%d mistakes are named below", several)
	if _, err := e.addTo(ctx, all); err != nil {
		return nil, err
	}

	return all, nil
}

// byEffect sorts mistakes by their effect, the largest first. Mistakes with the same effect stay in their order.
func byEffect(list []*mistake) []*mistake {
	return slices.SortedStableFunc(slices.Values(list), func(a, b *mistake) int { return cmp.Compare(a.ratio, b.ratio) })
}

// inWords returns the texts of mistakes that are sorted by their effect. A warning about pairs that are far apart
// follows the mistakes that widen an interval, whose number inWords returns too.
func inWords(list []*mistake, farPairs string) (texts []string, widening int) {
	for _, m := range list {
		if m.ratio < 1 {
			widening++
		}

		texts = append(texts, m.String())
	}

	if farPairs != "" {
		texts = slices.Insert(texts, widening, farPairs)
	}

	return texts, widening
}

// effectCounts reports whether the effect of a mistake is computed: if the mistake is grave and concerns few of the
// runs, and no earlier mistake is about the same files.
func effectCounts(m *mistake, earlier []*mistake, runs int, set triplets.Set) bool {
	gravest := severity("speed-shift")
	if set.Conditions()*set.Out <= quickValues {
		gravest = len(spoiling)
	}

	isMany := float64(len(m.files)) > max(2, mostShare*float64(runs))
	if severity(m.code) >= gravest || isMany {
		return false
	}

	return !slices.ContainsFunc(earlier, func(o *mistake) bool { return maps.Equal(o.files, m.files) })
}

// addTo computes the intervals of the splits without the files of a mistake and stores the effect in the mistake. It
// reports whether any training row belongs to these files.
func (e *Effects) addTo(ctx context.Context, m *mistake) (known bool, err error) {
	isLeft := func(run, recording string) bool { return m.concerns(e.splitName(run), e.splitName(recording)) }
	for i, split := range e.Splits {
		if split.Honest == nil || split.Honest.Record == nil {
			continue
		}

		record, err := e.Recalibrate(ctx, i, isLeft)
		if err != nil {
			return false, fmt.Errorf("leave out %s: %w", m.first, err)
		}

		if record != nil {
			known = true
			m.compare(split.Name, split.Honest.Record, record)
		}
	}

	return known, nil
}

// compare stores the effect on the outcome of a split whose interval shrinks most, if it shrinks more than the one that
// is stored already. all and rest are the intervals with and without the files of the mistake.
func (m *mistake) compare(split string, all, rest *interval.Record) {
	for k, outcome := range rest.Outcomes {
		previous := all.Outcomes[k].Half
		ratio := outcome.Half / previous
		if ratio < min(m.ratio, leastEffect) {
			width := strings.TrimSpace(fault.Digits(previous, 2) + " " + units.Difference(outcome.Unit))
			m.ratio = ratio
			m.effect = fmt.Sprintf("%s ± %s instead of ± %s in %s", outcome.Outcome, fault.Digits(outcome.Half, 2), width, split)
		}
	}
}

// Limits of suspects.
const (
	fewFiles     = 3 // largest number of files that a finding accuses
	mostSuspects = 6 // largest number of names, which fit into two lines
)

// suspects names the files that the gravest of the given findings accuse, with the codes of the findings.
func suspects(list []*mistake) []string {
	var names []string
	codes := map[string][]string{} // by name
	for _, m := range list {
		if severity(m.code) >= severity("speed-shift") || len(m.files) > fewFiles {
			continue
		}

		for _, file := range slices.Sorted(maps.Keys(m.files)) {
			name := accused(file)
			if codes[name] == nil {
				names = append(names, name)
			}

			codes[name] = append(codes[name], strings.ReplaceAll(m.code, "-", " "))
		}
	}

	var suspects []string
	for _, name := range names[:min(len(names), mostSuspects)] {
		suspects = append(suspects, name+" ("+strings.Join(codes[name], ", ")+")")
	}

	return suspects
}
