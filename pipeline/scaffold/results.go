package scaffold

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// A table of results has one row a run: columns of settings, at which rows are
// repeated, and columns of measured values. A table of samples has a clock or many
// rows, or rows that no setting tells apart.
const (
	mostRows    = 2000  // of a file of results
	mostResults = 20000 // of all files
	mostSamples = 100   // rows of results with a clock
	mostRepeats = 50    // rows of equal settings, in the median
)

// fromResults takes a table of results, or of pairs, for what the files hold, of which names or a log state what is
// given. It reports whether they are one.
func (p *plan) fromResults(given *sheet) bool {
	s, t := readSheet(p.dir, given.files), &config.Table{}
	if s == nil || len(s.fields) == 0 {
		return false
	}

	s.ofNames(given, s.file)
	if s.clock == "" && s.pairs(t) {
		p.note("%s is a table of pairs: %s and %s are the two outcomes", s.from, strings.Join(t.Y1, ", "),
			strings.Join(t.Y2, ", "))
	} else if !p.repeats(s, t, given.files) {
		return false
	}

	p.leaveOdd(given)
	p.settleNames(s, given)
	if len(given.files) == 1 {
		p.Files = given.files
	}

	t.Inputs = headsOf(s.of(input))
	p.Table, p.sheet = t, s

	return true
}

func headsOf(fields []*field) []string {
	return lists.Each(fields, func(f *field) string { return f.name })
}

// repeats finds settings at which rows repeat, and measured values.
func (p *plan) repeats(s *sheet, t *config.Table, files []string) bool {
	s.decideResults()

	inputs := s.of(input)
	groups := s.groups(inputs...)
	bySize := slices.SortedFunc(slices.Values(groups), func(a, b []int) int { return len(a) - len(b) })
	exact := slices.ContainsFunc(inputs, func(f *field) bool { return !f.given && f.points == nil })
	scatters := slices.ContainsFunc(inputs, func(f *field) bool { return f.points != nil })
	if !exact && (!scatters || s.rows/(s.file[s.rows-1]+1) >= mostSamples) || len(s.of(outcome)) == 0 ||
		len(groups) < 3 || len(bySize[len(groups)/2]) > mostRepeats || 4*paired(groups) < s.rows {
		if s.clock == "" && len(files) == 1 && len(inputs) > 0 &&
			slices.ContainsFunc(s.fields, func(f *field) bool { return f.says(outcomeWords) }) {
			p.note("%s: as a table of results it has too few rows that repeat %s; its rows are read as samples in time", s.from,
				strings.Join(headsOf(inputs), ", "))
		}

		return false
	}

	t.Repeats, t.Run = headsOf(s.of(outcome)), s.run(groups)
	if t.Outcomes = lists.Each(t.Repeats, s.outcomeName); slices.Equal(t.Outcomes, t.Repeats) {
		t.Outcomes = nil
	}

	p.note("%s: %d rows that are a table of results, one a run; rows at equal %s are repeats; correct inputs and "+
		"repeats where they are wrong", s.from, s.rows, strings.Join(headsOf(inputs), ", "))

	return true
}

// ofNames adds what the names of files state, of each row one, unless a column states it.
func (s *sheet) ofNames(given *sheet, file []int) {
	for _, g := range given.fields {
		f := &field{name: g.name, head: g.head, given: true, texts: lists.Rows(g.texts, 1, file)}
		if g.values != nil {
			f.values = lists.Rows(g.values, 1, file)
		}

		same := func(o *field) bool {
			return f.values != nil && slices.Equal(o.values, f.values) || slices.Equal(o.texts, f.texts)
		}
		at := slices.IndexFunc(s.fields, func(o *field) bool { return o.name == f.name })
		switch {
		case slices.ContainsFunc(s.fields, same):
			continue
		case at >= 0:
			o := s.fields[at]
			k := slices.IndexFunc(lists.Numbers(s.rows), func(k int) bool { return o.text(k) != f.text(k) })
			f.be(leftOut, fmt.Sprintf("a column has its name; %s states %s, the column %s", given.files[file[k]], f.text(k),
				o.text(k)))
		case g.values != nil && s.file == nil && strings.HasPrefix(f.name, "condition"):
			f.be(runs, "a number without a word, besides a log")
		case g.values != nil && g.role != input && !g.says(dayWords): // on texts and days the sheet decides
			f.be(g.role, g.why)
		}

		s.fields = append(s.fields, f)
	}
}

