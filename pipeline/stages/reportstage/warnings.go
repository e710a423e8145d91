package reportstage

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// findings are the warnings, flags and counts of an experiment's tasks. Equal
// warnings of many files become one, with their number.
type findings struct {
	skipped                       []string // recordings left out, with the reason
	bounds, levels, dropped, near int      // levels: upper bounds, all, left out, near the background

	groups []*warningGroup // in order of appearance
	runs   map[string]bool // all that were analysed; a pair of repeats joins several
	flags  map[string]*flagged
	speeds []speed
	facts  []report.Fact // of what is no warning
}

// warningGroup is one warning with the files that have it.
type warningGroup struct {
	code, key, text, first string
	files                  map[string]bool
}

// chance is the share of runs that tests flag where nothing is wrong.
const chance = 0.05

// flagged is one flag of runs.
type flagged struct {
	runs    map[string]bool
	example string
	least   float64 // of the flags' P; 0 of one that is no test
}

// read collects what the experiment's tasks found.
func (f *findings) read(j *engine.Job, results []engine.Dep, notes engine.Dep, planned []ingest.Warning) {
	f.planned(planned)

	for _, d := range results {
		file := func(res *ingeststage.FileResult) { f.file(res.Warnings) }
		fault.Raise(plan.EachJSON(j.Input(d.Task, d.Output), file))
	}

	var all []dspstage.FileNotes
	fault.Raise(plan.ReadJSON(j.Input(notes.Task, notes.Output), &all))
	for _, n := range all {
		f.note(n)
	}
}

func (f *findings) add(code, key, path, text string) {
	i := slices.IndexFunc(f.groups, func(g *warningGroup) bool { return g.key == key })
	if i < 0 {
		i = len(f.groups)
		f.groups = append(f.groups, &warningGroup{code: code, key: key, text: text, first: path, files: map[string]bool{}})
	}

	f.groups[i].files[path] = true
}

// planned adds warnings of the planning; each of them is kept.
func (f *findings) planned(list []ingest.Warning) {
	for _, w := range list {
		f.add(w.Code, w.Path+w.Text, w.Path, w.Text)
	}
}

// file adds the warnings of one raw file, which are one for all files of a code.
func (f *findings) file(list []ingest.Warning) {
	for _, w := range list {
		key := w.Code
		if key == "" {
			key = w.Path + w.Text
		}

		f.add(w.Code, key, w.Path, w.Text)
	}
}

// note adds the notes of one file's analysis.
func (f *findings) note(n dspstage.FileNotes) {
	if n.Skipped != nil {
		f.skipped = append(f.skipped, n.Skipped.Reason)
	}

	for _, w := range n.Warnings {
		if w.Code == "drift-corrected" {
			f.facts = append(f.facts, report.Fact{Name: "zero of the balance", Value: w.Path + ": " + w.Text})
			continue
		}

		f.add(w.Code, w.Code+w.Text, w.Path, w.Text)
	}

	if f.runs == nil {
		f.runs = map[string]bool{}
	}

	for _, r := range n.Notes {
		f.runs[r.Run] = true
		f.bounds, f.levels = f.bounds+r.Bounds, f.levels+r.Levels
		f.dropped, f.near = f.dropped+r.Dropped, f.near+r.Near
		for _, flag := range r.Flags {
			if flag.Code == "speed-contradicted" { // a finding of its own for each run
				f.speeds = append(f.speeds, speed{r.Run, flag})
				continue
			}

			if f.flags == nil {
				f.flags = map[string]*flagged{}
			}

			if f.flags[flag.Code] == nil {
				f.flags[flag.Code] = &flagged{map[string]bool{}, r.Run + ": " + flag.Text, flag.P}
			}

			of := f.flags[flag.Code]
			of.least, of.runs[r.Run] = min(of.least, flag.P), true
		}
	}
}

// spoil are the codes of what makes data wrong, the worst first; minor those of what only should be
// known. Others come between.
var (
	spoil = []string{
		"not-finite", "truncated", "stuck-column", "constant", "clipping",
		"files-swapped", "speed-contradicted", "equal-rows", "far-run", "missing-code", "spikes", "level-apart", "gain-apart",
		"constant-stretch", "speed-differs", "speed-shift",
		"clock-backwards", "clock-gaps", "clock-useless", "odd-rate", "outlier-segment", "harmonic-drift", "drift", "trend",
	}
	minor = []string{
		"extra-data", "text-column", "numeric-header", "no-header", "misnamed-file", "unused-exclude", "unit-not-stated",
		"simulated", "excluded", "rows-without-file",
	}
)

// severity orders codes.
func severity(code string) int {
	if i := slices.Index(spoil, code); i >= 0 {
		return i
	}

	if slices.Contains(minor, code) {
		return len(spoil) + 1
	}

	return len(spoil)
}

