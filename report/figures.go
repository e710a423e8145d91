package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"doubletake/report/figure"
)

// FigureFile is one figure as files: a complete SVG, and its numbers as CSV.
type FigureFile struct {
	File     string // name without extension, safe in any file system
	SVG, CSV []byte
}

// plot is a figure with its caption.
type plot struct {
	file, split string
	heading     string
	caption     string
	fig         *figure.Figure
	page        bool // also on the page; the others are files only
}

// amount is how much of the data is drawn.
type amount struct {
	points  int // of one series, beyond which an even selection is drawn
	every   int // of the points of a curve, one in so many
	numbers int // of the models' answers held in the page for exploring
}

// Files have all points that can be distinguished.
var inFiles = amount{points: 1500, every: 1}

// On the page as much as keeps it below pageBytes: the first that does.
var onPage = []amount{{110, 1, 270_000}, {80, 2, 180_000}, {50, 3, 90_000}, {30, 4, 40_000}}

// pageBytes is what a page should not exceed.
const pageBytes = 3_000_000

// Figures returns the experiment's figures as files, in the order of the page.
func Figures(d *Detail) []FigureFile {
	return filesOf(plots(d, inFiles))
}

func filesOf(list []plot) []FigureFile {
	var out []FigureFile
	for _, p := range list {
		out = append(out, FigureFile{File: p.file, SVG: figure.Draw(p.fig, figure.Options{}), CSV: p.fig.CSV()})
	}
	return out
}

func plots(d *Detail, of amount) []plot {
	return (&maker{d: d, limit: of.points, every: of.every}).plots()
}

func (m *maker) plots() []plot {
	d := m.d
	for i := range d.Splits {
		m.split(&d.Splits[i])
	}
	m.calibrations()
	m.spectrum()
	m.levels()
	m.series()
	m.drift()
	return m.out
}

type maker struct {
	d     *Detail
	limit int
	every int
	polar bool // directivities are polar
	out   []plot
	used  map[string]bool
}

// add finishes a figure: names, note, simulated in the title.
func (m *maker) add(p plot) {
	name := p.file
	if p.split != "" {
		name = p.split + "-" + p.file
	}
	p.file = fileName(name)
	if m.used == nil {
		m.used = map[string]bool{}
	}
	for k, base := 2, p.file; m.used[p.file]; k++ {
		p.file = base + "-" + strconv.Itoa(k)
	}
	m.used[p.file] = true
	p.fig.ID = "f-" + fileName(m.d.Experiment.Name) + "-" + p.file
	title := clean(m.d.Experiment.Name) + ": " + p.heading
	if m.d.Experiment.Data != "" && m.d.Experiment.Data != "measured" {
		title = strings.ToUpper(m.d.Experiment.Data[:1]) + clean(m.d.Experiment.Data[1:]) + " data, " + title
		p.heading += " (" + clean(m.d.Experiment.Data) + " data)"
		p.fig.Note = strings.ToUpper(m.d.Experiment.Data[:1]) + clean(m.d.Experiment.Data[1:]) + " data."
	}
	if p.split != "" {
		title += ", split " + clean(p.split)
	}
	p.fig.Title, p.fig.Desc = title, p.caption
	m.out = append(m.out, p)
}

// fileName keeps letters, digits, hyphens, dots and underscores of any script's
// ASCII part; the rest becomes a hyphen. Long names are cut.
func fileName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_') || r == '.' && b.Len() > 0 ||
			r == '=' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		if b.Len() >= 100 {
			break
		}
	}
	out := strings.Trim(b.String(), "-.")
	if out == "" {
		return "x"
	}
	return strings.ReplaceAll(out, "=", "-")
}

// data is the kind of the outcomes, as figures name it.
func (d *Detail) data() string {
	if d.Experiment.Data == "" {
		return "measured"
	}
	return clean(d.Experiment.Data)
}

