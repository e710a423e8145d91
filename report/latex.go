package report

import (
	"bytes"
	"fmt"
	"strings"
)

// LaTeX returns tables.tex: the tables of an experiment as two floats, to be
// \input into a document that loads booktabs. It compiles with pdfLaTeX,
// XeLaTeX and LuaLaTeX: letters pdfLaTeX cannot set are shown there by their
// code, and as they are by the others.
func LaTeX(e Experiment) []byte {
	var b bytes.Buffer
	if p := e.provenance(); p != "" {
		fmt.Fprintf(&b, "%% %s\n", asciiComment(p))
	}
	b.WriteString("% needs \\usepackage{booktabs}\n")
	b.WriteString("\\providecommand{\\dtchar}[2]{\\ifdefined\\Umathchar #2\\else\\texttt{U+#1}\\fi}\n")
	if len(e.Splits) == 0 {
		return b.Bytes()
	}
	explained := e.explanations()
	texTable(&b, e, e.fit(), "fit", explained[:2], e.notes())
	texTable(&b, e, e.beside(), "covariance", explained[2:], e.methods())
	return b.Bytes()
}

// asciiComment keeps a comment on its line.
func asciiComment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '?'
		}
		return r
	}, s)
}

func texTable(b *bytes.Buffer, e Experiment, t table, id string, caption, notes []string) {
	if t.columns() == 0 {
		return
	}
	text := texEscape(shorten(e.title(), 2*longName)) + "."
	for _, s := range caption {
		text += " " + texEscape(s)
	}
	fmt.Fprintf(b, "\n\\begin{table}\n\\centering\n\\caption{%s}\n\\label{tab:%s-%s}\n", text, slug(e.Name), id)
	for i, part := range texParts(t) {
		if i > 0 {
			b.WriteString("\n\\medskip\n\n")
		}
		tabular(b, part)
	}
	for _, n := range notes {
		fmt.Fprintf(b, "\n\\smallskip\n{\\footnotesize %s\\par}\n", texEscape(n))
	}
	b.WriteString("\\end{table}\n")
}

// texColumns is how many columns of "mean ± spread" stand side by side on a
// page; more go into a second tabular of the same float.
const texColumns = 6

func texParts(t table) []table {
	var parts []table
	part := table{corner: t.corner, labels: t.labels}
	for _, g := range t.groups {
		if n := part.columns(); n > 0 && n+len(g.columns) > texColumns {
			parts = append(parts, part)
			part.groups = nil
		}
		part.groups = append(part.groups, g)
	}
	return append(parts, part)
}

func tabular(b *bytes.Buffer, t table) {
	spec, heads, rules, subs := "l", "", "", texEscape(t.corner)
	at := 2
	for _, g := range t.groups {
		n := len(g.columns)
		heads += fmt.Sprintf(" & \\multicolumn{%d}{c}{%s}", n, texEscape(g.head))
		rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", at, at+n-1)
		at += n
		for _, c := range g.columns {
			spec += "r"
			subs += " & " + texEscape(c.head)
		}
	}
	fmt.Fprintf(b, "\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n%s\n%s \\\\\n\\midrule\n", spec, heads, rules, subs)
	for i, l := range t.labels {
		b.WriteString(texEscape(shorten(clean(l), longName)))
		for _, g := range t.groups {
			for _, c := range g.columns {
				b.WriteString(" & " + c.cells[i].tex())
			}
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
}

// slug makes a label of a name: lower-case letters, digits and hyphens.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= longName {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "experiment"
}

// texSymbols are the characters LaTeX reads as commands, and those this
// package writes that fonts may lack.
var texSymbols = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`,
	'~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '|': `\textbar{}`, '<': `\textless{}`, '>': `\textgreater{}`,
	'"': `\symbol{34}`, '`': `\symbol{96}`,
	// An opening bracket or a star after \\ would be its argument.
	'[': `{[}`, ']': `{]}`, '*': `{*}`,
	'±': `$\pm$`, '−': `$-$`, '×': `$\times$`, '²': `$^{2}$`, '³': `$^{3}$`, '°': `$^{\circ}$`, '…': `\dots{}`, '–': `--`, '—': `---`,
	'μ': `$\mu$`, 'µ': `$\mu$`, 'δ': `$\delta$`, 'σ': `$\sigma$`, 'Σ': `$\Sigma$`, 'θ': `$\theta$`, 'α': `$\alpha$`, 'β': `$\beta$`,
	'γ': `$\gamma$`, 'κ': `$\kappa$`, 'ν': `$\nu$`, 'ρ': `$\rho$`, 'φ': `$\varphi$`, 'Ω': `$\Omega$`, 'Δ': `$\Delta$`,
	'≤': `$\leq$`, '≥': `$\geq$`, '→': `$\rightarrow$`, '∞': `$\infty$`, '·': `$\cdot$`,
}

// texEscape makes text that means nothing to LaTeX. Letters beyond those every
// engine sets become \dtchar{code}{letter}.
func texEscape(s string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range strings.ReplaceAll(clean(s), "×10⁻²", "\x00") {
		switch t, special := texSymbols[r]; {
		case r == 0: // clean lets none through
			b.WriteString(`$\times 10^{-2}$`)
		case special:
			b.WriteString(t)
		case r == '-' && last == '-':
			b.WriteString("{}-") // no dash made of two hyphens
		case r < 0x7f || r >= 0xc0 && r <= 0x17f:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\dtchar{%04X}{%c}`, r, r)
		}
		last = r
	}
	return b.String()
}