// ranked lists the warnings and flags, the worst first.
func (f *findings) ranked() []*mistake {
	var list []*mistake
	for _, g := range f.groups {
		text := g.text
		if n := len(g.files); n > 1 && g.code != "files-swapped" {
			text += fmt.Sprintf(" (and in %d more files)", n-1)
		}

		list = append(list, &mistake{code: g.code, first: g.first, text: text, files: g.files})
	}

	for _, c := range slices.Sorted(maps.Keys(f.flags)) {
		is, all := f.flags[c], len(f.runs)
		text := fmt.Sprintf("%d of %d runs are flagged %q, first %s", len(is.runs), all, c, is.example)
		n := chance * float64(all) // flagged where nothing is wrong, give or take √n
		if float64(all)*is.least >= chance && float64(len(is.runs)) < n+3*math.Sqrt(n) {
			f.facts = append(f.facts, report.Fact{Name: "as many as chance gives", Value: text})
			continue
		}

		list = append(list, &mistake{code: c, files: is.runs, text: text})
	}

	slices.SortStableFunc(list, func(a, b *mistake) int { return severity(a.code) - severity(b.code) })

	return list
}

// counts are the warnings about levels; emergenceDB is the limit of upper bounds.
func (f *findings) counts(emergenceDB float64) (out []string) {
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	if f.bounds > 0 {
		warn("%d of %d levels are less than %g dB above the floor: they are upper bounds (columns *_bound_1, *_bound_2)",
			f.bounds, f.levels, emergenceDB)
	}

	if f.near > 0 {
		warn("%d of %d levels are less than %d dB above the background in the same bins "+
			"(columns *_background_1, *_background_2), which is not subtracted", f.near, f.levels, dsp.NearBackgroundDB)
	}

	if f.dropped > 0 {
		warn("censored: drop left out %d recordings with a harmonic that is not emergent; "+
			"what remains is biased towards loud conditions", f.dropped)
	}

	return out
}

// splitWarnings are the warnings about what the splits can show.
func splitWarnings(exp plan.Experiment, conditions []string, t *table.Table, set triplets.Set,
	splits []config.Split,
) (out []string, err error) {
	defer fault.Catch(&err)
	out = []string{fault.Get(tooFew(conditions, t, set, len(splits) > 0))}
	for _, s := range splits {
		out = append(out, unseen(fault.Get(trainstage.Split(exp, set, t, s)), s))
	}

	return slices.DeleteFunc(out, func(w string) bool { return w == "" }), nil
}

// tooFew warns when the whole experiment, train and test together, has too few
// distinct conditions for any R². Counted are the network's inputs; without a
// network, the conditions set (not the speed found in the sound).
func tooFew(names []string, t *table.Table, set triplets.Set, trained bool) (string, error) {
	conditions := set.Conditions()
	if set.SetPoints != nil {
		_, points := triplets.Index(set.SetPoints, set.In)
		conditions = len(points) / set.In
	}

	if !trained {
		names = slices.DeleteFunc(slices.Clone(names), func(c string) bool {
			return c == "rpm_tracked" || t.Column(c) == nil
		})
		x, err := plan.Matrix(plan.AtSetPoints{Table: t}, names, "")
		if err != nil {
			return "", fmt.Errorf("read triplets: %w", err)
		}

		conditions = min(1, t.Rows())
		if len(names) > 0 {
			_, distinct := triplets.Index(x, len(names))
			conditions = len(distinct) / len(names)
		}
	}

	w := score.R2Warning(conditions)
	switch {
	case w == "":
		return "", nil
	case trained:
		return "the whole experiment: " + w + "; the tables show that the program runs, not a finding", nil
	}

	return "the whole experiment: " + w + "; no split is trained", nil
}

// unseen warns when a split holds out conditions that are not inputs of the
// network: its uncertainty cannot rise where its inputs do not change.
func unseen(s triplets.Set, split config.Split) string {
	var held []string
	for _, c := range split.Test.Conditions() {
		if slices.Contains(s.InputNames(), c) {
			return ""
		}
		held = append(held, c)
	}

	known := make([]bool, s.Conditions())
	for i, c := range s.Condition {
		known[c] = known[c] || s.Part[i] != triplets.Test
	}

	asked := s.Of(triplets.Test).Present()
	both := len(lists.Keep(asked, func(c int) bool { return known[c] }))
	if both == 0 {
		return "" // the inputs differ all the same
	}

	return fmt.Sprintf("split %s holds out %s, which is not among the inputs (%s): %d of the %d held-out conditions "+
		"have the "+
		"same inputs as training conditions, so the uncertainty cannot rise there; R² and e show what that costs",
		split.Name, strings.Join(held, " and "), strings.Join(s.InputNames(), ", "), both, len(asked))
}
