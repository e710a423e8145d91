package reportstage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/pipeline/engine"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// mistake is a finding about files or runs, with what the intervals would be without them.
type mistake struct {
	code, first, text string // first of the files; "" where the text names it
	files             map[string]bool
	effect            string  // ± without and with them, of the outcome and the split that they change most; ""
	ratio             float64 // of these half widths; 1 where nothing is known
}

func (m *mistake) String() string {
	text := m.text
	if m.effect != "" {
		it := map[bool]string{true: "it", false: "them"}[len(m.files) == 1]
		text = "without " + it + " " + m.effect + "; " + text
	}

	if m.first == "" {
		return text
	}

	return accused(m.first) + ": " + text
}

// accused names a file, or a channel of all files, which is #NAME among the files of a mistake.
func accused(file string) string {
	if channel, is := strings.CutPrefix(file, "#"); is {
		return "channel " + channel
	}
	return file
}

// Limits of the mistakes whose effect is computed: how many, the share of runs that they may concern (more are no
// mistake but the campaign), conditions × outcomes of a set from which only the gravest are, and the ratio of half
// widths from which there is no effect.
const (
	mostEffects = 6
	mostShare   = 0.1
	quickValues = 2000
	leastEffect = 0.9
)

// mistakes are the findings in words: first how many widen an interval, those that do so most before the others, then
// pairs that are far apart, and the rest in the order of their gravity.
func (x *experiment) mistakes(
	ctx context.Context, j *engine.Job, e report.Experiment, s triplets.Set, ranked []*mistake, far string,
) (out []string, widening int) {
	list := slices.Clone(ranked)
	gravest := severity("speed-shift")
	if s.Conditions()*s.Out <= quickValues {
		gravest = len(spoil)
	}

	all := &mistake{files: map[string]bool{}, ratio: 1}
	several := 0
	for i, m := range list {
		m.ratio = 1
		same := func(o *mistake) bool { return maps.Equal(o.files, m.files) }
		many := float64(len(m.files)) > max(2, mostShare*float64(e.Runs))
		if several == mostEffects || severity(m.code) >= gravest || many || slices.ContainsFunc(list[:i], same) {
			continue
		}

		if x.effect(ctx, j, e.Splits, m) {
			maps.Copy(all.files, m.files)
			several++
		}
	}

	if several > 1 { // one mistake may hide what another does
		all.text = fmt.Sprintf("%d mistakes are named below", several)
		x.effect(ctx, j, e.Splits, all)
	}

	slices.SortStableFunc(list, func(a, b *mistake) int { return cmp.Compare(a.ratio, b.ratio) })
	if several > 1 && all.ratio < leastEffect*list[0].ratio {
		list = slices.Insert(list, 0, all)
	}

	for _, m := range list {
		if m.ratio < 1 {
			widening++
		}
		out = append(out, m.String())
	}

	if far != "" {
		out = slices.Insert(out, widening, far) // data that may be wrong come first
	}

	return out, widening
}

// effect sets what the intervals of the splits are without the files of a mistake. It reports whether a training row
// is of one of them.
func (x *experiment) effect(ctx context.Context, j *engine.Job, splits []report.Split, m *mistake) (known bool) {
	left := func(run, recording string) bool {
		_, channel, _ := strings.Cut(recording, "#")
		parts := append(strings.Split(run, "+"), recording, "#"+channel)
		return slices.ContainsFunc(parts, func(p string) bool {
			p = strings.TrimSpace(p)
			return m.files[p] || m.files[path.Base(p)]
		})
	}

	for i, s := range splits {
		if s.Honest == nil || s.Honest.Record == nil {
			continue
		}

		r, err := x.trained.Without(ctx, j, x.splits[i], left)
		if err != nil {
			fault.Raise(fmt.Errorf("leave out %s: %w", m.first, err))
		}

		if r != nil {
			known = true
			m.compare(s.Name, s.Honest.Record, r)
		}
	}

	return known
}

// compare keeps the outcome of a split whose interval shrinks most.
func (m *mistake) compare(split string, with, without *interval.Record) {
	for k, t := range without.Outcomes {
		before := with.Outcomes[k].Half
		if ratio := t.Half / before; ratio < min(m.ratio, leastEffect) {
			m.ratio = ratio
			m.effect = fmt.Sprintf("%s ± %.2g instead of ± %s in %s", t.Outcome, t.Half,
				strings.TrimSpace(fmt.Sprintf("%.2g %s", before, units.Difference(t.Unit))), split)
		}
	}
}
