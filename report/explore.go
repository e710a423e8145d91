package report

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/numbers"
)

// Numbers that page.js explores are packed: 32-bit floats and 16-bit integers, little-endian, in base64.

func f32(v []float64) string {
	return pack(lists.Each(v, func(x float64) float32 { return float32(x) }))
}
func u16(v []int) string { return pack(lists.Each(v, func(x int) uint16 { return uint16(x) })) }

func pack[T float32 | uint16](v []T) string {
	b, _ := binary.Append(nil, binary.LittleEndian, v) // of a fixed size
	return base64.StdEncoding.EncodeToString(b)
}

// explorerData packs what can be explored, at most about so many answers of
// models: every so many runs are kept, whole.
func explorerData(details []*Detail, numbers int) []byte {
	total := 0
	for _, d := range details {
		for _, s := range d.Splits {
			total += 3 * d.conditions() * d.dim() * len(s.Seeds)
		}
	}

	every := max(1, (total+numbers-1)/numbers)

	list := []object{}
	for i, d := range details {
		if d.in() > 0 { // else there is nothing to choose
			list = append(list, newExplored(i, d, every))
		}
	}

	// json escapes <, > and &, so nothing in a name can end the element.
	b, err := json.Marshal(list)
	if err != nil {
		panic("report: pack page data: " + err.Error()) // plain values only
	}

	return b
}

// newExplored is an experiment: n of all conditions, the distinct values of its inputs, per condition and input
// the number of its value in x, and per triplet its condition in row, and y1 and y2 of each outcome in y.
func newExplored(i int, d *Detail, every int) object {
	keep, place := []int{}, map[int]int{} // conditions, and their numbers here

	runOf := make([]int, d.conditions())
	for r, c := range d.Cond {
		runOf[c] = d.Run[r]
	}

	for c := range d.conditions() {
		if runOf[c]%every == 0 {
			place[c] = len(keep)
			keep = append(keep, c)
		}
	}

	values := lists.Make(d.in(), d.values)
	var index []int
	for _, c := range keep {
		for k := range d.Inputs {
			j, _ := slices.BinarySearch(values[k], d.x(c, k))
			index = append(index, j)
		}
	}

	row, y := exploredPairs(d, place)

	e := object{
		"id", sectionID(i), "name", clean(d.Experiment.Name), "data", clean(d.Experiment.Data),
		"pairs", clean(d.Experiment.Pairs),
		"inputs", exploredQuantities(d.Inputs), "outcomes", exploredQuantities(d.Outcomes),
		"all", d.AllConditions, "n", len(keep), "values", values, "x", u16(index), "row", row, "y", y,
		"splits", numbers.Objects(d.Splits, func(s SplitDetail) object { return newExploredSplit(d, s, keep) }),
	}

	if s := newExploredSpectra(d, place); s != nil {
		e = append(e, "spectra", s)
	}

	return e
}

// exploredQuantities are name, label, word, unit, and the units of a difference and a variance.
func exploredQuantities(q []Quantity) []object {
	return numbers.Objects(q, func(x Quantity) object {
		return object{
			"n", clean(x.Name), "l", x.Label(), "w", x.Word(), "u", clean(x.Unit), "d", x.difference(), "s", x.square(),
		}
	})
}

// exploredPairs packs up to twelve triplets of each condition that has a place.
func exploredPairs(d *Detail, place map[int]int) (row, values string) {
	var cond []int
	var y []float64

	perCondition := map[int]int{}
	for r, c := range d.Cond {
		at, ok := place[c]
		if !ok || perCondition[c] >= 12 {
			continue
		}

		perCondition[c]++
		cond = append(cond, at)

		for k := range d.Outcomes {
			y = append(y, d.Y1[r*d.dim()+k], d.Y2[r*d.dim()+k])
		}
	}

	return u16(cond), f32(y)
}

// newExploredSplit has, per condition, 1 where it is held out in test, and of each seed μ, σ² and C by outcome.
func newExploredSplit(d *Detail, s SplitDetail, keep []int) object {
	test := lists.Each(keep, func(c int) int { return map[bool]int{true: 1}[s.Test[c]] })
	kept := func(v []float64) string { return f32(lists.Rows(v, d.dim(), keep)) }
	seeds := numbers.Objects(s.Seeds, func(k SeedDetail) object {
		return object{"m", kept(k.Mu), "v", kept(k.Var), "c", kept(k.Cov)}
	})

	return object{"n", clean(s.Name), "held", clean(s.HeldOut), "test", u16(test), "seeds", seeds}
}

// newExploredSpectra packs up to 2000 spectra of conditions that have a place: the condition of each in at, its
// highest frequency in to, its lines in line, and its levels, a byte each, half decibels above offset; nil without any.
func newExploredSpectra(d *Detail, place map[int]int) object {
	if d.Shown == nil || len(d.Spectra) == 0 {
		return nil
	}

	top := math.Inf(-1)
	for _, s := range d.Spectra {
		for _, v := range s.Peak {
			top = math.Max(top, float64(v))
		}
	}

	offset := math.Ceil(top) - 127 // half decibels from here on fill a byte
	first := d.Spectra[0]
	var at []int
	var to, line []float64

	var levels []byte
	for _, s := range d.Spectra {
		c, ok := place[d.Cond[s.Row]]
		if !ok || len(at) >= 2000 {
			continue
		}

		at, to = append(at, c), append(to, s.ToHz)

		for k := range first.Line {
			v := math.NaN()
			if k < len(s.Line) {
				v = float64(s.Line[k])
			}

			line = append(line, v)
		}

		for _, v := range s.Peak {
			levels = append(levels, byte(max(0, min(255, math.Round(2*(float64(v)-offset))))))
		}
	}

	if len(at) == 0 {
		return nil
	}

	return object{
		"at", u16(at), "to", f32(to), "line", f32(line), "lines", len(first.Line), "points", len(first.Peak),
		"level", base64.StdEncoding.EncodeToString(levels), "offset", offset, "unit", clean(d.Shown.Unit),
		"bin", d.Shown.BinHz,
	}
}