func (d *Detail) in() int  { return len(d.Inputs) }
func (d *Detail) dim() int { return len(d.Outcomes) }
func (d *Detail) conditions() int {
	if d.in() == 0 {
		return 0
	}
	return len(d.X) / d.in()
}
func (d *Detail) x(c, k int) float64 { return d.X[c*d.in()+k] }

// values are the distinct values of input k, ascending.
func (d *Detail) values(k int) []float64 {
	var v []float64
	for c := range d.conditions() {
		v = append(v, d.x(c, k))
	}
	slices.Sort(v)
	return slices.Compact(v)
}

// overSeeds is the mean over seeds of one of the models' answers.
func (s *SplitDetail) overSeeds(get func(SeedDetail) []float64) []float64 {
	if len(s.Seeds) == 0 {
		return nil
	}
	out := make([]float64, len(get(s.Seeds[0])))
	for _, seed := range s.Seeds {
		for i, v := range get(seed) {
			out[i] += v / float64(len(s.Seeds))
		}
	}
	return out
}

func root(v float64) float64 {
	if v <= 0 {
		return 0
	}
	return math.Sqrt(v)
}

// epistemic is √C, NaN where C ≤ 0: there is no interval then.
func epistemic(c float64) float64 {
	if c <= 0 {
		return math.NaN()
	}
	return math.Sqrt(c)
}

// aleatoric is what remains of the total deviation: √(σ² − C); where C ≤ 0 all
// of it, where C > σ² NaN.
func aleatoric(v, c float64) float64 {
	if c > v {
		return math.NaN()
	}
	return math.Sqrt(v - math.Max(0, c))
}

// thin picks at most n of a list of indices, evenly.
func thin(list []int, n int) []int {
	if len(list) <= n || n < 1 {
		return list
	}
	out := make([]int, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

func (m *maker) split(s *SplitDetail) {
	if len(s.Seeds) == 0 {
		return
	}
	if angle := m.d.angle(); angle >= 0 {
		m.directivities(s, angle)
	}
	if len(s.Profiles) > 0 {
		m.profiles(s)
	}
	m.bandLevels(s)
	m.maps(s)
	m.calibration(s)
	m.parity(s)
	m.training(s)
}

func number6(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'g', 6, 64), "-", "−", 1)
}

// place writes the values of some inputs.
func place(q []Quantity, at []float64, which []int) string {
	var s []string
	for _, k := range which {
		if q[k].Name == "blades" {
			s = append(s, number6(at[k])+" blades")
			continue
		}
		t := q[k].Word() + " " + number6(at[k])
		if q[k].Unit != "" {
			t += " " + clean(q[k].Unit)
		}
		s = append(s, t)
	}
	return strings.Join(s, ", ")
}

func others(n int, but ...int) []int {
	var out []int
	for k := range n {
		if !slices.Contains(but, k) {
			out = append(out, k)
		}
	}
	return out
}

// thin is the profile at one in so many points of its grid.
func (p *Profile) thin(every, dim int) *Profile {
	if every <= 1 {
		return p
	}
	pick := func(v []float64, width int) []float64 {
		if v == nil {
			return nil
		}
		var out []float64
		n := len(p.Grid)
		for i := 0; i < n; i += every {
			out = append(out, v[i*width:(i+1)*width]...)
		}
		if (n-1)%every != 0 { // the end stays where it is
			out = append(out, v[(n-1)*width:]...)
		}
		return out
	}
	q := *p
	q.Grid, q.TrueMean, q.TrueSigma = pick(p.Grid, 1), pick(p.TrueMean, dim), pick(p.TrueSigma, dim)
	q.Mu, q.Var, q.Cov = nil, nil, nil
	for k := range p.Mu {
		q.Mu, q.Var, q.Cov = append(q.Mu, pick(p.Mu[k], dim)), append(q.Var, pick(p.Var[k], dim)),
			append(q.Cov, pick(p.Cov[k], dim))
	}
	return &q
}

