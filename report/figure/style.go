package figure

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/internal/lists"
)

// colour is a role's colour on white and on black. Hues are those of Okabe and
// Ito's palette or near them, which people with any colour vision distinguish;
// lines and points have a contrast of 3 : 1 or more, texts of 4.5 : 1.
type colour struct{ name, light, dark string }

var colours = []colour{
	{"ink", "#1a1a1a", "#ececec"},
	{"soft", "#555555", "#b5b5b5"},
	{"axis", "#767676", "#8c8c8c"},
	{"grid", "#e2e2e2", "#383838"},
	{"paper", "#ffffff", "#16181b"},
	{"mean", "#004f8c", "#7cc0f5"},
	{"total", "#bcd3e6", "#2d4a63"},
	{"sigma1", "#8fb4d3", "#41688a"},
	{"sigma2", "#bcd3e6", "#2d4a63"},
	{"sigma3", "#deeaf3", "#223442"},
	{"epi", "#f0c27a", "#7d5312"},
	{"epiline", "#a35c00", "#f0a63c"},
	{"train", "#6b6b6b", "#9a9a9a"},
	{"test", "#c43c00", "#ff8f5e"},
	{"floor", "#00735c", "#3fc7a3"},
	{"aux", "#8a3a7c", "#dd94cf"},
	{"span", "#f3f3f3", "#212427"},
}

// css are the rules of figures; $name is a colour.
//
//go:embed figure.css
var css string

// Style returns the style sheet for figures drawn with Options.Inline: colours
// on white, on dark screens those on black, and on paper those on white again.
func Style() string {
	var b strings.Builder
	vars := func(get func(colour) string) {
		for _, c := range colours {
			fmt.Fprintf(&b, "--f-%s:%s;", c.name, get(c))
		}
	}

	b.WriteString(":root{")
	vars(func(c colour) string { return c.light })
	b.WriteString("}\n@media screen and (prefers-color-scheme:dark){:root{")
	vars(func(c colour) string { return c.dark })
	b.WriteString("}}\n")
	b.WriteString(sheet(rules(func(name string) string { return "var(--f-" + name + ")" })))

	return b.String()
}

// Light returns the style sheet with the colours on white written out, for
// figures that a page saves as files.
func Light() string { return standalone() }

// standalone is the style inside a file: colours written out, because not every
// program that places an SVG knows variables. Files are light: they are made
// for papers.
func standalone() string { return sheet(light()) }

// light are the rules with the colours on white.
var light = sync.OnceValue(func() []rule {
	byName := map[string]string{}
	for _, c := range colours {
		byName[c.name] = c.light
	}

	return rules(func(name string) string { return byName[name] })
})

// rule states how elements are drawn: those of a name, of one or two classes, or of a
// class in the legend.
type rule struct{ selector, body string }

func sheet(list []rule) string {
	var b strings.Builder
	b.WriteString(".dtf{font-family:system-ui,-apple-system,\"Segoe UI\",\"Helvetica Neue\",Arial,\"Liberation " +
		"Sans\",sans-serif;font-size:11px}\n")

	for _, r := range list {
		fmt.Fprintf(&b, ".dtf %s{%s}\n", r.selector, r.body)
	}

	return b.String()
}

// Paint is how an element of a figure is drawn on white.
type Paint struct {
	Fill, Stroke string    // "#rrggbb"; "" for none
	Opacity      float64   // of the filling
	Width        float64   // of the stroke, px
	Dash         []float64 // of the stroke, px
	Bold         bool
}

// PaintOf returns what the style sheet says of an element with classes.
func PaintOf(element string, classes []string, legend bool) Paint {
	p := Paint{Fill: "#000000", Opacity: 1, Width: 1}
	for weight := range 3 {
		for _, r := range light() {
			if r.weight() == weight && r.applies(element, classes, legend) {
				p.apply(r.body)
			}
		}
	}

	return p
}

// weight orders rules as CSS does: names below a class, a class below two.
func (r rule) weight() int { return strings.Count(r.selector, ".") }

func (r rule) applies(element string, classes []string, legend bool) bool {
	last, inLegend := strings.CutPrefix(r.selector, ".legend ")
	if inLegend && !legend {
		return false
	}

	for i, name := range strings.Split(last, ".") {
		if i == 0 && name != "" && name != element || i > 0 && !slices.Contains(classes, name) {
			return false
		}
	}

	return true
}

func (p *Paint) apply(body string) {
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic("figure: number in the style sheet: " + err.Error())
		}

		return v
	}

	for _, d := range strings.Split(body, ";") {
		key, value, _ := strings.Cut(d, ":")
		switch key {
		case "fill":
			p.Fill = strings.TrimPrefix(value, "none")
		case "stroke":
			p.Stroke = strings.TrimPrefix(value, "none")
		case "fill-opacity":
			p.Opacity = number(value)
		case "stroke-width":
			p.Width = number(value)
		case "stroke-dasharray":
			p.Dash = lists.Each(strings.Fields(value), number)
		case "font-weight":
			p.Bold = value == "600"
		}
	}
}

func rules(colour func(name string) string) []rule {
	return lists.Each(slices.Collect(strings.Lines(css)), func(line string) rule {
		selector, body, _ := strings.Cut(strings.TrimSuffix(line, "}\n"), "{")
		return rule{selector, os.Expand(body, colour)}
	})
}
