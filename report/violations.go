package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Violation is an identity of the theory (METHOD §4) that models violate on the
// train or the test part of a split, in the words of the seed that does so most.
type Violation struct {
	Code         string  // of the identity: "delta"
	Part         string  // "train" or "test"
	Text         string  // "δ = 0 is violated: what and by how much"
	Do           string  // what to do about it
	Seeds, Of    int     // seeds that violate it, of so many
	Value, Limit float64 // of the worst seed; beyond Limit it is a violation
}

// where says which part, and how many seeds.
func (v Violation) where() string {
	if v.Of < 2 {
		return v.Part
	}
	return fmt.Sprintf("%s (%d of %d seeds, the worst is told)", v.Part, v.Seeds, v.Of)
}

// String is the violation in one line.
func (v Violation) String() string {
	s := v.where() + ": " + v.Text
	if v.Do != "" {
		s += "; " + v.Do
	}
	return s
}

// times is how many times the limit the worst seed reaches: what makes one
// violation more serious than another.
func (v Violation) times() float64 {
	if v.Limit > 0 {
		return v.Value / v.Limit
	}
	return v.Value
}

// placed is a violation on a set of a split.
type placed struct {
	Violation
	split string
}

func (p placed) set() string { return p.split + " " + p.Part }

// identity is one identity with all that violates it, most serious first.
type identity struct {
	name string // "δ = 0"
	list []placed
}

// violated groups what the splits violate by identity, the most serious
// identity first.
func (e Experiment) violated() []identity {
	var out []identity
	for _, s := range e.Splits {
		for _, f := range s.Flags {
			i := slices.IndexFunc(out, func(d identity) bool { return d.list[0].Code == f.Code })
			if i < 0 {
				name, _, _ := strings.Cut(f.Text, " is violated")
				i = len(out)
				out = append(out, identity{name: name})
			}
			out[i].list = append(out[i].list, placed{f, s.Name})
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].list, func(a, b placed) int { return cmp.Compare(b.times(), a.times()) })
	}
	slices.SortStableFunc(out, func(a, b identity) int { return cmp.Compare(b.list[0].times(), a.list[0].times()) })
	return out
}

// summary says on how many of the experiment's sets the identity is violated,
// and where most.
func (d identity) summary(sets int) string {
	worst := d.list[0]
	s := "violated on " + clean(worst.set())
	if len(d.list) > 1 {
		s = fmt.Sprintf("violated on %d of %d sets, most on %s", len(d.list), sets, clean(worst.set()))
	}
	if worst.Limit > 0 {
		s += ", " + times(worst.times()) + " times the limit"
	}
	return s
}

// times writes a factor with two digits.
func times(v float64) string {
	s := strconv.FormatFloat(v, 'g', 2, 64)
	if v >= 10 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return s
}

// diagnostics says every violated identity in a line, the most serious first,
// with what is to be done and all sets it is about.
func (e Experiment) diagnostics() []string {
	var out []string
	for _, d := range e.violated() {
		worst := d.list[0]
		_, what, _ := strings.Cut(worst.Text, " is violated")
		line := d.name + " is " + d.summary(2*len(e.Splits))
		if worst.Of > 1 {
			line += fmt.Sprintf(" (%d of %d seeds, the worst is told)", worst.Seeds, worst.Of)
		}
		line += " " + strings.TrimLeft(what, " ")
		line = strings.Replace(line, " :", ":", 1)
		if worst.Do != "" {
			line += "; " + worst.Do
		}
		if len(d.list) > 1 {
			var more []string
			for _, v := range d.list[1:] {
				t := isolate(shorten(clean(v.set()), longName))
				if v.Limit > 0 {
					t += " " + times(v.times()) + "×"
				}
				more = append(more, t)
			}
			line += ". Also " + strings.Join(more, ", ")
		}
		out = append(out, line+".")
	}
	return out
}

// violations writes the diagnostics: an identity each, closed, with what is
// wrong where, and how much, inside.
func (p *page) violations(e Experiment) {
	list := e.violated()
	if len(list) == 0 {
		return
	}
	p.say("<h3>Diagnostics</h3>\n<p class=\"note\">Two answers that are one consistent distribution obey these identities. No trained network does so exactly; told is what is violated so far that the numbers mean something else, most serious first.</p>\n<div class=\"violations\">\n")
	for _, d := range list {
		worst := d.list[0]
		p.say("<details class=\"violated\"><summary><b>\x00</b> is \x00</summary>\n<p>\x00.</p>\n", d.name, d.summary(2*len(e.Splits)), sentence(clean(worst.Text)))
		if worst.Do != "" {
			p.say("<p>What to do: \x00.</p>\n", clean(worst.Do))
		}
		t := table{title: d.name + ", where", corner: "split"}
		part, seeds, size := column{head: "part", text: true}, column{head: "seeds", text: true}, column{head: "times the limit"}
		for _, v := range d.list {
			t.labels = append(t.labels, v.split)
			part.cells = append(part.cells, number{text: v.Part})
			seeds.cells = append(seeds.cells, number{text: fmt.Sprintf("%d of %d", v.Seeds, max(v.Of, v.Seeds))})
			size.cells = append(size.cells, number{mean: times(v.times())})
		}
		t.groups = []group{{"", []column{part}}, {"", []column{seeds}}, {"", []column{size}}}
		p.table(t)
		p.say("</details>\n")
	}
	p.say("</div>\n")
}
