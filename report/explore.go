package report

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/report/figure"
	"doubletake/train/numbers"
)

// This file packs the data of the page's scripts. The numbers that explore.js draws are 32-bit floats and 16-bit
// integers, little-endian, in base64. It reads the keys of the objects below, most of which are a letter, to keep the
// page small.

// packFloats packs numbers as 32-bit floats.
func packFloats(values []float64) string {
	narrow := make([]float32, len(values))
	for i, value := range values {
		narrow[i] = float32(value)
	}

	return pack(narrow)
}

// packIndices packs numbers from 0 to 65535, such as numbers of conditions: a Detail has a few thousand of them. It
// panics if a number does not fit.
func packIndices(values []int) string {
	narrow := make([]uint16, len(values))
	for i, value := range values {
		if value < 0 || value > math.MaxUint16 {
			panic(fmt.Sprintf("report: pack page data: %d does not fit in 16 bits", value))
		}

		narrow[i] = uint16(value)
	}

	return pack(narrow)
}

// answerNumbers is the number of a model's answers for each condition and outcome: μ, σ² and C of the network, μ and
// two half widths of the calibrated model.
const answerNumbers = 3

// pack packs numbers of a fixed size.
func pack[T float32 | uint16 | uint32](values []T) string {
	packed, _ := binary.Append(nil, binary.LittleEndian, values) // cannot fail: the values have a fixed size
	return base64.StdEncoding.EncodeToString(packed)
}

// scriptData returns the JSON of an object: "experiments" has the data that can be explored, with about the given
// number of the models' answers at most, and "names" the names of runs, in the order of their numbers. names already
// has the names that figures use. If there are more answers, scriptData keeps every n-th run, or every n-th condition
// of few runs.
func scriptData(details []*Detail, answers int, names *figure.Names) []byte {
	total := 0
	for _, detail := range details {
		for _, split := range detail.Splits {
			if len(split.Seeds) > 0 || split.Calibrated != nil {
				total += 2 * answerNumbers * detail.conditionCount() * detail.outcomeCount()
			}
		}
	}

	every := max(1, (total+answers-1)/answers)

	experiments := []object{}
	for i, detail := range details {
		if detail.inputCount() > 0 { // otherwise there is nothing to choose
			experiments = append(experiments, newExplored(i, detail, every, names))
		}
	}

	// json escapes <, > and &, so nothing in a name can end the element.
	data, err := json.Marshal(object{"experiments", experiments, "names", stringArray(names.List())})
	if err != nil {
		panic("report: pack page data: " + err.Error()) // the values are plain, so this package is wrong
	}

	return data
}

// selection is the conditions of an experiment that a page explores.
type selection struct {
	conditions []int
	place      map[int]int // the index in conditions of each condition
}

// selectRuns selects the conditions of every n-th run that d shows, or every n-th condition if d shows few runs.
func (d *Detail) selectRuns(n int) selection {
	// Runs are numbered anew, because d shows only some of the experiment's.
	runs, distinct := lists.Index(d.Run)
	number := make([]int, d.conditionCount()) // by condition, of its run
	for row, c := range d.Cond {
		number[c] = runs[row]
	}

	if len(distinct) < 2*n {
		for c := range number {
			number[c] = c
		}
	}

	selected := selection{conditions: []int{}, place: map[int]int{}}
	for c := range d.conditionCount() {
		if number[c]%n == 0 {
			selected.place[c] = len(selected.conditions)
			selected.conditions = append(selected.conditions, c)
		}
	}

	return selected
}