// overSeeds are the means over seeds of μ, σ² and C of one of dim outcomes.
func (p *Profile) overSeeds(outcome, dim int) (mu, va, co []float64) {
	n := len(p.Grid)
	mu, va, co = make([]float64, n), make([]float64, n), make([]float64, n)
	w := 1 / float64(len(p.Mu))
	for k := range p.Mu {
		for i := range n {
			mu[i] += w * p.Mu[k][i*dim+outcome]
			va[i] += w * p.Var[k][i*dim+outcome]
			co[i] += w * p.Cov[k][i*dim+outcome]
		}
	}
	return mu, va, co
}

// law is one outcome of the law simulated data were made with, nil where it is
// not known.
func law(v []float64, outcome, dim int) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, len(v)/dim)
	for i := range out {
		out[i] = v[i*dim+outcome]
	}
	return out
}

// curve is one outcome of a profile, means over the seeds.
type curve struct{ grid, mu, va, co []float64 }

func (p *Profile) curve(outcome, dim int) curve {
	mu, va, co := p.overSeeds(outcome, dim)
	return curve{p.Grid, mu, va, co}
}

// The deviations at point i.
func (c curve) total(i int) float64     { return root(c.va[i]) }
func (c curve) aleatoric(i int) float64 { return aleatoric(c.va[i], c.co[i]) }
func (c curve) epistemic(i int) float64 { return epistemic(c.co[i]) }

// band is the mean ± half.
func (c curve) band(name, class string, half func(i int) float64) figure.Mark {
	b := figure.Mark{Kind: figure.Band, Name: name, Class: class, X: c.grid}
	for i := range c.grid {
		b.Lo, b.Hi = append(b.Lo, c.mu[i]-half(i)), append(b.Hi, c.mu[i]+half(i))
	}
	return b
}

func (c curve) line(name, class string, dashed bool, y func(i int) float64) figure.Mark {
	mk := figure.Mark{Kind: figure.Line, Name: name, Class: class, Dashed: dashed, X: c.grid}
	for i := range c.grid {
		mk.Y = append(mk.Y, y(i))
	}
	return mk
}

// deviations are the total deviation and its two parts.
func (c curve) deviations() []figure.Mark {
	return []figure.Mark{
		c.line("σ, total", "mean", false, c.total),
		c.line("√(σ² − C), aleatoric", "floor", true, c.aleatoric),
		c.line("√C, epistemic", "epi", false, c.epistemic),
	}
}

// noiseOfData is the deviation sd that simulated data were made with.
func (c curve) noiseOfData(sd []float64) figure.Mark {
	return c.line("noise the data were made with", "aux", true, func(i int) float64 { return sd[i] })
}

// trainedOn marks the ranges trained on; it has none where nothing was.
func (p *Profile) trainedOn() figure.Mark {
	span := figure.Mark{Kind: figure.Span, Name: "range trained on", Class: "span"}
	for _, t := range p.Trained {
		span.Lo, span.Hi = append(span.Lo, t[0]), append(span.Hi, t[1])
	}
	return span
}

// profiles draws outcomes along one input: bands above, deviations in the middle,
// covariance below.
func (m *maker) profiles(s *SplitDetail) {
	d := m.d
	for outcome := range d.Outcomes {
		var above, middle, below []figure.Panel
		for i := range s.Profiles {
			up, spread, down := m.profile(s, s.Profiles[i].thin(m.every, d.dim()), outcome)
			above, middle, below = append(above, up), append(middle, spread), append(below, down)
		}
		alignProfiles(above, middle, below)
		along := d.Inputs[s.Profiles[0].Input].Word()
		caption := fmt.Sprintf("%s along %s. Above: mean, bands of one, two and three total standard deviations σ, the "+
			"epistemic band 2√C, and single %s outcomes. In the middle: the deviations they consist of. Below: the "+
			"covariance C of the model's two answers; where it is not positive there is no epistemic band. "+
			"The curves go 15 %% beyond the range of the data.", d.Outcomes[outcome].Word(), along, d.data()) + seedsText(s)
		if d.AllRows > len(d.Cond) || len(d.Cond) > m.limit {
			caption += " Of the outcomes an even selection is drawn."
		}
		if d.Experiment.Couples {
			caption += " Couples: one draw was used twice, so C estimates the total variance."
		}
		m.add(plot{
			file: "profile-" + d.Outcomes[outcome].Name, split: s.Name,
			heading: d.Outcomes[outcome].Word() + " along " + along, caption: caption,
			fig: &figure.Figure{
				Columns: len(s.Profiles), Width: 720, Panels: slices.Concat(above, middle, below),
			},
			page: outcome < 2,
		})
	}
}

