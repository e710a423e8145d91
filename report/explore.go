package report

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
)

// The types below are what page.js explores. Numbers are packed: 32-bit floats and
// 16-bit integers, little-endian, in base64.
type (
	explored struct {
		ID       string             `json:"id"`
		Name     string             `json:"name"`
		Data     string             `json:"data"`
		Pairs    string             `json:"pairs"`
		Inputs   []exploredQuantity `json:"inputs"`
		Outcomes []exploredQuantity `json:"outcomes"`
		All      int                `json:"all"`    // conditions of the experiment
		N        int                `json:"n"`      // conditions here
		Values   [][]float64        `json:"values"` // distinct values of each input
		X        string             `json:"x"`      // per condition and input, the number of its value
		Row      string             `json:"row"`    // per triplet, its condition
		Y        string             `json:"y"`      // per triplet and outcome, y1 and y2
		Splits   []exploredSplit    `json:"splits"`
		Spectra  *exploredSpectra   `json:"spectra,omitempty"`
	}

	exploredQuantity struct {
		Name       string `json:"n"`
		Label      string `json:"l"`
		Word       string `json:"w"`
		Unit       string `json:"u"`
		Difference string `json:"d"` // unit of a difference
		Square     string `json:"s"` // unit of a variance
	}

	exploredSplit struct {
		Name  string         `json:"n"`
		Held  string         `json:"held"`
		Test  string         `json:"test"` // per condition, 1 where it is held out
		Seeds []exploredSeed `json:"seeds"`
	}

	// exploredSeed holds μ, σ² and C per condition and outcome.
	exploredSeed struct {
		Mu  string `json:"m"`
		Var string `json:"v"`
		Cov string `json:"c"`
	}

	exploredSpectra struct {
		At     string  `json:"at"`     // per spectrum, its condition
		To     string  `json:"to"`     // its highest frequency, Hz
		Line   string  `json:"line"`   // its lines, Hz
		Lines  int     `json:"lines"`  // of each spectrum
		Points int     `json:"points"` // of each spectrum
		Level  string  `json:"level"`  // a byte each, half decibels above Offset
		Offset float64 `json:"offset"`
		Unit   string  `json:"unit"`
		Bin    float64 `json:"bin"`
	}
)

func f32(v []float64) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}

	return base64.StdEncoding.EncodeToString(b)
}

func u16(v []int) string {
	b := make([]byte, 0, 2*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
	}

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

	list := []*explored{}
	for i, d := range details {
		list = append(list, newExplored(i, d, every))
	}

	// json escapes <, > and &, so nothing in a name can end the element.
	b, err := json.Marshal(list)
	if err != nil {
		panic("report: pack page data: " + err.Error()) // plain values only
	}

	return b
}

func newExplored(i int, d *Detail, every int) *explored {
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

	e := &explored{
		ID: sectionID(i), Name: clean(d.Experiment.Name), Data: clean(d.Experiment.Data), Pairs: clean(d.Experiment.Pairs),
		Inputs: exploredQuantities(d.Inputs), Outcomes: exploredQuantities(d.Outcomes), All: d.AllConditions, N: len(keep),
		Splits: []exploredSplit{},
	}

	for k := range d.Inputs {
		e.Values = append(e.Values, d.values(k))
	}

	var index []int
	for _, c := range keep {
		for k := range d.Inputs {
			j, _ := slices.BinarySearch(e.Values[k], d.x(c, k))
			index = append(index, j)
		}
	}

	e.X = u16(index)
	e.Row, e.Y = exploredPairs(d, place)
	for _, s := range d.Splits {
		e.Splits = append(e.Splits, newExploredSplit(d, s, keep))
	}

	e.Spectra = newExploredSpectra(d, place)

	return e
}

func exploredQuantities(q []Quantity) []exploredQuantity {
	out := []exploredQuantity{}
	for _, x := range q {
		out = append(out, exploredQuantity{clean(x.Name), x.Label(), x.Word(), clean(x.Unit), x.difference(), x.square()})
	}

	return out
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

func newExploredSplit(d *Detail, s SplitDetail, keep []int) exploredSplit {
	out := exploredSplit{Name: clean(s.Name), Held: clean(s.HeldOut), Seeds: []exploredSeed{}}

	var test []int
	for _, c := range keep {
		t := 0
		if s.Test[c] {
			t = 1
		}

		test = append(test, t)
	}

	out.Test = u16(test)
	kept := func(v []float64) string {
		var out []float64
		for _, c := range keep {
			out = append(out, v[c*d.dim():(c+1)*d.dim()]...)
		}

		return f32(out)
	}

	for _, k := range s.Seeds {
		out.Seeds = append(out.Seeds, exploredSeed{kept(k.Mu), kept(k.Var), kept(k.Cov)})
	}

	return out
}

// newExploredSpectra packs up to 2000 spectra of conditions that have a place;
// nil without any.
func newExploredSpectra(d *Detail, place map[int]int) *exploredSpectra {
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

	return &exploredSpectra{
		At: u16(at), To: f32(to), Line: f32(line), Lines: len(first.Line), Points: len(first.Peak),
		Level: base64.StdEncoding.EncodeToString(levels), Offset: offset, Unit: clean(d.Shown.Unit), Bin: d.Shown.BinHz,
	}
}
