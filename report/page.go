package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"doubletake/report/figure"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Page returns runs/report.html: one file that holds everything it shows, asks
// no network for anything and is the same for the same details. Its figures
// stand without scripts; with them a view of every condition can be chosen.
func Page(details []*Detail) []byte {
	var p *page
	for i, of := range onPage {
		p = &page{of: of, fewer: i > 0}
		p.write(details)
		if p.b.Len() <= pageBytes {
			break
		}
	}
	return p.b.Bytes()
}

type page struct {
	b     bytes.Buffer
	of    amount
	fewer bool // less is drawn than a smaller run would have
}

// say writes markup; the arguments are escaped.
func (p *page) say(markup string, texts ...string) {
	for _, t := range texts {
		i := strings.IndexByte(markup, '\x00')
		p.b.WriteString(markup[:i])
		p.b.WriteString(figure.Escape(t))
		markup = markup[i+1:]
	}
	p.b.WriteString(markup)
}

// name is a foreign name: cut when long, kept from turning its neighbours
// around.
func (p *page) name(s string) { p.say("<bdi>\x00</bdi>", shorten(clean(s), 2*longName)) }

func sectionID(i int) string { return "x" + strconv.Itoa(i+1) }

func (p *page) write(details []*Detail) {
	simulated := 0
	for _, d := range details {
		if d.Experiment.Data == "simulated" {
			simulated++
		}
	}
	title := "doubletake report"
	if simulated == len(details) && simulated > 0 {
		title = "doubletake report: simulated data"
	}
	p.say("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	p.say("<title>\x00</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n", title)
	p.b.WriteString(figure.Style() + pageCSS)
	p.say("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n<h1>\x00</h1>\n", title)
	switch {
	case len(details) == 0:
		p.say("<p>No experiment has results yet.</p>\n")
	case simulated > 0 && simulated < len(details):
		p.say("<p>\x00</p>\n", fmt.Sprintf("%d experiments, %d of them on simulated data, marked so.", len(details), simulated))
	}
	together := slices.DeleteFunc(joints(details, p.of), func(f plot) bool { return !f.page })
	if len(details) > 0 {
		p.say("<nav aria-label=\"Experiments\"><ul>")
		p.say(`<li class="js"><a href="#explore">Explore</a></li>`)
		if len(together) > 0 {
			p.say(`<li><a href="#together">Side by side</a></li>`)
		}
		for i, d := range details {
			p.say(`<li><a href="#` + sectionID(i) + `">`)
			p.name(d.Experiment.Name)
			p.say("</a></li>")
		}
		p.say("<li><a href=\"#meaning\">What the numbers mean</a></li></ul></nav>\n")
	}
	p.say("</header>\n<main id=\"main\" tabindex=\"-1\">\n")
	if len(details) > 0 {
		p.say("<section aria-labelledby=\"results\">\n<h2 id=\"results\">Results in a sentence each</h2>\n<dl class=\"headlines\">\n")
		for i, d := range details {
			p.say(`<dt><a href="#` + sectionID(i) + `">`)
			p.name(d.Experiment.Name)
			p.say("</a>")
			p.badge(d)
			p.say("</dt>\n")
			for _, h := range d.Experiment.headlines() {
				p.say("<dd>\x00</dd>\n", h)
			}
		}
		p.say("</dl>\n</section>\n")
		p.say("<section id=\"explore\" class=\"js\" aria-labelledby=\"explore-title\" tabindex=\"-1\">\n<h2 id=\"explore-title\">Explore</h2>\n" +
			"<form id=\"controls\" aria-label=\"What to show\"></form>\n<p id=\"readout\" role=\"status\"></p>\n<div id=\"views\"></div>\n" +
			"<p class=\"buttons\"><button type=\"button\" id=\"save-svg\">Save figure (SVG)</button> <button type=\"button\" id=\"save-csv\">Save numbers (CSV)</button></p>\n" +
			"<details><summary>These numbers as a table</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Numbers of the chosen view\" id=\"numbers\"></div></details>\n<p class=\"note\" id=\"sampled\"></p>\n</section>\n")
	}
	if len(together) > 0 {
		p.say("<section id=\"together\" class=\"experiment\" aria-labelledby=\"together-t\" tabindex=\"-1\">\n<h2 id=\"together-t\">Experiments side by side</h2>\n")
		for _, f := range together {
			p.figure("report/figures/", f)
		}
		p.say("</section>\n")
	}
	for i, d := range details {
		p.experiment(i, d)
	}
	p.say("<section id=\"meaning\" aria-labelledby=\"meaning-title\" tabindex=\"-1\">\n<h2 id=\"meaning-title\">What the numbers mean</h2>\n")
	var all []Experiment
	for _, d := range details {
		all = append(all, d.Experiment)
	}
	for _, s := range explainAll(all) {
		p.say("<p>\x00</p>\n", s)
	}
	p.say("<p>In figures σ is the deviation of the model's first answer, which holds all uncertainty, total; √C is the part of it that stems from not knowing the mean, epistemic; what remains, √(σ² − C), is noise, aleatoric. " +
		"Figures are drawn in the outcomes' own units. Every figure lies as SVG, with its numbers as CSV, in the folder of its experiment, those of several experiments in report/figures.</p>\n")
	if p.fewer {
		p.say("<p>\x00</p>\n", fmt.Sprintf("There is much to show: to keep the page small, figures here draw curves at one in %d of their points and at most %d points of a series, evenly selected. The files have them all.", p.of.every, p.of.points))
	}
	p.say("</section>\n</main>\n<footer><p>Made by \x00. This page is the same for the same inputs and holds no time of its making; durations are told by the run itself.</p></footer>\n", programOf(details))
	p.say("<div id=\"tip\" hidden></div>\n")
	p.say(`<script type="application/json" id="data">`)
	p.b.Write(embed(details, p.of.numbers))
	p.say("</script>\n<script type=\"text/plain\" id=\"light\">\n")
	p.b.WriteString(figure.Light())
	p.say("</script>\n<script>\n")
	p.b.WriteString(pageJS)
	p.say("</script>\n</body>\n</html>\n")
}

func programOf(details []*Detail) string {
	for _, d := range details {
		if v := d.Experiment.Version; v != "" {
			return "doubletake " + clean(v)
		}
	}
	return "doubletake"
}

func (p *page) badge(d *Detail) {
	if s := d.Experiment.Data; s != "" {
		p.say(" <span class=\"badge \x00\">\x00 data</span>", map[bool]string{true: "simulated", false: "measured"}[s == "simulated"], clean(s))
	}
}

// headlines are one sentence per split, with numbers.
func (e Experiment) headlines() []string {
	if len(e.Splits) == 0 {
		return []string{"No split was trained."}
	}
	var out []string
	for _, s := range e.Splits {
		out = append(out, e.Headline(s))
	}
	return out
}

// Headline says in one sentence what holding a split's test part out cost.
func (e Experiment) Headline(s Split) string {
	what := "Holding out " + clean(s.HeldOut)
	if s.HeldOut == "" {
		what = "Split " + clean(s.Name)
	}
	var parts []string
	a, b := s.Train.R2, s.Test.R2
	pct, why := difference(a, b)
	from := strings.ReplaceAll(round(a, 1).mean+" → "+round(b, 1).mean, "-", "−")
	switch {
	case why != "" && !b.defined():
		parts = append(parts, "leaves R² undefined ("+clean(b.reason())+")")
	case why != "":
		parts = append(parts, "gives R² "+strings.ReplaceAll(round(b, 1).plain(), "-", "−"))
	case pct <= -100:
		parts = append(parts, "costs all of R² ("+from+")")
	case math.Round(pct) < 0:
		parts = append(parts, fmt.Sprintf("costs %s of R² (%s)", unsigned(pct), from))
	case math.Round(pct) > 0:
		parts = append(parts, fmt.Sprintf("adds %s to R² (%s)", unsigned(pct), from))
	default:
		parts = append(parts, "leaves R² as it is ("+from+")")
	}
	if pct, why := difference(s.Train.AbsCov, s.Test.AbsCov); why == "" {
		switch {
		case math.Round(pct) > 0:
			parts = append(parts, "|cov| rises by "+unsigned(pct))
		case math.Round(pct) < 0:
			parts = append(parts, "|cov| falls by "+unsigned(pct))
		default:
			parts = append(parts, "|cov| stays")
		}
	}
	r, se := s.Test.SumERatio, s.Test.SumERatioSE
	if r.defined() {
		v, spread := round(Value{Mean: r.Mean, Std: math.NaN(), N: 1}, 1).plain(), ""
		if se.defined() && se.Mean > 0 {
			n := round(Value{Mean: r.Mean, Std: se.Mean, N: 2}, 1)
			if n.exp == 0 {
				v, spread = n.mean, "standard error "+n.std+": "
			}
		}
		verdict := "calibrated within its standard error"
		switch {
		case !se.defined():
			verdict = "without a standard error"
		case r.Mean > 1+2*se.Mean:
			verdict = "overconfident"
		case r.Mean < 1-2*se.Mean:
			verdict = "too cautious"
		}
		parts = append(parts, "the measured error is "+v+" times the covariance C ("+spread+verdict+")")
	} else if b.defined() {
		parts = append(parts, "the error cannot be compared with C ("+clean(r.reason())+")")
	}
	return what + " " + strings.Join(parts, "; ") + "."
}

// unsigned writes the size of a percentage.
func unsigned(pct float64) string {
	return strings.TrimPrefix(percent(math.Abs(pct)).text, "+")
}

func (p *page) experiment(i int, d *Detail) {
	e := d.Experiment
	id := sectionID(i)
	p.say("<section id=\"" + id + "\" class=\"experiment\" aria-labelledby=\"" + id + "-t\" tabindex=\"-1\">\n<h2 id=\"" + id + "-t\">")
	p.name(e.Name)
	p.badge(d)
	p.say("</h2>\n")
	if w := e.what(); w != "" {
		p.say("<p class=\"what\">\x00.</p>\n", w)
	}
	for _, h := range e.headlines() {
		p.say("<p class=\"headline\">\x00</p>\n", h)
	}
	if len(e.Splits) > 0 {
		for _, t := range append([]table{e.fit(), e.beside(), e.consistent(), e.perOutcome(), e.sets()}, e.comparisons()...) {
			if len(t.labels) > 0 && t.columns() > 0 {
				p.table(t)
			}
		}
		for _, s := range append(e.comparisonWords(), e.methods()...) {
			p.say("<p class=\"note\">\x00</p>\n", s)
		}
	}
	if n := e.notes(); len(n) > 0 {
		p.say("<h3>Notes</h3>\n")
		p.list(n)
	}
	p.violations(e)
	if len(e.Warnings) > 0 {
		p.say("<h3>Warnings</h3>\n<div class=\"warnings\">\n")
		p.list(e.Warnings)
		p.say("</div>\n")
	}
	if len(e.Skipped) > 0 {
		p.say("<h3>Left-out recordings (\x00)</h3>\n", strconv.Itoa(len(e.Skipped)))
		p.list(e.Skipped)
	}
	split := "\x00"
	for _, f := range plots(d, p.of) {
		if !f.page {
			continue
		}
		if f.split != split {
			if split = f.split; split != "" {
				p.say("<h3>Split ")
				p.name(split)
				p.say("</h3>\n")
			} else {
				p.say("<h3>The data</h3>\n")
			}
		}
		p.figure(url.PathEscape(d.Experiment.Name)+"/report/figures/", f)
	}
	p.say("<h3>Pairs</h3>\n")
	p.say("<p>\x00</p>\n", e.pairConstruction())
	if len(d.Quality) > 0 {
		p.say("<h3>Data quality</h3>\n")
		p.facts("Data quality", d.Quality)
		if d.AllRows > len(d.Cond) || d.AllConditions > d.conditions() {
			p.say("<p class=\"note\">\x00</p>\n", fmt.Sprintf("For display an even selection was made: %d of %d triplets, %d of %d conditions. Tables, metrics and calibration use all of them.", len(d.Cond), d.AllRows, d.conditions(), d.AllConditions))
		}
	}
	p.say("<h3>Provenance</h3>\n")
	facts := []Fact{}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	add("data", e.Data)
	add("program", programOf([]*Detail{d}))
	add("configuration (SHA-256)", e.ConfigDigest)
	var kernels []string
	for _, s := range e.Splits {
		if s.Kernels != "" && !slices.Contains(kernels, s.Kernels) {
			kernels = append(kernels, s.Kernels)
		}
	}
	add("numeric kernels", strings.Join(kernels, ", "))
	p.facts("Provenance", facts)
	for _, f := range []struct {
		head string
		list []Fact
	}{{"Settings", d.Config}, {"Digests of the tables", d.Digests}} {
		if len(f.list) > 0 {
			p.say("<details><summary>\x00 (\x00)</summary>\n", f.head, strconv.Itoa(len(f.list)))
			p.facts(f.head, f.list)
			p.say("</details>\n")
		}
	}
	p.say("</section>\n")
}

// pairConstruction says how pairs came about and what follows.
func (e Experiment) pairConstruction() string {
	how := map[string]string{
		"random-samples":      "y1 and y2 are samples drawn from one run at random times, none used twice",
		"split-halves":        "y1 and y2 are the means of a run's two halves",
		"split-half-spectrum": "y1 and y2 come from the spectra of a recording's two halves, averaged over segments without overlap",
		"repeats":             "y1 and y2 come from two runs at equal conditions",
		"table":               "the pairs were read from a table as they are",
	}[e.Construction]
	if how == "" {
		how = "pairs: " + clean(e.Construction)
	}
	out := how + "."
	for _, s := range e.explanations() {
		for _, start := range []string{"Same-run", "Repeat-run", "Synthetic", "Couples"} {
			if strings.HasPrefix(s, start) {
				out += " " + s
			}
		}
	}
	return out
}

func (p *page) list(items []string) {
	p.say("<ul>\n")
	for _, s := range items {
		p.say("<li>\x00</li>\n", shorten(clean(s), 600))
	}
	p.say("</ul>\n")
}

func (p *page) facts(label string, list []Fact) {
	p.say("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"\x00\"><table class=\"facts\"><tbody>\n", label)
	for _, f := range list {
		v := f.Value
		if v == "" {
			v = "–"
		}
		p.say("<tr><th scope=\"row\">\x00</th><td>\x00</td></tr>\n", clean(f.Name), shorten(clean(v), 400))
	}
	p.say("</tbody></table></div>\n")
}

// pageColumns is the width of a table, in letters, that a page holds on paper and
// on a wide screen.
const pageColumns = 108

// table writes a table; a wide one in parts, each with the labels, because paper
// does not scroll.
func (p *page) table(t table) {
	for i, part := range newTerminal(pageColumns, false).split(t) {
		part.title = t.title
		if i > 0 {
			part.title += " (continued)"
		}
		p.tablePart(part)
	}
}

func (p *page) tablePart(t table) {
	p.say("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"\x00\"><table>\n<caption>\x00</caption>\n<thead>\n<tr>", t.title, t.title)
	two := slices.ContainsFunc(t.groups, func(g group) bool { return g.head != "" })
	rows := ""
	if two {
		rows = ` rowspan="2"`
	}
	p.say("<th scope=\"col\""+rows+">\x00</th>", t.corner)
	for _, g := range t.groups {
		if g.head != "" {
			p.say("<th scope=\"colgroup\" class=\"group\" colspan=\""+strconv.Itoa(len(g.columns))+"\">\x00</th>", g.head)
			continue
		}
		for _, c := range g.columns {
			class := ""
			if c.text {
				class = ` class="text"`
			}
			p.say("<th scope=\"col\""+class+rows+">\x00</th>", c.head)
		}
	}
	p.say("</tr>\n")
	if two {
		p.say("<tr>")
		for _, g := range t.groups {
			if g.head == "" {
				continue
			}
			for _, c := range g.columns {
				p.say("<th scope=\"col\">\x00</th>", c.head)
			}
		}
		p.say("</tr>\n")
	}
	p.say("</thead>\n<tbody>\n")
	for i, l := range t.labels {
		p.say("<tr><th scope=\"row\">")
		p.name(l)
		p.say("</th>")
		for _, g := range t.groups {
			for _, c := range g.columns {
				if c.text {
					p.say("<td class=\"text\">")
					p.name(c.cells[i].text)
					p.say("</td>")
					continue
				}
				p.say("<td>\x00</td>", strings.ReplaceAll(c.cells[i].plain(), "-", "−"))
			}
		}
		p.say("</tr>\n")
	}
	p.say("</tbody></table></div>\n")
}

// halfWidth is the width of figures of which two stand beside one another on
// paper.
const halfWidth = 440

// figure writes a figure whose files lie in a folder beside the page.
func (p *page) figure(folder string, f plot) {
	class := ""
	if f.fig.Width <= halfWidth {
		class = ` class="half"`
	}
	p.say("<figure"+class+">\n<h4>\x00</h4>\n", sentence(f.heading))
	p.say("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Figure: \x00\">\n", f.heading+" "+f.split)
	p.b.Write(figure.Draw(f.fig, figure.Options{Inline: true, Digits: 5}))
	p.say("</div>\n")
	path := folder + url.PathEscape(f.file)
	p.say("<figcaption>\x00 <span class=\"files\">As files: <a href=\"\x00.svg\">SVG</a>, <a href=\"\x00.csv\">CSV</a>.</span></figcaption>\n</figure>\n", sentence(f.caption), path, path)
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// embed packs what can be explored: numbers as 32-bit floats in base64, at most
// about so many answers of models.
func embed(details []*Detail, numbers int) []byte {
	f32 := func(v []float64) string {
		b := make([]byte, 0, 4*len(v))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	u16 := func(v []int) string {
		b := make([]byte, 0, 2*len(v))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint16(b, uint16(x))
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	total := 0
	for _, d := range details {
		for _, s := range d.Splits {
			total += 3 * d.conditions() * d.dim() * len(s.Seeds)
		}
	}
	every := max(1, (total+numbers-1)/numbers)
	list := []map[string]any{}
	for i, d := range details {
		keep, place := []int{}, map[int]int{}
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
		sel := func(v []float64, width int) []float64 {
			var out []float64
			for _, c := range keep {
				out = append(out, v[c*width:(c+1)*width]...)
			}
			return out
		}
		quantities := func(q []Quantity) []map[string]any {
			out := []map[string]any{}
			for _, x := range q {
				out = append(out, map[string]any{"n": clean(x.Name), "l": x.Label(), "w": x.Word(), "u": clean(x.Unit), "d": x.difference(), "s": x.square()})
			}
			return out
		}
		e := map[string]any{
			"id": sectionID(i), "name": clean(d.Experiment.Name), "data": clean(d.Experiment.Data), "pairs": clean(d.Experiment.Pairs),
			"inputs": quantities(d.Inputs), "outcomes": quantities(d.Outcomes), "all": d.AllConditions, "n": len(keep),
		}
		var values [][]float64
		var index []int
		for k := range d.Inputs {
			values = append(values, d.values(k))
		}
		for _, c := range keep {
			for k := range d.Inputs {
				j, _ := slices.BinarySearch(values[k], d.x(c, k))
				index = append(index, j)
			}
		}
		e["values"], e["x"] = values, u16(index)
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
		e["row"], e["y"] = u16(cond), f32(y)
		splits := []map[string]any{}
		for _, s := range d.Splits {
			var test []int
			for _, c := range keep {
				t := 0
				if s.Test[c] {
					t = 1
				}
				test = append(test, t)
			}
			seeds := []map[string]string{}
			for _, k := range s.Seeds {
				seeds = append(seeds, map[string]string{"m": f32(sel(k.Mu, d.dim())), "v": f32(sel(k.Var, d.dim())), "c": f32(sel(k.Cov, d.dim()))})
			}
			splits = append(splits, map[string]any{"n": clean(s.Name), "held": clean(s.HeldOut), "test": u16(test), "seeds": seeds})
		}
		e["splits"] = splits
		if d.Shown != nil && len(d.Spectra) > 0 {
			var at []int
			var to, line []float64
			var levels []byte
			top := math.Inf(-1)
			for _, s := range d.Spectra {
				for _, v := range s.Peak {
					top = math.Max(top, float64(v))
				}
			}
			offset := math.Ceil(top) - 127 // half decibels from here on fill a byte
			for _, s := range d.Spectra {
				c, ok := place[d.Cond[s.Row]]
				if !ok || len(at) >= 2000 {
					continue
				}
				at, to = append(at, c), append(to, s.ToHz)
				for k := range d.Spectra[0].Line {
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
			if len(at) > 0 {
				e["spectra"] = map[string]any{"at": u16(at), "to": f32(to), "line": f32(line), "lines": len(d.Spectra[0].Line), "points": len(d.Spectra[0].Peak), "level": base64.StdEncoding.EncodeToString(levels), "offset": offset, "unit": clean(d.Shown.Unit), "bin": d.Shown.BinHz}
			}
		}
		list = append(list, e)
	}
	// json escapes <, > and &, so nothing in a name can end the element.
	b, err := json.Marshal(list)
	if err != nil {
		panic("report: pack page data: " + err.Error()) // plain values only
	}
	return b
}
