package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"doubletake/report/figure"
)

// JointFigures returns the figures that show several experiments of one report
// side by side, as files.
func JointFigures(details []*Detail) []FigureFile {
	return filesOf(joints(details, inFiles))
}

// kind is what experiments must agree in to be drawn side by side.
func (d *Detail) kind() string {
	if d.in() != 1 || d.dim() == 0 {
		return ""
	}

	var s []string
	for _, q := range append(slices.Clone(d.Inputs), d.Outcomes...) {
		s = append(s, q.Name+"\x00"+q.Unit)
	}

	return strings.Join(s, "\x01")
}

// profile is the first curve of the split of that name, nil without one.
func (d *Detail) profile(split string) (*SplitDetail, *Profile) {
	for i := range d.Splits {
		if s := &d.Splits[i]; s.Name == split && len(s.Profiles) > 0 {
			return s, &s.Profiles[0]
		}
	}

	return nil, nil
}

// joints draws experiments that ask for the same outcomes along the same single
// input side by side, a figure per split they have in common: the toy for
// several noise levels, couples against triplets.
func joints(details []*Detail, of amount) []plot {
	var kinds [][]*Detail
	for _, d := range details {
		if d.kind() == "" || len(d.Splits) == 0 {
			continue
		}

		at := slices.IndexFunc(kinds, func(k []*Detail) bool { return k[0].kind() == d.kind() })
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, nil)
		}

		kinds[at] = append(kinds[at], d)
	}

	m := &maker{limit: of.points, every: of.every}
	for _, list := range kinds {
		onPage := true
		for _, s := range list[0].Splits {
			with := slices.DeleteFunc(slices.Clone(list), func(d *Detail) bool {
				_, p := d.profile(s.Name)
				return p == nil
			})

			if len(with) < 2 {
				continue
			}

			for outcome := range list[0].Outcomes {
				m.joint(with, s.Name, outcome, onPage && outcome == 0)
			}

			onPage = false
		}
	}

	return m.out
}

// jointPanels bounds the experiments of one figure.
const jointPanels = 8

// joined is what the panels of a joint figure have in common.
type joined struct {
	split   string
	outcome int
	q       Quantity // the outcome
	along   Quantity
	mixed   bool // some of the data are simulated, others not

	lo, hi, most   float64 // range of the outcome; largest σ
	none           int     // places with C ≤ 0
	couples, known bool    // of some experiment: couples; the law of the data
}

func (m *maker) joint(list []*Detail, split string, outcome int, onPage bool) {
	all := len(list)
	list = list[:min(all, jointPanels)]
	var named []string

	simulated := 0
	for _, d := range list {
		named = append(named, clean(d.Experiment.Name))
		if d.Experiment.Data == "simulated" {
			simulated++
		}
	}

	first := list[0]
	m.d = &Detail{
		Experiment: Experiment{Name: strings.Join(named, ", "), Data: first.Experiment.Data},
		Inputs:     first.Inputs, Outcomes: first.Outcomes,
	}

	j := &joined{
		split: split, outcome: outcome, q: first.Outcomes[outcome], along: first.Inputs[0],
		mixed: simulated > 0 && simulated < len(list), lo: math.Inf(1), hi: math.Inf(-1),
	}

	if j.mixed {
		m.d.Experiment.Data = "partly simulated"
	}

	f := &figure.Figure{Columns: 2, Width: 720}
	for _, d := range list {
		left, right := m.jointPanel(d, j)
		f.Panels = append(f.Panels, left, right)
	}

	if !(j.hi > j.lo) {
		return
	}

	for i := range f.Panels {
		if i%2 == 0 {
			f.Panels[i].Y.Min, f.Panels[i].Y.Max = j.lo-0.04*(j.hi-j.lo), j.hi+0.04*(j.hi-j.lo)
		} else {
			f.Panels[i].Y.Max = 1.1 * j.most
		}
	}

	m.add(plot{
		kind: "joint-" + j.q.Name + "-along-" + j.along.Name, split: split,
		heading: "Side by side: " + j.q.Word() + " along " + j.along.Word(),
		fig:     f, page: onPage,
		caption: text("figure-joint", map[string]any{
			"What": sentence(j.q.Word()), "Along": j.along.Word(), "N": len(list), "All": all, "Known": j.known,
			"Couples": j.couples, "None": j.none > 0, "Seeds": len(first.Splits[0].Seeds),
		}),
	})
}

// jointPanel returns the panels of one experiment, its outcomes with bands and its
// deviations, and takes their ranges into j.
func (m *maker) jointPanel(d *Detail, j *joined) (left, right figure.Panel) {
	s, p := d.profile(j.split)
	c := p.curve(j.outcome, d.dim(), m.every)
	left, right = (&maker{d: d, limit: m.limit}).outcomePanels(s, p, j.outcome, c,
		c.band("mean ± 2√(σ² − C), aleatoric", "total", func(i int) float64 { return 2 * c.aleatoric(i) }),
		c.band("mean ± 2√C, epistemic", "epi", func(i int) float64 { return 2 * c.epistemic(i) }))

	title := cmp.Or(d.Variant, d.Experiment.Name)
	if j.mixed {
		title += " (" + clean(d.Experiment.Data) + ")"
	}

	left.Title, right.Title = clean(title), clean(title)+", deviations"
	left.Height, right.Height = 150, 150
	if c.mean != nil {
		left.Marks = append(left.Marks, figure.Mark{
			Kind: figure.Line, Name: "mean the data were made with", Class: "aux",
			Dashed: true, Thin: true, X: c.grid, Y: c.mean,
		})
	}

	j.extend(left.Marks, c)
	j.known = j.known || c.mean != nil || c.noise != nil
	j.couples = j.couples || d.Experiment.Couples

	return left, right
}

// extend takes the measured values and the answers near them into the range of the
// figure; curves far outside of the data are cut off.
func (j *joined) extend(marks []figure.Mark, c curve) {
	near := [2]float64{math.Inf(1), math.Inf(-1)}
	for _, mk := range marks {
		if mk.Kind != figure.Points {
			continue
		}

		for i, y := range mk.Y {
			j.lo, j.hi = math.Min(j.lo, y), math.Max(j.hi, y)
			near[0], near[1] = math.Min(near[0], mk.X[i]), math.Max(near[1], mk.X[i])
		}
	}

	for i, v := range c.grid {
		if c.co[i] <= 0 {
			j.none++
		}

		if v < near[0] || v > near[1] {
			continue
		}

		w := 2 * math.Max(c.aleatoric(i), math.Max(c.epistemic(i), 0))
		if !math.IsNaN(w) {
			j.lo, j.hi = math.Min(j.lo, c.mu[i]-w), math.Max(j.hi, c.mu[i]+w)
		}

		j.most = math.Max(j.most, c.total(i))
	}
}
