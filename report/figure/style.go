package figure

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// roleColour is a role's colour on white and on black. Hues are those of Okabe and
// Ito's palette or near them, which people with any colour vision distinguish;
// lines and points have a contrast of 3 : 1 or more, texts of 4.5 : 1.
type roleColour struct{ name, light, dark string }

// colours has the colours of all roles.
var colours = []roleColour{
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

// css is the rules of figures, one on each line, in which $name is a colour of colours.
//
//go:embed figure.css
var css string

// Style returns the style sheet for figures drawn with Options.Inline: the colours
// on white, on dark screens the colours on black, and on paper the colours on white again.
func Style() string {
	light := ""
	dark := ""
	for _, c := range colours {
		light += fmt.Sprintf("--f-%s:%s;", c.name, c.light)
		dark += fmt.Sprintf("--f-%s:%s;", c.name, c.dark)
	}

	variables := ":root{" + light + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark + "}}\n"

	return variables + sheet(rules(func(name string) string { return "var(--f-" + name + ")" }))
}

// Light returns the style sheet with the colours on white written out, for
// figures that a page saves as files.
func Light() string { return standalone() }

// standalone returns the style inside a file. Its colours are written out, because some programs that read SVG do not
// know variables. Files have the colours on white, because they are made for papers.
func standalone() string { return sheet(lightRules()) }

// lightRules returns the rules with the colours on white.
var lightRules = sync.OnceValue(func() []rule {
	byName := map[string]string{}
	for _, c := range colours {
		byName[c.name] = c.light
	}

	return rules(func(name string) string { return byName[name] })
})

// rule is a rule of the style sheet.
type rule struct {
	selector string // "text", ".tick", ".line.mean", ".legend .line"
	body     string // declarations, separated by semicolons
}

// sheet returns rules as a style sheet. It applies to elements inside an element with the class dtf.
func sheet(list []rule) string {
	var b strings.Builder
	b.WriteString(".dtf{font-family:system-ui,-apple-system,\"Segoe UI\",\"Helvetica Neue\",Arial,\"Liberation " +
		"Sans\",sans-serif;font-size:11px}\n")

	for _, r := range list {
		fmt.Fprintf(&b, ".dtf %s{%s}\n", r.selector, r.body)
	}

	return b.String()
}

// Paint states how an element of a figure is drawn on white.
type Paint struct {
	Fill, Stroke string    // "#rrggbb"; "" for none
	Opacity      float64   // opacity of the filling
	Width        float64   // width of the stroke, px
	Dash         []float64 // lengths of dashes and gaps of the stroke, px
	Bold         bool
}

// PaintOf returns the paint that the style sheet gives an element with classes. legend says whether the element is in a
// legend.
func PaintOf(element string, classes []string, legend bool) Paint {
	paint := Paint{Fill: "#000000", Opacity: 1, Width: 1} // the defaults of SVG
	for weight := range 3 {
		for _, r := range lightRules() {
			if r.weight() == weight && r.applies(element, classes, legend) {
				paint.apply(r.body)
			}
		}
	}

	return paint
}

// weight returns the number of classes of the selector. As in CSS, a rule with more classes comes after the others.
func (r rule) weight() int { return strings.Count(r.selector, ".") }

// applies reports whether the rule is about an element with the given name and classes.
func (r rule) applies(element string, classes []string, legend bool) bool {
	selector, inLegend := strings.CutPrefix(r.selector, ".legend ")
	if inLegend && !legend {
		return false
	}

	name, rest, _ := strings.Cut(selector, ".")
	if name != "" && name != element {
		return false
	}

	for _, class := range strings.Split(rest, ".") {
		if class != "" && !slices.Contains(classes, class) {
			return false
		}
	}

	return true
}

// apply changes the paint as the declarations of a rule ask.
func (p *Paint) apply(body string) {
	for _, declaration := range strings.Split(body, ";") {
		key, value, _ := strings.Cut(declaration, ":")
		switch key {
		case "fill":
			p.Fill = strings.TrimPrefix(value, "none")
		case "stroke":
			p.Stroke = strings.TrimPrefix(value, "none")
		case "fill-opacity":
			p.Opacity = cssNumber(value)
		case "stroke-width":
			p.Width = cssNumber(value)
		case "stroke-dasharray":
			p.Dash = nil
			for _, length := range strings.Fields(value) {
				p.Dash = append(p.Dash, cssNumber(length))
			}

		case "font-weight":
			p.Bold = value == "600"
		}
	}
}

// cssNumber reads a number of figure.css. It panics if it is not a number, which is a mistake of this package.
func cssNumber(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("figure: number in the style sheet: " + err.Error())
	}

	return value
}

// rules returns the rules of figure.css. colour returns the text that replaces the name of a colour.
func rules(colour func(name string) string) []rule {
	var list []rule
	for line := range strings.Lines(css) {
		selector, body, _ := strings.Cut(strings.TrimSuffix(line, "}\n"), "{")
		list = append(list, rule{selector, os.Expand(body, colour)})
	}

	return list
}