// profile returns the three panels of one profile and outcome.
func (m *maker) profile(s *SplitDetail, p *Profile, outcome int) (up, spread, down figure.Panel) {
	d := m.d
	n, dim, q := len(p.Grid), d.dim(), d.Outcomes[outcome]
	c := p.curve(outcome, dim)
	title := place(d.Inputs, p.At, others(d.in(), p.Input))
	if title != "" && p.HeldOut {
		title += ", held out"
	}
	x := figure.Axis{Label: d.Inputs[p.Input].Axis(), Min: p.Grid[0], Max: p.Grid[n-1]}
	up = figure.Panel{Title: title, X: x, Y: figure.Axis{Label: q.Axis()}, Height: 240}
	spread = figure.Panel{X: x, Y: figure.Axis{Label: in("deviation", q.difference()), Zero: true}, Height: 110}
	down = figure.Panel{X: x, Y: figure.Axis{Label: in("covariance C", q.square())}, Height: 100}
	if span := p.trainedOn(); len(span.Lo) > 0 {
		for _, panel := range []*figure.Panel{&up, &spread, &down} {
			panel.Marks = append(panel.Marks, span)
		}
	}
	up.Marks = append(up.Marks,
		c.band("μ ± 3σ", "sigma3", func(i int) float64 { return 3 * c.total(i) }),
		c.band("μ ± 2σ", "sigma2", func(i int) float64 { return 2 * c.total(i) }),
		c.band("μ ± σ", "sigma1", c.total),
		c.band("μ ± 2√C, epistemic", "epi", func(i int) float64 { return 2 * c.epistemic(i) }))
	up.Marks = append(up.Marks, m.pairs(s, p, outcome)...)
	up.Marks = append(up.Marks, figure.Mark{Kind: figure.Line, Name: "mean μ", Class: "mean", X: p.Grid, Y: c.mu})
	spread.Marks = append(spread.Marks, c.deviations()...)
	if noise := law(p.TrueSigma, outcome, dim); noise != nil {
		spread.Marks = append(spread.Marks, c.noiseOfData(noise))
	}
	down.Marks = append(down.Marks, figure.Mark{Kind: figure.Rule, Class: "grey", Y: []float64{0}, Thin: true})
	for k := range p.Cov {
		mk := c.line("C of each seed", "epi", false, func(i int) float64 { return p.Cov[k][i*dim+outcome] })
		mk.Thin = true
		down.Marks = append(down.Marks, mk)
	}
	down.Marks = append(down.Marks, figure.Mark{
		Kind: figure.Line, Name: "C, mean over seeds", Class: "aux", X: p.Grid, Y: c.co,
	})
	return up, spread, down
}

// alignProfiles gives the panels of each row of a profile's figure one range.
func alignProfiles(above, middle, below []figure.Panel) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range above {
		for _, k := range p.Marks {
			if k.Kind == figure.Span {
				continue
			}
			for _, v := range slices.Concat(k.Lo, k.Hi, k.Y) {
				if !math.IsNaN(v) {
					lo, hi = math.Min(lo, v), math.Max(hi, v)
				}
			}
		}
	}
	top, bottom, most := math.Inf(-1), math.Inf(1), 0.0
	for i := range below {
		for _, k := range below[i].Marks {
			for _, v := range k.Y {
				top, bottom = math.Max(top, v), math.Min(bottom, v)
			}
		}
		for _, k := range middle[i].Marks {
			for _, v := range k.Y {
				if v > most { // NaN is not
					most = v
				}
			}
		}
	}
	pad := 0.03 * (hi - lo)
	for i := range above {
		above[i].Y.Min, above[i].Y.Max = lo-pad, hi+pad
		middle[i].Y.Max = 1.05 * most
		below[i].Y.Min, below[i].Y.Max = bottom-0.05*(top-bottom), top+0.05*(top-bottom)
	}
}

