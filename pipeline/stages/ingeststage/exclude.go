package ingeststage

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// excludedBy are the exclusions by conditions, with the tolerances of set points.
func excludedBy(exp plan.Experiment) config.Exclusions {
	list, within := exp.Ingest.Exclude.Where(), plan.Tolerances(exp.Ingest.Within)
	for i := range list {
		list[i].Where = holdout.About(list[i].Where, func(c string, a, b float64) bool { return within[c].Equal(a, b) })
	}

	return list
}

// checkExcluded reports an exclusion by what is no condition, or by a number where names are.
func checkExcluded(exp plan.Experiment, numbers, names []string) {
	all := slices.Concat(numbers, names)
	for _, x := range exp.Ingest.Exclude.Where() {
		for _, c := range x.Where.Conditions() {
			exp.Refuse(!slices.Contains(all, c), "ingest.exclude",
				"%q is no condition that is known before the files are opened, which are %v%s", c, all,
				spelling.DidYouMean(c, all))
			exp.Refuse(slices.Contains(names, c) && !slices.Contains(x.Where.Labels(), c), "ingest.exclude",
				"%s is a column of text: expected names, found numbers; write a name of digits in quotes", c)
		}
	}
}

// exclude leaves out the rows of the table of conditions, and the files without any other, whose conditions the
// configuration excludes.
func (r *Recordings) exclude(exp plan.Experiment) {
	list := excludedBy(exp)
	if len(list) == 0 {
		return
	}

	var columns, labels []string
	left := make([][]string, len(list))
	for i := range r.Files {
		f := &r.Files[i]
		kept := lists.Where(len(f.known), func(k int) bool {
			name := f.Name
			if len(f.known) > 1 {
				name = fmt.Sprintf("%s (line %d)", f.Name, f.Rows.Rows[k].Line)
			}

			columns = slices.AppendSeq(columns, maps.Keys(f.known[k].Numbers))
			labels = slices.AppendSeq(labels, maps.Keys(f.known[k].Names))
			x := slices.IndexFunc(list, func(x config.Exclusion) bool { return x.Holds(f.known[k]) })
			if x >= 0 {
				left[x] = append(left[x], name)
			}

			return x < 0
		})

		f.known = lists.Rows(f.known, 1, kept)
		if f.Rows != nil {
			f.Rows.Rows = lists.Rows(f.Rows.Rows, 1, kept)
		}
	}

	checkExcluded(exp, holdout.Distinct(columns), holdout.Distinct(labels))
	files := lists.Keep(r.Files, func(f File) bool { return len(f.known) > 0 })
	exp.Refuse(len(files) == 0, "ingest.exclude", "all %s are excluded", fault.Plural(int64(len(r.Files)), "file"))
	r.Files = files
	for i, x := range list {
		w := campaign.UnusedExclude(exp.File.Path, x.String())
		if len(left[i]) > 0 {
			w = leftOut(left[i], fmt.Sprintf("exclude: %s", x))
		}

		r.warnings = append(r.warnings, w)
	}
}

// leftOut names what was left out knowingly, so that the report does not depend on someone reading the
// configuration.
func leftOut(names []string, by string) ingest.Warning {
	w := ingest.Warn(filepath.ToSlash(names[0]), "excluded", "left out by %s", by)
	if len(names) > 1 {
		w.Text += ", as are " + campaign.Some(names[1:])
	}

	return w
}