// settleNames gives what names state the roles that it has in a sheet, and takes it.
func (p *plan) settleNames(s, given *sheet) {
	for _, f := range given.fields {
		f.role = remark
		if k := slices.IndexFunc(s.fields, func(g *field) bool { return g.given && g.head == f.head }); k >= 0 {
			g := s.fields[k]
			if f.role = g.role; g.role == day && given.names != nil && !s.has("day") {
				f.name, g.name = "day", "day"
			}
		}
	}

	if given.names != nil && len(given.of(input, thing, day)) > 0 {
		p.takeNames(given)
	}
}

// run is the column that names the run: one that differs within every group, else the file; "" if
// there is none.
func (s *sheet) run(groups [][]int) string {
	numbers := lists.Keep(s.of(runs), func(f *field) bool { return !f.given })
	texts := lists.Keep(s.of(remark), func(f *field) bool { return f.values == nil && !f.given })
	file := &field{name: "file", texts: lists.Each(s.file, strconv.Itoa)}
	for _, f := range slices.Concat(numbers, texts, []*field{file}) {
		repeats := func(g []int) bool { return len(lists.Alike(lists.Rows(f.texts, 1, g))) < len(g) }
		if !slices.ContainsFunc(groups, repeats) {
			return f.name
		}
	}

	return ""
}

// readSheet reads the columns that all files have; nil where the files cannot be results.
func readSheet(dir string, files []string) *sheet {
	s := &sheet{from: strings.Join(globs(files), ", ")}
	if len(files) == 1 {
		s.from = files[0]
	}

	for i, file := range files {
		c, err := campaign.ReadCells(filepath.Join(dir, file), mostRows)
		if err != nil || c.Rows == 0 || c.Clock != "" && c.Rows >= mostSamples ||
			s.rows+c.Rows > mostResults {
			return nil
		}

		if i == 0 {
			s.clock = c.Clock
			s.fields = lists.Make(len(c.Heads), func(k int) *field { return &field{name: c.Columns[k], head: c.Heads[k]} })
		}

		// Columns that not all files have are left out.
		s.fields = slices.DeleteFunc(s.fields, func(f *field) bool { return !slices.Contains(c.Columns, f.name) })
		for _, f := range s.fields {
			f.texts = c.Column(f.texts, slices.Index(c.Columns, f.name))
		}

		s.rows += c.Rows
		s.file = append(s.file, slices.Repeat([]int{i}, c.Rows)...)
	}

	columns, errs := condition.ReadColumns(func(k int) []string { return s.fields[k].texts },
		lists.Each(s.fields, func(f *field) condition.ColumnOptions {
			_, unit := text.SplitUnit(f.head)
			usual, _ := units.OfName(cmp.Or(termOf(f.name, unit), f.name))

			return condition.ColumnOptions{Usual: usual.Text}
		}))
	for k, f := range s.fields {
		f.values, f.unit = columns[k].Values, columns[k].Unit
		names := f.isNumbered() || slices.ContainsFunc([]pattern{instances, dayWords, clockWords, remarkWords}, f.says)
		if errs[k] != nil && !names {
			f.be(leftOut, errs[k].Error())
		}
	}

	return s
}

// member is the header of one of the values that were measured of an outcome: CT_1, SPL run2.
var member = regexp.MustCompile(`(?i)^(.+?)(?:_|[ _-]+(?:run|rep|repeat|take|trial|lauf)[ _-]?)([0-9]+)$`)

// pairs finds outcomes NAME_1 and NAME_2; the other columns of numbers are inputs. It reports whether
// there are both.
func (s *sheet) pairs(t *config.Table) bool {
	of := map[[2]string]*field{} // by outcome and number
	parts := lists.Each(s.fields, func(f *field) (part [2]string) {
		if m := member.FindStringSubmatch(f.name); m != nil && f.values != nil {
			part = [2]string{m[1], m[2]}
			of[part] = f
		}

		return part
	})

	for i, f := range s.fields {
		name := parts[i][0]
		one, two := of[[2]string{name, "1"}], of[[2]string{name, "2"}]
		switch {
		case one == nil || two == nil:
		case f == one:
			t.Y1, t.Y2, t.Outcomes = append(t.Y1, one.name), append(t.Y2, two.name), append(t.Outcomes, name)
			f.role, two.role = outcome, outcome
		case f != two:
			f.be(leftOut, "a pair is of the first two values of "+name+": a row for each value uses all")
		}
	}

	if len(t.Y1) == 0 {
		return false
	}

	if slices.Equal(t.Y1, lists.Each(t.Outcomes, func(n string) string { return n + "_1" })) {
		t.Outcomes = nil
	}

	s.decideLog()
	for _, f := range s.fields {
		if f.values == nil && (f.role == runs || f.says(names)) && t.Run == "" {
			f.be(runs, "")
			t.Run = f.name
		}
	}

	return len(s.of(input)) > 0
}