// pairs are the outcomes on a profile, y1 and y2.
func (m *maker) pairs(s *SplitDetail, p *Profile, outcome int) []figure.Mark {
	d := m.d
	var train, test []int
	for i, c := range d.Cond {
		ok := true
		for k := range d.Inputs {
			ok = ok && (k == p.Input || d.x(c, k) == p.At[k])
		}
		if !ok {
			continue
		}
		if s.Test[c] {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	var out []figure.Mark
	for k, list := range [][]int{train, test} {
		mk := figure.Mark{Kind: figure.Points, Name: d.data() + ", trained on", Class: "train", Size: 1.5}
		if k == 1 {
			mk.Name, mk.Class = d.data()+", held out", "test"
		}
		for _, i := range thin(list, 2*m.limit) {
			j := i*d.dim() + outcome
			x := d.x(d.Cond[i], p.Input)
			mk.X, mk.Y = append(mk.X, x, x), append(mk.Y, d.Y1[j], d.Y2[j])
		}
		if len(mk.X) > 0 {
			out = append(out, mk)
		}
	}
	return out
}

func (m *maker) spectrum() {
	s := m.d.Shown
	if s == nil {
		return
	}
	p := figure.Panel{Title: s.Fixed, X: figure.Axis{
		Label: "frequency f (Hz)", Min: 0,
		Max: s.BinHz * float64(len(s.Level[0])-1),
	}, Y: figure.Axis{Label: fmt.Sprintf("level L per bin of %s Hz (%s)",
		number6(s.BinHz), clean(s.Unit))}, Height: 300}
	if len(s.Lines[0]) > 0 {
		search := figure.Mark{Kind: figure.Span, Name: "searched for a harmonic", Class: "span"}
		for _, l := range s.Lines[0] {
			search.Lo, search.Hi = append(search.Lo, l.Search[0]-s.BinHz/2), append(search.Hi, l.Search[1]+s.BinHz/2)
		}
		p.Marks = append(p.Marks, search)
	}
	tones := s.tones()
	// The background lies under the halves' lines where it is one with them.
	if len(s.Background) > 0 {
		background := s.curve("background", "grey", s.Background)
		background.Dashed = true
		p.Marks = append(p.Marks, background)
	}
	p.Marks = append(p.Marks, s.halves()...)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, mk := range append(p.Marks, tones) {
		for _, v := range mk.Y {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	read, names := s.harmonics()
	p.Marks = append(p.Marks, read...)
	if len(tones.X) > 0 {
		p.Marks = append(p.Marks, tones)
	}
	p.Marks = append(p.Marks, names...)
	p.Y.Min, p.Y.Max = lo-2, hi+6
	heading := "Spectrum"
	if len(s.Lines[1]) > 0 {
		heading += " and its lines"
	}
	m.add(plot{
		file: "spectrum", heading: heading, caption: s.caption(),
		fig: &figure.Figure{Width: 720, Panels: []figure.Panel{p}}, page: true,
	})
}

// curve draws the levels of the bins that have power, but the first: the mean was
// taken out of every segment.
func (s *SpectrumDetail) curve(name, class string, level []float64) figure.Mark {
	mk := figure.Mark{Kind: figure.Line, Name: name, Class: class, Thin: true}
	for i, v := range level {
		if i > 0 && !math.IsInf(v, 0) {
			mk.X, mk.Y = append(mk.X, float64(i)*s.BinHz), append(mk.Y, v)
		}
	}
	return mk
}

// halves are both halves as the edges of a band, and their mean power.
func (s *SpectrumDetail) halves() []figure.Mark {
	first, second := s.curve("first half", "half", s.Level[0]), s.curve("second half", "half", s.Level[1])
	first.Quiet, second.Quiet = true, true
	band := figure.Mark{Kind: figure.Band, Name: "between the halves", Class: "total"}
	mean := figure.Mark{Kind: figure.Line, Name: "mean of both halves", Class: "mean", Thin: true}
	for i := 1; i < min(len(s.Level[0]), len(s.Level[1])); i++ {
		a, b := s.Level[0][i], s.Level[1][i]
		if math.IsInf(a, 0) || math.IsInf(b, 0) {
			continue
		}
		x := float64(i) * s.BinHz
		band.X, band.Lo, band.Hi = append(band.X, x), append(band.Lo, math.Min(a, b)), append(band.Hi, math.Max(a, b))
		mean.X = append(mean.X, x)
		mean.Y = append(mean.Y, 10*math.Log10((math.Pow(10, a/10)+math.Pow(10, b/10))/2))
	}
	return []figure.Mark{band, first, second, mean}
}

// tones are those of the background.
func (s *SpectrumDetail) tones() figure.Mark {
	mk := figure.Mark{Kind: figure.Points, Name: "tones of the background", Class: "train", Shape: "cross", Size: 3.5}
	if len(s.Background) == 0 {
		return mk
	}
	for _, l := range s.BackgroundTones {
		mk.X, mk.Y = append(mk.X, l.Hz), append(mk.Y, l.Level)
	}
	return mk
}

// harmonics are the marks of what was read off the second half, and the names of
// its lines; none without lines.
func (s *SpectrumDetail) harmonics() (read, names []figure.Mark) {
	if len(s.Lines[1]) == 0 {
		return nil, nil
	}
	floor := figure.Mark{Kind: figure.Steps, Name: "floor", Class: "floor"}
	used := figure.Mark{Kind: figure.Points, Name: "bins used, second half", Class: "test", Size: 2.2}
	label := figure.Mark{Kind: figure.Labels, Name: "harmonic", Quiet: true, Class: "test"}
	for _, l := range s.Lines[1] {
		w := 8 * s.BinHz
		floor.Lo, floor.Hi, floor.Y = append(floor.Lo, l.Hz-w), append(floor.Hi, l.Hz+w), append(floor.Y, l.Floor)
		top := math.Inf(-1)
		for i := int(math.Round(l.Band[0] / s.BinHz)); i <= int(math.Round(l.Band[1]/s.BinHz)) && i < len(s.Level[1]); i++ {
			used.X, used.Y = append(used.X, float64(i)*s.BinHz), append(used.Y, s.Level[1][i])
			top = math.Max(top, s.Level[1][i])
		}
		if !math.IsInf(top, 0) {
			label.X, label.Y, label.Text = append(label.X, l.Hz), append(label.Y, top),
				append(label.Text, number6(l.Order)+"×BPF")
		}
	}
	orders := figure.Mark{
		Kind: figure.Points, Name: "shaft orders that are no harmonic", Class: "aux", Shape: "diamond",
		Size: 2.2,
	}
	for _, l := range s.Orders[1] {
		orders.X, orders.Y = append(orders.X, l.Hz), append(orders.Y, l.Level)
	}
	return []figure.Mark{floor, used, orders}, []figure.Mark{label}
}

func (s *SpectrumDetail) caption() string {
	caption := fmt.Sprintf("Spectrum of one recording (%s): mean power of both halves, and the band between "+
		"them.", clean(s.Recording))
	if len(s.Lines[1]) > 0 {
		caption += fmt.Sprintf(" Shaded: where each harmonic of the blade passing frequency (BPF) was searched; red "+
			"points: the bins whose power, less the floor, makes its level; green: the floor; diamonds: multiples of the "+
			"shaft frequency (%s and %s Hz in the halves) that are no harmonic, read in a band of bins.",
			number6(round4(s.Shaft[0])), number6(round4(s.Shaft[1])))
	}
	if len(s.Background) > 0 {
		from := make([]string, len(s.BackgroundFrom))
		for i, f := range s.BackgroundFrom {
			from[i] = clean(f)
		}
		caption += fmt.Sprintf(" Dashed grey: what these bins read of the background alone (%s); nothing of it is "+
			"subtracted.", strings.Join(from, ", "))
		if len(s.BackgroundTones) > 0 {
			caption += " Crosses: tones that the background has of its own."
		}
	}
	return caption
}

func round4(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// levels draws overall levels and one-third-octave levels, where spectra are.
func (m *maker) levels() {
	d := m.d
	if d.Shown == nil || d.Level == nil {
		return
	}
	f := &figure.Figure{Columns: 2, Width: 720}
	caption := ""
	if angle := d.angle(); angle >= 0 {
		facet := m.facetInput(angle)
		p := figure.Panel{
			Title: "Overall level", X: figure.Axis{Label: d.Inputs[angle].Axis()},
			Y: figure.Axis{Label: "overall level L (" + clean(d.Shown.Unit) + ")"}, Height: 220,
		}
		at := make([]float64, d.in())
		for k := range at {
			v := d.values(k)
			at[k] = v[len(v)/2]
		}
		groups := []float64{0}
		if facet >= 0 {
			groups = d.values(facet)
		}
		classes := []string{"mean", "test", "floor", "aux", "epi", "train"}
		shapes := []string{"", "square", "diamond", "ring", "cross", "ring"}
		for g, v := range groups[:min(len(groups), len(classes))] {
			mk := figure.Mark{Kind: figure.Points, Class: classes[g], Shape: shapes[g], Size: 2.6, Name: d.data()}
			if facet >= 0 {
				mk.Name = number6(v) + " " + d.Inputs[facet].Word()
			}
			type pt struct{ x, y float64 }
			var pts []pt
			for i, c := range d.Cond {
				ok := facet < 0 || d.x(c, facet) == v
				for _, k := range others(d.in(), angle, facet) {
					ok = ok && d.x(c, k) == at[k]
				}
				if ok && !math.IsNaN(d.Level[i]) {
					pts = append(pts, pt{d.x(c, angle), d.Level[i]})
				}
			}
			slices.SortFunc(pts, func(a, b pt) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
			for _, q := range pts {
				mk.X, mk.Y = append(mk.X, q.x), append(mk.Y, q.y)
			}
			if len(mk.X) == 0 {
				continue
			}
			line := mk
			line.Kind, line.Thin, line.Quiet = figure.Line, true, true
			p.Marks = append(p.Marks, line, mk)
		}
		f.Panels = append(f.Panels, p)
		caption = "Left: overall level of all bins above 0 Hz, mean of both halves"
		if o := others(d.in(), angle, facet); len(o) > 0 {
			caption += ", at " + place(d.Inputs, at, o)
		}
		caption += ". "
	}
	if n := len(d.Shown.Third); n > 0 {
		p := figure.Panel{
			Title: "One-third-octave bands",
			X:     figure.Axis{Label: "frequency f (Hz)", Log: true, Min: d.Shown.Third[0].Lo, Max: d.Shown.Third[n-1].Hi},
			Y:     figure.Axis{Label: "band level L (" + clean(d.Shown.Unit) + ")"}, Height: 220,
		}
		mk := figure.Mark{Kind: figure.Steps, Name: "one-third-octave level", Quiet: true, Class: "mean"}
		for _, t := range d.Shown.Third {
			mk.X, mk.Lo, mk.Hi, mk.Y = append(mk.X, t.Centre), append(mk.Lo, t.Lo), append(mk.Hi, t.Hi), append(mk.Y, t.Level)
		}
		p.Marks = []figure.Mark{mk}
		f.Panels = append(f.Panels, p)
		caption += "One-third-octave levels (bands of base ten after IEC 61260, summed from the spectrum's bins) of the " +
			"recording at " + d.Shown.Fixed + "."
	}
	if len(f.Panels) == 0 {
		return
	}
	f.Columns = len(f.Panels)
	m.add(plot{file: "levels", heading: "Overall and band levels", caption: caption, fig: f, page: true})
}

// series draws a stretch of a force record with both sets of samples.
func (m *maker) series() {
	s := m.d.Series
	if s == nil {
		return
	}
	f := &figure.Figure{Width: 720}
	for k, q := range s.Outcomes {
		p := figure.Panel{X: figure.Axis{Label: "time t (s)"}, Y: figure.Axis{Label: q.Axis()}, Height: 130}
		if k == 0 {
			p.Title = s.Fixed
		}
		p.Marks = append(p.Marks, figure.Mark{
			Kind: figure.Line, Name: "recorded", Class: "grey", Thin: true, X: s.Time,
			Y: s.Value[k],
		})
		for i, list := range [][]int{s.First, s.Second} {
			mk := figure.Mark{Kind: figure.Points, Name: "drawn for y1", Class: "mean", Size: 2.8}
			if i == 1 {
				mk = figure.Mark{Kind: figure.Points, Name: "drawn for y2", Class: "test", Shape: "diamond", Size: 2.2}
			}
			for _, j := range list {
				mk.X, mk.Y = append(mk.X, s.Time[j]), append(mk.Y, s.Value[k][j])
			}
			p.Marks = append(p.Marks, mk)
		}
		f.Panels = append(f.Panels, p)
	}
	m.add(plot{
		file: "series", heading: "Force series and the samples drawn from it", page: true, fig: f,
		caption: fmt.Sprintf("The first %d of %d samples of one run (%s), as coefficients where chord and span are given. "+
			"Every sample is drawn at most once: for y1, for y2, or not at all.", len(s.Time), s.Of, clean(s.Run)),
	})
}

func (m *maker) drift() {
	d := m.d
	if len(d.Drift) == 0 {
		return
	}
	f := &figure.Figure{Columns: min(3, len(d.Drift)), Width: 720}
	lo, hi := 0.0, 0.0
	for _, dr := range d.Drift[:min(6, len(d.Drift))] {
		mk := figure.Mark{
			Kind: figure.Bars, Name: "y2 − y1, mean of a run's recordings ± SE", Class: "mean", Size: 1.6,
			X: dr.Run, Y: dr.Mean,
		}
		for i, v := range dr.Mean {
			se := dr.SE[i]
			if math.IsNaN(se) {
				se = 0
			}
			mk.Lo, mk.Hi = append(mk.Lo, v-se), append(mk.Hi, v+se)
			lo, hi = math.Min(lo, v-se), math.Max(hi, v+se)
		}
		p := figure.Panel{
			Title: d.Outcomes[dr.Outcome].Word(), X: figure.Axis{Label: "run, in order of the table"},
			Y: figure.Axis{Label: in("change", d.Outcomes[dr.Outcome].difference())}, Height: 140,
		}
		p.Marks = []figure.Mark{{Kind: figure.Rule, Class: "grey", Y: []float64{0}, Thin: true}, mk}
		f.Panels = append(f.Panels, p)
	}
	for i := range f.Panels {
		f.Panels[i].Y.Min, f.Panels[i].Y.Max = lo-0.05*(hi-lo), hi+0.05*(hi-lo)
	}
	m.add(plot{
		file: "drift", heading: "Half-to-half drift", caption: "Change of each outcome from the first half of a " +
			"run to the second: mean over the run's recordings with its standard error. Scatter about zero is noise; a trend, " +
			"or an offset of many standard errors, is drift and contradicts the assumption that both halves are equal draws.",
		fig: f, page: true,
	})
}
