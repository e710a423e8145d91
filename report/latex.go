package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// LaTeX returns tables.tex: the tables of an experiment as floats, to be \input
// into a document that loads booktabs. They fit the text width of article at
// 10 pt, the narrowest usual one. It compiles with pdfLaTeX, XeLaTeX and
// LuaLaTeX: letters pdfLaTeX cannot set are shown there by their code, and as
// they are by the others.
func LaTeX(e Experiment) []byte {
	var b bytes.Buffer
	if p := e.provenance(); p != "" {
		fmt.Fprintf(&b, "%% %s\n", asciiComment(p))
	}

	b.WriteString(texPreamble)

	if len(e.Splits) == 0 {
		return b.Bytes()
	}

	explained := e.explanations()
	notes := map[string][]string{"results": e.verdicts(), "fit": e.notes(), "covariance": e.methods()}

	captions := map[string][]string{"fit": explained[:2], "covariance": explained[2:]}
	for _, t := range []struct {
		table
		id string
	}{
		{e.results(math.MaxInt), "results"},
		{e.claimed(), "claims"},
		{e.fit(compared), "fit"},
		{e.parts(), "covariance"},
		{e.consistent(), "law"},
		{e.sets(), "sets"},
	} {
		texTable(&b, e.title(), slug(e.Name)+"-"+t.id, t.table, captions[t.id], notes[t.id])
	}

	texTable(&b, e.title(), slug(e.Name)+"-intervals", e.intervals(), nil, e.intervalWords())

	for i, t := range e.comparisons() {
		texTable(&b, e.title(), fmt.Sprintf("%s-methods-%d", slug(e.Name), i+1), t, nil, e.comparisonWords())
	}

	return b.Bytes()
}

const texPreamble = "% needs \\usepackage{booktabs}\n" +
	"\\providecommand{\\dtchar}[2]{\\ifdefined\\Umathchar #2\\else\\texttt{U+#1}\\fi}\n"

// asciiComment keeps a comment on its line.
func asciiComment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '?'
		}
		return r
	}, s)
}

// Lengths in points. Tables are set in \footnotesize of a 10 pt document.
const (
	texRoom     = 345.0 // \textwidth of article at 10 pt
	texGap      = 6.0   // twice \tabcolsep as set here
	texLabel    = 110.0 // at most, of the label column
	texWords    = 130.0 // at most, of a column of words
	texRows     = 40    // rows and heads of tabulars in one float: what a page holds
	texRowsHead = 28    // of the first one, whose caption is long
	texNotes    = 16    // lines of notes below one
)

// texTable writes a table with its caption, by default its title, and notes below.
func texTable(b *bytes.Buffer, title, id string, t table, caption, notes []string) {
	if t.empty() {
		return
	}

	title = texEscape(shorten(title, 2*longName))
	text := title + ". " + texEscape(cmp.Or(strings.Join(caption, " "), strings.TrimSpace(t.Title+". "+t.Below)))

	floats := texFloats(t.parts(texRoom-texLabelWidth(t), texPartWidth))
	for k, parts := range floats {
		label := "tab:" + id
		if k > 0 {
			text, label = title+", continued.", fmt.Sprintf("%s-%d", label, k+1)
		}

		fmt.Fprintf(b,
			"\n\\begin{table}\n\\centering\\sloppy\\setlength{\\tabcolsep}{%gpt}\n\\caption{%s}\n\\label{%s}\n"+
				"\\smallskip\\footnotesize\n", texGap/2, text, label)

		for i, part := range parts {
			if i > 0 {
				b.WriteString("\n\\medskip\n\n")
			}
			tabular(b, part)
		}

		long := 0
		for _, n := range notes {
			long += 2 + width(n)/80
		}

		last := k == len(floats)-1
		if last && long <= texNotes {
			texNotesBelow(b, notes)
		}

		b.WriteString("\\end{table}\n")

		if last && long > texNotes { // more than a float holds: in the text
			b.WriteString("\n\\begingroup\\sloppy\\footnotesize\\noindent\n")
			texNotesBelow(b, notes)
			b.WriteString("\\endgroup\n")
		}
	}
}

func texNotesBelow(b *bytes.Buffer, notes []string) {
	for _, n := range notes {
		fmt.Fprintf(b, "\n\\smallskip\n{\\raggedright %s\\par}\n", texEscape(n))
	}
}

// texFloats puts tabulars into floats that fit a page, long ones in pieces.
func texFloats(parts []table) [][]table {
	const heads = 4 // lines above the rows and between tabulars
	var out [][]table
	var float []table

	room := texRowsHead
	for _, p := range parts {
		for rows := p.Rows; len(rows) > 0; {
			if room < heads+min(len(rows), 6) && len(float) > 0 {
				out, float, room = append(out, float), nil, texRows
			}

			n := min(len(rows), max(room-heads, 6))
			p.Rows, rows = rows[:n], rows[n:]
			float, room = append(float, p), room-heads-n
		}
	}

	return append(out, float)
}

