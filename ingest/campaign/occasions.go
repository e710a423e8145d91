package campaign

import (
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// groupTexts are the texts by which rows are grouped: labels and names of runs.
type groupTexts struct {
	labels []string   // names of the columns
	texts  [][]string // by label, of each row
	run    string     // name of the column of the runs; "": there is none
	runs   []string   // of each row; nil: rows have no runs
}

// nameOccasions returns the texts with one name for all dates of a day. Runs that are numbered anew on each of the
// occasions become runs of their occasion: Monday/1. path is for warnings.
func (g groupTexts) nameOccasions(path string, occasions []string) (groupTexts, []ingest.Warning) {
	var warnings []ingest.Warning
	g.texts = slices.Clone(g.texts)
	for k, label := range g.labels {
		texts := g.texts[k]
		if days := condition.Days(texts); days != nil {
			texts = make([]string, len(texts))
			for i, text := range g.texts[k] {
				texts[i] = days[text]
			}

			g.texts[k] = texts
			_, distinct := lists.Index(texts)
			warnings = append(warnings, ingest.Warn(path, "days", "%s: dates with times of day, or written in several "+
				"ways, are taken for %s: %s", label, fault.Plural(int64(len(distinct)), "day"), fault.Some(distinct)))
		}

		isOccasion := slices.Contains(occasions, label) && len(g.runs) == len(texts)
		if !isOccasion || !runHeader.MatchString(g.run) || !areNumberedAnew(g.runs, texts) {
			continue
		}

		kept := keptNames{}
		runs := make([]string, len(g.runs))
		for i, name := range g.runs {
			runs[i] = kept.keep([]byte(texts[i] + "/" + name))
		}

		g.runs = runs
	}

	return g, warnings
}

// areNumberedAnew reports whether runs are numbered from 0 or 1 on each of several occasions.
func areNumberedAnew(runs, occasions []string) bool {
	beginsLow := map[string]bool{} // by occasion
	for i, run := range runs {
		number, err := strconv.Atoi(run)
		if err != nil {
			return false
		}

		beginsLow[occasions[i]] = beginsLow[occasions[i]] || number <= 1
	}

	for _, isLow := range beginsLow {
		if !isLow {
			return false
		}
	}

	return len(beginsLow) > 1
}

// nameOccasions gives dates of one day one name, makes runs that are numbered anew on each occasion runs of the
// occasion, and warns of labels that are probably one.
func (r *tableReader) nameOccasions() {
	groups := groupTexts{labels: r.Labels, texts: r.Texts, run: r.options.Run, runs: r.Run}
	groups, warnings := groups.nameOccasions(r.path, r.options.Occasions)
	r.Texts = groups.texts
	r.Run = groups.runs
	r.Warnings = append(r.Warnings, warnings...)
	for k, label := range r.Labels {
		r.Warnings = append(r.Warnings, WarnAlike(r.files[0].Name, label, r.Texts[k])...)
	}
}

// NameOccasions changes the names in columns of a log: it gives dates of one day one name, and makes runs that are
// numbered anew on each occasion runs of the occasion. run is the column of the runs. The log may be nil.
func (c *Conditions) NameOccasions(run string, occasions, labels []string) []ingest.Warning {
	if c == nil || len(labels) == 0 {
		return nil
	}

	var columns [][]*condition.Condition // of the labels, then of the runs
	var texts [][]string
	for _, name := range append(slices.Clone(labels), run) {
		column := c.column(name)
		cells := make([]string, 0, len(column))
		for _, cond := range column {
			cells = append(cells, textOf(cond))
		}

		columns = append(columns, column)
		texts = append(texts, cells)
	}

	n := len(labels)
	groups := groupTexts{labels: labels, texts: texts[:n], run: run, runs: texts[n]}
	groups, warnings := groups.nameOccasions(c.Path, occasions)
	for k, column := range columns {
		renamed := groups.runs
		if k < n {
			renamed = groups.texts[k]
		}

		for i, cond := range column {
			if renamed[i] != textOf(cond) {
				cond.Name = renamed[i]
				cond.IsName = true
			}
		}
	}

	return warnings
}

// column returns the statements of the rows in a column, as pointers into the rows.
func (c *Conditions) column(name string) []*condition.Condition {
	var column []*condition.Condition
	for _, row := range c.Rows {
		k := slices.IndexFunc(row.States, func(cond condition.Condition) bool { return cond.Column == name })
		if k >= 0 {
			column = append(column, &row.States[k])
		}
	}

	return column
}

// textOf returns a name, or a number as text.
func textOf(cond *condition.Condition) string {
	if cond.IsName {
		return cond.Name
	}

	return plain(cond.Value)
}

// WarnAlike warns of names of things that are probably one.
func WarnAlike(path, label string, names []string) []ingest.Warning {
	var warnings []ingest.Warning
	for _, pair := range condition.Alike(names) {
		warnings = append(warnings, ingest.Warn(path, "alike-names",
			"%s has the names %q and %q, which are taken for two; if they are one, ingest: {spellings: {%q: %q}}",
			label, pair.First, pair.Second, pair.Second, pair.First))
	}

	return warnings
}