// newExplored returns the object of experiment i, with the conditions of every n-th run, where every is n:
//
//   - "id" is the ID of its section of the page; "name", "data" and "pairs" are those of the experiment;
//   - "inputs" and "outcomes" are objects of exploredQuantities, and "splits" of newExploredSplit;
//   - "all" and "n" are the numbers of all conditions and of the selected conditions;
//   - "values" has the distinct values of each input, and "x" the index of the value, by condition and input;
//   - "row" has the selected condition of each triplet, "run" the number of its run's name, and "y" its y1 and y2, by
//     outcome;
//   - "bound" has a byte for each triplet and outcome, if a value is an upper bound: 1 if y1 is one, and 2 if y2 is;
//   - "spectra" is the object of newExploredSpectra, if there are spectra.
func newExplored(i int, detail *Detail, every int, names *figure.Names) object {
	selected := detail.selectRuns(every)

	var values [][]float64
	var written [][]numbers.Float // JSON has no NaN and no infinite number, for which numbers.Float writes null
	for k := range detail.inputCount() {
		values = append(values, detail.values(k))
		written = append(written, []numbers.Float{})
		for _, value := range values[k] {
			written[k] = append(written[k], numbers.Float(value))
		}
	}

	var index []int
	for _, c := range selected.conditions {
		for k := range detail.Inputs {
			place, _ := slices.BinarySearch(values[k], detail.x(c, k))
			index = append(index, place)
		}
	}

	pairs := newExploredPairs(detail, selected, names)

	splits := []object{}
	for _, split := range detail.Splits {
		splits = append(splits, newExploredSplit(detail, split, selected))
	}

	explored := object{
		"id", sectionID(i), "name", clean(detail.Experiment.Name), "data", clean(detail.Experiment.Data),
		"pairs", clean(detail.Experiment.Pairs),
		"inputs", exploredQuantities(detail.Inputs), "outcomes", exploredQuantities(detail.Outcomes),
		"all", detail.AllConditions, "n", len(selected.conditions), "values", written, "x", packIndices(index),
		"row", packIndices(pairs.places), "run", pack(pairs.runs), "y", packFloats(pairs.values), "splits", splits,
	}

	if detail.Bound1 != nil {
		explored = append(explored, "bound", base64.StdEncoding.EncodeToString(pairs.bounds))
	}

	if spectra := newExploredSpectra(detail, selected); spectra != nil {
		explored = append(explored, "spectra", spectra)
	}

	return explored
}

// exploredQuantities returns the objects of quantities: name "n", label "l", word "w", unit "u", and the units of a
// difference "d" and of a variance "s".
func exploredQuantities(list []Quantity) []object {
	explored := []object{}
	for _, q := range list {
		explored = append(explored, object{
			"n", clean(q.Name), "l", q.Label(), "w", q.Word(), "u", clean(q.Unit), "d", q.difference(), "s", q.square(),
		})
	}

	return explored
}

// exploredPairs are triplets of selected conditions.
type exploredPairs struct {
	places []int     // by triplet: the index of its condition in the selection
	runs   []uint32  // by triplet: the number of its run's name
	values []float64 // y1 and y2, by triplet and outcome
	bounds []byte    // by triplet and outcome: which of both values are upper bounds
}

// newExploredPairs returns up to twelve triplets of each selected condition. It numbers the names of their runs in
// names.
func newExploredPairs(detail *Detail, selected selection, names *figure.Names) exploredPairs {
	const most = 12
	var pairs exploredPairs

	taken := map[int]int{} // number of triplets, by condition
	for row, c := range detail.Cond {
		place, ok := selected.place[c]
		if !ok || taken[c] >= most {
			continue
		}

		taken[c]++
		pairs.places = append(pairs.places, place)
		pairs.runs = append(pairs.runs, uint32(names.Number(detail.runOf(row))))

		for k := range detail.Outcomes {
			i := row*detail.outcomeCount() + k
			pairs.values = append(pairs.values, detail.Y1[i], detail.Y2[i])
			pairs.bounds = append(pairs.bounds, detail.boundBits(i))
		}
	}

	return pairs
}

// boundBits returns 1 if y1 at place i of rows × outcomes is an upper bound, plus 2 if y2 is one.
func (d *Detail) boundBits(i int) byte {
	bits := byte(0)
	if isBound(d.Bound1, i) {
		bits++
	}

	if isBound(d.Bound2, i) {
		bits += 2
	}

	return bits
}

