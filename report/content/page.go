// Package content makes the content of an experiment's report from typed results: it judges what was trained on each
// split, and selects the data that the page shows.
//
// The package knows no configuration and no tasks. Its caller reads the tables and says what was trained.
package content

import (
	"doubletake/ingest/table"
	"doubletake/report"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Sizes up to which the page shows all data. It shows an even selection of larger data, so that the page stays small.
const (
	pageConditions = 3000
	pageRows       = 4000
)

// Data collects the data of the page, a report.Detail, from the experiment's tables.
type Data struct {
	tab  *table.Table   // table of triplets
	set  triplets.Set   // the set of tab
	page *report.Detail // what the page shows

	noiseBins float64 // noise bandwidth of the window of the spectra in bins

	// The page shows conditions at their set points, if they have some.
	condition []int     // by row of set: the number of its condition
	points    []float64 // inputs of all conditions, row-major

	placeOf   map[int]int    // place in page of each condition that the page shows
	shownRows []int          // rows of set that the page shows, in order
	rowOf     map[string]int // row in page of each recording that the page shows
}

// NewData returns the data with the conditions and the rows that the page shows of a set, which was read from a table
// of triplets. noiseBins is the noise bandwidth of the window of the spectra in bins.
func NewData(tab *table.Table, set triplets.Set, noiseBins float64) *Data {
	d := &Data{
		tab: tab, set: set, page: &report.Detail{}, placeOf: map[int]int{}, rowOf: map[string]int{}, noiseBins: noiseBins,
	}

	d.condition = set.Condition
	d.points = set.Distinct
	if set.SetPoints != nil {
		d.condition, d.points = triplets.Index(set.SetPoints, set.In)
	}

	d.page.Inputs = quantities(set.Inputs)
	d.page.Outcomes = quantities(set.Outcomes)
	d.page.AllRows = set.N
	d.page.AllConditions = d.conditions()
	d.page.Runs = set.Runs
	d.chooseConditions()
	d.chooseRows()
	d.addBounds(boundsOf(tab, set))

	return d
}

// Detail returns what the page shows.
func (d *Data) Detail() *report.Detail { return d.page }

// quantities returns the names and units of a list of quantities.
func quantities(list []triplets.Quantity) (named []report.Quantity) {
	for _, q := range list {
		named = append(named, report.Quantity{Name: q.Name, Unit: q.Unit})
	}

	return named
}

// conditions returns the number of conditions.
func (d *Data) conditions() int {
	if d.set.In == 0 {
		return d.set.Conditions()
	}

	return len(d.points) / d.set.In
}

// chooseConditions selects the conditions that the page shows, and stores them in d.page.X. If there are too many, it
// selects every stride-th run with all its microphones. If there are only few runs with very many conditions each, it
// selects every stride-th condition.
func (d *Data) chooseConditions() {
	set := d.set
	conditions := d.conditions()
	stride := (conditions + pageConditions - 1) / pageConditions

	keep := make([]bool, conditions)
	if stride > 1 && len(set.Runs) < 2*stride {
		for c := 0; c < conditions; c += stride {
			keep[c] = true
		}
	} else {
		for i, c := range d.condition {
			keep[c] = keep[c] || set.Run[i]%max(1, stride) == 0
		}
	}

	for c := range conditions {
		if keep[c] {
			d.placeOf[c] = len(d.placeOf)
			d.page.X = append(d.page.X, d.points[c*set.In:(c+1)*set.In]...)
		}
	}
}

// chooseRows selects an even part of the triplets at the chosen conditions, which the page shows. It also stores the
// mean outcomes of each chosen condition, over all its triplets.
func (d *Data) chooseRows() {
	set := d.set
	outs := set.Out
	perCondition := make([]int, d.conditions())

	total := 0
	for _, c := range d.condition {
		if _, ok := d.placeOf[c]; ok {
			perCondition[c]++
			total++
		}
	}

	every := max(1, (total+pageRows-1)/pageRows)
	seen := make([]int, d.conditions())

	d.page.Mean = make([]float64, len(d.placeOf)*outs)
	for i, c := range d.condition {
		place, kept := d.placeOf[c]
		if !kept {
			continue
		}

		for k := range outs {
			d.page.Mean[place*outs+k] += (set.Y1[i*outs+k] + set.Y2[i*outs+k]) / float64(2*perCondition[c])
		}

		seen[c]++

		if (seen[c]-1)%every != 0 {
			continue
		}

		d.rowOf[set.Recording[i]] = len(d.page.Cond)
		d.shownRows = append(d.shownRows, i)
		d.page.Cond = append(d.page.Cond, place)
		d.page.Run = append(d.page.Run, set.Run[i])
		d.page.Y1 = append(d.page.Y1, set.Y1[i*outs:(i+1)*outs]...)
		d.page.Y2 = append(d.page.Y2, set.Y2[i*outs:(i+1)*outs]...)
	}
}

// addSplit adds an empty detail of one split and returns it. The pointer is valid until the next call.
func (d *Data) addSplit(split Split) *report.SplitDetail {
	d.page.Splits = append(d.page.Splits, report.SplitDetail{Name: split.Name, HeldOut: split.Test.String()})
	return &d.page.Splits[len(d.page.Splits)-1]
}

// addSeed adds one seed's answers to the detail of a split. set is divided by the split; answers has one row for each
// of its triplets; train and test are its parts with the answers.
func (d *Data) addSeed(sp *report.SplitDetail, set triplets.Set, answers triplets.Answers, train, test score.Set) {
	n := len(d.placeOf)
	if sp.Test == nil {
		sp.Test = make([]bool, n)
	}

	// The page shows the answers at the last triplet of each condition. At a set point, the answers at its triplets differ
	// a little, because the network sees the measured values.
	rows := make([]int, n) // the last triplet, by place in the page
	for i, c := range d.condition {
		if place, kept := d.placeOf[c]; kept {
			rows[place] = i
			sp.Test[place] = sp.Test[place] || set.Part[i] == triplets.Test
		}
	}

	shown := answers.Rows(rows, set.Out)
	sp.Seeds = append(sp.Seeds, report.SeedDetail{Mu: shown.Mu, Var: shown.Var, Cov: shown.Cov})

	if !test.Couples {
		sp.Bins = append(sp.Bins, calibrationBins(test))
	}

	for i, part := range []score.Set{train, test} {
		sp.Coverage[i].Nominal = nominal
		sp.Coverage[i].Observed = append(sp.Coverage[i].Observed, score.Coverage(part, nominal))
	}
}

// calibrationBins returns the mean measured error and its standard error in bins of the predicted covariance C.
func calibrationBins(test score.Set) (bins []report.Bin) {
	measured := score.MeasuredError(test)
	runs := make([]int, len(measured))
	for i := range runs {
		runs[i] = test.Run[i/test.Out]
	}

	for _, b := range score.CalibrateCov(test.Cov, measured, runs, 0).Bins {
		bins = append(bins, report.Bin{Cov: b.MeanCov, E: b.MeanE, SE: b.SE})
	}

	return bins
}

// nominal lists the probabilities at which coverage is counted: 0.05, 0.1, …, 0.95 and 0.99.
var nominal = probabilities()

// probabilities returns the value of nominal.
func probabilities() []float64 {
	var p []float64
	for k := 1; k < 20; k++ {
		p = append(p, float64(k)/20)
	}

	return append(p, 0.99)
}