func texLabelWidth(t table) float64 {
	w := texWidth(t.Corner)
	for _, r := range t.Rows {
		w = max(w, texWidth(texFit(r.Label, texLabel)))
	}

	return w
}

// texPartWidth is the width of a table's columns with the gaps before them.
func texPartWidth(t table) float64 {
	sum := 0.0
	for _, g := range t.Groups() {
		wide := 0.0
		for k, h := range g.Columns {
			w := texWidth(h.Name)
			for _, r := range t.Rows {
				w = max(w, r.Cells[g.from+k].texWidth())
			}

			wide += texGap + w
		}

		sum += max(wide, texGap+texWidth(g.Head))
	}

	return sum
}

func (n number) texWidth() float64 {
	if n.text != "" {
		return texWidth(texFit(n.text, texWords))
	}

	left, right := n.parts()

	return texWidth(strings.ReplaceAll(left+right, "-", "−"))
}

// texWidth estimates how wide a text is set in \footnotesize, in points; it errs
// on the wide side.
func texWidth(s string) float64 {
	w := 0.0
	for _, r := range clean(s) {
		switch {
		case strings.ContainsRune("fijl.,:;'!|[]", r):
			w += 3.1
		case strings.ContainsRune("cerstz() -", r):
			w += 4.2
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'z' && r != 'm' && r != 'w':
			w += 5
		case unicode.In(r, unicode.Mn):
		case r < 0x180 || texSymbols[r] != "":
			w += 8
		default: // its code
			w += 32
		}

		if r == 'M' || r == 'W' {
			w += 2.4
		}
	}

	return 0.86 * w // 8 pt letters are a little wider than eight tenths
}

// texFit shortens a text to a width.
func texFit(s string, room float64) string {
	s = clean(s)
	for n := min(longName, width(s)); n > 4 && texWidth(s) > room; n-- {
		s = shorten(s, n)
	}

	return s
}

func tabular(b *bytes.Buffer, t table) {
	spec, heads, rules, names := "@{}l", "", "", texEscape(t.Corner)
	for _, g := range t.Groups() {
		n := len(g.Columns)
		if g.Head == "" {
			heads += " &"
		} else {
			heads += fmt.Sprintf(" & \\multicolumn{%d}{c}{%s}", n, texEscape(g.Head))
			rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", g.from+2, g.from+n+1)
		}
	}

	for _, h := range t.Heads {
		if h.Words {
			spec += "l"
		} else {
			spec += "r"
		}

		names += " & " + texEscape(h.Name)
	}

	fmt.Fprintf(b, "\\begin{tabular}{%s@{}}\n\\toprule\n", spec)

	if rules != "" {
		fmt.Fprintf(b, "%s \\\\\n%s\n", strings.TrimPrefix(heads, " "), rules)
	}

	fmt.Fprintf(b, "%s \\\\\n\\midrule\n", names)

	for _, r := range t.Rows {
		b.WriteString(texEscape(texFit(r.Label, texLabel)))

		for _, c := range r.Cells {
			b.WriteString(" & " + c.tex())
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
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_\allowbreak{}`,
	'~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '|': `\textbar{}`, '<': `\textless{}`, '>': `\textgreater{}`,
	'"': `\symbol{34}`, '`': `\symbol{96}`,
	// An opening bracket or a star after \\ would be its argument.
	'[': `{[}`, ']': `{]}`, '*': `{*}`,
	'±': `$\pm$`, '−': `$-$`, '×': `$\times$`, '²': `$^{2}$`, '³': `$^{3}$`, '°': `$^{\circ}$`, '…': `\dots{}`, '–': `--`,
	'—': `---`,
	'μ': `$\mu$`, 'µ': `$\mu$`, 'δ': `$\delta$`, 'σ': `$\sigma$`, 'Σ': `$\Sigma$`, 'θ': `$\theta$`, 'α': `$\alpha$`,
	'β': `$\beta$`,
	'γ': `$\gamma$`, 'κ': `$\kappa$`, 'ν': `$\nu$`, 'ρ': `$\rho$`, 'φ': `$\varphi$`, 'Ω': `$\Omega$`, 'Δ': `$\Delta$`,
	'≤': `$\leq$`, '≥': `$\geq$`, '→': `$\rightarrow$`, '∞': `$\infty$`, '·': `$\cdot$`,
}

// texEscape makes text that means nothing to LaTeX. Letters beyond those every
// engine sets become \dtchar{code}{letter}.
func texEscape(s string) string {
	var b strings.Builder
	last := rune(0)

	// clean lets no control character through, so that they can represent symbols
	// of several letters.
	for _, r := range strings.NewReplacer("×10⁻²", "\x00", "v̂", "\x01").Replace(clean(s)) {
		switch t, special := texSymbols[r]; {
		case r == 0:
			b.WriteString(`$\times 10^{-2}$`)
		case r == 1:
			b.WriteString(`$\hat v$`)
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
