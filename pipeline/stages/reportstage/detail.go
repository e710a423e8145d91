package reportstage

import (
	"doubletake/dsp"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// What the page shows at most; beyond, an even selection, so that the page stays
// small whatever the campaign.
const (
	pageConditions = 3000
	pageRows       = 4000
)

// detail makes the plain values of the page from the experiment's tables.
type detail struct {
	tab *table.Table // triplets
	set triplets.Set
	d   *report.Detail

	noiseBins float64 // noise bandwidth of the window of the spectra, bins

	// The page shows conditions at their set points: of each row the number of its own, and all of them.
	condition []int
	points    []float64

	keepC map[int]int    // condition → its place in the detail
	rowOf map[string]int // recording → row
}

func newDetail(tab *table.Table, set triplets.Set) *detail {
	d := &detail{
		tab: tab, set: set, d: &report.Detail{}, keepC: map[int]int{}, rowOf: map[string]int{},
		noiseBins: dsp.NoiseBins(dsp.DefaultWindow),
	}

	if d.condition, d.points = set.Condition, set.Distinct; set.SetPoints != nil {
		d.condition, d.points = triplets.Index(set.SetPoints, set.In)
	}

	quantity := func(q triplets.Quantity) report.Quantity { return report.Quantity{Name: q.Name, Unit: q.Unit} }
	d.d.Inputs, d.d.Outcomes = lists.Each(set.Inputs, quantity), lists.Each(set.Outcomes, quantity)
	d.d.AllRows, d.d.AllConditions, d.d.Runs = set.N, d.conditions(), set.Runs
	d.choose()
	d.rows()

	return d
}

// conditions is how many conditions there are.
func (d *detail) conditions() int {
	if d.set.In == 0 {
		return d.set.Conditions()
	}

	return len(d.points) / d.set.In
}

// choose selects the conditions that the page shows.
func (d *detail) choose() {
	set, conditions := d.set, d.conditions()

	// Too many conditions: every so many runs, whole, so that each run shown has
	// all its microphones.
	stride := (conditions + pageConditions - 1) / pageConditions

	keep := make([]bool, conditions)
	if stride > 1 && len(set.Runs) < 2*stride { // few runs with very many conditions each: thin the conditions
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
			d.keepC[c] = len(d.keepC)
			d.d.X = append(d.d.X, d.points[c*set.In:(c+1)*set.In]...)
		}
	}
}

// rows selects the triplets that the page shows of the chosen conditions, and
// averages all of them.
func (d *detail) rows() {
	set, outs := d.set, d.set.Out
	perCondition := make([]int, d.conditions())

	total := 0
	for _, c := range d.condition {
		if _, ok := d.keepC[c]; ok {
			perCondition[c]++
			total++
		}
	}

	every := max(1, (total+pageRows-1)/pageRows)
	seen := make([]int, d.conditions())

	d.d.Mean = make([]float64, len(d.keepC)*outs)
	for i, c := range d.condition {
		at, ok := d.keepC[c]
		if !ok {
			continue
		}

		for k := range outs {
			d.d.Mean[at*outs+k] += (set.Y1[i*outs+k] + set.Y2[i*outs+k]) / float64(2*perCondition[c])
		}

		seen[c]++

		if (seen[c]-1)%every != 0 {
			continue
		}

		d.rowOf[set.Recording[i]] = len(d.d.Cond)
		d.d.Cond, d.d.Run = append(d.d.Cond, at), append(d.d.Run, set.Run[i])
		d.d.Y1 = append(d.d.Y1, set.Y1[i*outs:(i+1)*outs]...)
		d.d.Y2 = append(d.d.Y2, set.Y2[i*outs:(i+1)*outs]...)
	}
}

// split starts the detail of one split.
func (d *detail) split(s config.Split) *report.SplitDetail {
	d.d.Splits = append(d.d.Splits, report.SplitDetail{Name: s.Name, HeldOut: s.Test.String()})
	return &d.d.Splits[len(d.d.Splits)-1]
}

// seed adds one seed's answers, one row for each triplet, to a split; set is split by its rule.
func (d *detail) seed(sp *report.SplitDetail, set triplets.Set, a triplets.Answers, train, test score.Set) {
	n := len(d.d.X) / set.In
	if sp.Test == nil {
		sp.Test = make([]bool, n)
	}

	rows := make([]int, n) // a triplet of each condition: all of them have the same answers
	for i, c := range d.condition {
		if at, ok := d.keepC[c]; ok {
			rows[at] = i
			sp.Test[at] = sp.Test[at] || set.Part[i] == triplets.Test
		}
	}

	shown := a.Rows(rows, set.Out)
	sp.Seeds = append(sp.Seeds, report.SeedDetail{Mu: shown.Mu, Var: shown.Var, Cov: shown.Cov})

	if !test.Couples {
		e := score.MeasuredError(test)
		cluster := lists.Make(len(e), func(i int) int { return test.Run[i/test.Out] })
		sp.Bins = append(sp.Bins, lists.Each(score.CalibrateCov(test.Cov, e, cluster, 0).Bins,
			func(c score.CalibrationBin) report.Bin { return report.Bin{Cov: c.MeanCov, E: c.MeanE, SE: c.SE} }))
	}

	for i, part := range []score.Set{train, test} {
		sp.Coverage[i].Nominal = nominal
		sp.Coverage[i].Observed = append(sp.Coverage[i].Observed, score.Coverage(part, nominal))
	}
}

// nominal are the probabilities at which coverage is counted.
var nominal = func() []float64 {
	var p []float64
	for k := 1; k < 20; k++ {
		p = append(p, float64(k)/20)
	}

	return append(p, 0.99)
}()
