package honest

import (
	"encoding/binary"
	"fmt"
)

// Split holds out rows as a test set.
type Split struct {
	Name string
	Test []bool // per row
}

// Training is a model to be trained on some rows.
type Training struct {
	Rows []int // ascending
	Held []int // groups without a row among them, ascending
}

// SplitPlan names the trainings of a split by their index in Plan.Trainings.
type SplitPlan struct {
	Name    string
	Full    int    // on all training rows
	Test    []int  // test rows, ascending
	LeftOut []Held // one for each training group
}

// Held is a training group that is left out.
type Held struct {
	Group    int   // index of the group
	Training int   // index in Plan.Trainings: without test rows and without this group
	Rows     []int // the group's training rows, ascending
}

// Plan lists the distinct trainings that some splits need.
type Plan struct {
	Trainings []Training
	Splits    []SplitPlan
}

// NewPlan lists the trainings for splits of rows that g assigns to groups: each
// split needs one on all its training rows and one without each of its training
// groups. Trainings on the same rows are listed once, so that G groups, each
// held out in one split, need G + G(G−1)/2. A training that would have no rows
// is left out of the plan, as is its group. NewPlan panics when a split does not
// state every row.
func NewPlan(g Grouping, splits []Split) Plan {
	var p Plan
	index := map[string]int{}
	add := func(rows []int) int {
		key := make([]byte, 0, 4*len(rows))
		for _, i := range rows {
			key = binary.LittleEndian.AppendUint32(key, uint32(i))
		}
		k, known := index[string(key)]
		if !known {
			k = len(p.Trainings)
			index[string(key)] = k
			p.Trainings = append(p.Trainings, Training{Rows: rows, Held: g.absent(rows)})
		}
		return k
	}
	for _, s := range splits {
		if len(s.Test) != len(g.Of) {
			panic(fmt.Sprintf("honest: split %q states %d rows, the groups %d", s.Name, len(s.Test), len(g.Of)))
		}
		sp := SplitPlan{Name: s.Name}
		var train []int
		for i, test := range s.Test {
			if test {
				sp.Test = append(sp.Test, i)
			} else {
				train = append(train, i)
			}
		}
		sp.Full = add(train)
		for h := range g.Names {
			var rest, held []int
			for _, i := range train {
				if g.Of[i] == h {
					held = append(held, i)
				} else {
					rest = append(rest, i)
				}
			}
			if len(held) > 0 && len(rest) > 0 {
				sp.LeftOut = append(sp.LeftOut, Held{Group: h, Training: add(rest), Rows: held})
			}
		}
		p.Splits = append(p.Splits, sp)
	}
	return p
}

// Each returns one split for each group of g, with the group as its test set
// and its name.
func (g Grouping) Each() []Split {
	splits := make([]Split, len(g.Names))
	for h, name := range g.Names {
		splits[h] = Split{Name: name, Test: make([]bool, len(g.Of))}
		for i, k := range g.Of {
			splits[h].Test[i] = k == h
		}
	}
	return splits
}

// absent returns the groups that have no row among rows.
func (g Grouping) absent(rows []int) []int {
	there := make([]bool, len(g.Names))
	for _, i := range rows {
		there[g.Of[i]] = true
	}
	var out []int
	for h, ok := range there {
		if !ok {
			out = append(out, h)
		}
	}
	return out
}