// newExploredSplit returns the object of a split:
//
//   - "test" is 1 for each selected condition that is held out and 0 for the others;
//   - "network" has the means over the seeds of μ "m", σ² "v" and C "c", by selected condition and outcome;
//   - "calibrated" has μ "m" and the half widths "h" of the intervals of "level" and "h68" of 68 %, by selected
//     condition that is held out, and outcome.
func newExploredSplit(detail *Detail, split SplitDetail, selected selection) object {
	test := make([]int, len(selected.conditions))
	var held []int // selected conditions that are held out
	for i, c := range selected.conditions {
		if split.Test[c] {
			test[i] = 1
			held = append(held, c)
		}
	}

	explored := object{"n", clean(split.Name), "held", clean(split.HeldOut), "test", packIndices(test)}
	packed := func(values []float64, conditions []int) string {
		return packFloats(lists.Rows(values, detail.outcomeCount(), conditions))
	}

	if calibrated := split.Calibrated; calibrated != nil {
		explored = append(explored, "calibrated", object{
			"m", packed(calibrated.Mu, held), "h", packed(calibrated.Half, held), "h68", packed(calibrated.Half68, held),
			"level", calibrated.Level,
		})
	}

	if len(split.Seeds) > 0 {
		mu, variance := split.answers()
		explored = append(explored, "network", object{
			"m", packed(mu, selected.conditions), "v", packed(variance, selected.conditions),
			"c", packed(split.covariances(), selected.conditions),
		})
	}

	return explored
}

// exploredSpectra is the number of spectra that a page has at most for exploring.
const exploredSpectra = 2000

// newExploredSpectra returns the object of up to exploredSpectra spectra of selected conditions:
//
//   - "at" has the condition of each spectrum, and "to" its highest frequency in Hz;
//   - "line" has its "lines" harmonics in Hz;
//   - "level" has its "points" levels, a byte each, in half decibels above "offset", which is in dB;
//   - "unit" is the unit of the levels, and "bin" the width of a bin in Hz.
//
// newExploredSpectra returns nil if there are no spectra.
func newExploredSpectra(detail *Detail, selected selection) object {
	if detail.Shown == nil || len(detail.Spectra) == 0 {
		return nil
	}

	offset := offsetOfSpectra(detail.Spectra)
	first := detail.Spectra[0] // all spectra have as many intervals; missing lines are NaN
	var places []int
	var highest, lines []float64
	var levels []byte
	for _, spectrum := range detail.Spectra {
		place, isSelected := selected.place[detail.Cond[spectrum.Row]]
		if !isSelected || len(places) >= exploredSpectra {
			continue
		}

		places = append(places, place)
		highest = append(highest, spectrum.ToHz)
		for k := range first.Line {
			line := math.NaN()
			if k < len(spectrum.Line) {
				line = float64(spectrum.Line[k])
			}

			lines = append(lines, line)
		}

		for _, peak := range spectrum.Peak {
			level := math.Round(2 * (float64(peak) - offset))
			levels = append(levels, byte(max(0, min(255, level))))
		}
	}

	if len(places) == 0 {
		return nil
	}

	return object{
		"at", packIndices(places), "to", packFloats(highest), "line", packFloats(lines),
		"lines", len(first.Line), "points", len(first.Peak),
		"level", base64.StdEncoding.EncodeToString(levels), "offset", offset, "unit", clean(detail.Shown.Unit),
		"bin", detail.Shown.BinHz,
	}
}

// offsetOfSpectra returns the level in dB that a byte of 0 stands for. The largest level of the spectra is at most
// 127 dB above it, and a byte reaches 127.5 dB in half decibels.
func offsetOfSpectra(spectra []Spectrum) float64 {
	top := math.Inf(-1)
	for _, spectrum := range spectra {
		for _, peak := range spectrum.Peak {
			top = math.Max(top, float64(peak))
		}
	}

	return math.Ceil(top) - 127
}
