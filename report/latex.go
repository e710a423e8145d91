package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
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
	b.WriteString("% needs \\usepackage{booktabs}\n")
	b.WriteString("\\providecommand{\\dtchar}[2]{\\ifdefined\\Umathchar #2\\else\\texttt{U+#1}\\fi}\n")
	if len(e.Splits) == 0 {
		return b.Bytes()
	}
	explained := e.explanations()
	claimed := e.claimed()
	texTable(&b, e, claimed, "claims", []string{claimed.title + "."}, e.verdicts())
	texTable(&b, e, e.fit(), "fit", explained[:2], e.notes())
	texTable(&b, e, e.parts(), "covariance", explained[2:], e.methods())
	for _, t := range []struct {
		table
		id string
	}{{e.consistent(), "law"}, {e.perOutcome(), "outcomes"}, {e.sets(), "sets"}} {
		texTable(&b, e, t.table, t.id, []string{t.title + "."}, nil)
	}
	for _, t := range e.intervals() {
		texTable(&b, e, t, "intervals", []string{t.title + "."}, e.intervalWords())
	}
	for i, t := range e.comparisons() {
		texTable(&b, e, t, fmt.Sprintf("methods-%d", i+1), []string{t.title + "."}, e.comparisonWords())
	}
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

func texTable(b *bytes.Buffer, e Experiment, t table, id string, caption, notes []string) {
	if t.columns() == 0 || len(t.labels) == 0 {
		return
	}
	title := texEscape(shorten(e.title(), 2*longName))
	text := title + "."
	for _, s := range caption {
		text += " " + texEscape(s)
	}
	floats := texFloats(texParts(t))
	for k, parts := range floats {
		label := "tab:" + slug(e.Name) + "-" + id
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
		for from := 0; from < len(p.labels); {
			if room < heads+min(len(p.labels)-from, 6) && len(float) > 0 {
				out, float, room = append(out, float), nil, texRows
			}
			n := min(len(p.labels)-from, max(room-heads, 6))
			float, room = append(float, p.rows(from, from+n)), room-heads-n
			from += n
		}
	}
	return append(out, float)
}

// rows is the part of a table with the rows from and up to before to.
func (t table) rows(from, to int) table {
	out := table{title: t.title, corner: t.corner, labels: t.labels[from:to]}
	for _, g := range t.groups {
		h := group{head: g.head}
		for _, c := range g.columns {
			c.cells = c.cells[from:to]
			h.columns = append(h.columns, c)
		}
		out.groups = append(out.groups, h)
	}
	return out
}

// texParts breaks a table into ones that fit the text width, at groups where
// possible; each repeats the labels.
func texParts(t table) []table {
	room := texRoom - texLabelWidth(t)
	var parts []table
	part, used := table{corner: t.corner, labels: t.labels}, 0.0
	take := func(g group) {
		w := texGroupWidth(g)
		if used > 0 && used+w > room {
			parts = append(parts, part)
			part, used = table{corner: t.corner, labels: t.labels}, 0
		}
		part.groups, used = append(part.groups, g), used+w
	}
	for _, g := range t.groups {
		if texGroupWidth(g) <= room || len(g.columns) == 1 {
			take(g)
			continue
		}
		// A group wider than a page: as many of its columns as there is room for,
		// under its heading each time.
		for _, c := range g.columns {
			one := group{g.head, []column{c}}
			last := len(part.groups) - 1
			if last >= 0 && part.groups[last].head == g.head {
				wider := group{g.head, append(slices.Clone(part.groups[last].columns), c)}
				if w := used - texGroupWidth(part.groups[last]) + texGroupWidth(wider); w <= room {
					part.groups[last], used = wider, w
					continue
				}
			}
			take(one)
		}
	}
	return append(parts, part)
}

func texLabelWidth(t table) float64 {
	w := texWidth(t.corner)
	for _, l := range t.labels {
		w = math.Max(w, texWidth(texFit(l, texLabel)))
	}
	return w
}

// texColumnWidth is the width of a column with the gap before it.
func texColumnWidth(c column) float64 {
	w := texWidth(c.head)
	for _, n := range c.cells {
		w = math.Max(w, n.texWidth())
	}
	return texGap + w
}

func texGroupWidth(g group) float64 {
	w := 0.0
	for _, c := range g.columns {
		w += texColumnWidth(c)
	}
	return math.Max(w, texGap+texWidth(g.head))
}

func (n number) texWidth() float64 {
	if n.text != "" {
		return texWidth(texFit(n.text, texWords))
	}
	s := n.mean
	if n.std != "" {
		s += " ± " + n.std + "  " // blanks around an operator
	}
	if n.exp != 0 {
		s += "  ()×10⁻²"
	}
	return texWidth(strings.ReplaceAll(s, "-", "−"))
}

// texWidths are the widths of Computer Modern's letters at 10 pt.
var texWidths = map[rune]float64{
	'f': 3.1, 'i': 2.8, 'j': 3.1, 'l': 2.8, 'm': 8.4, 'r': 4, 's': 4, 't': 3.9, 'w': 7.3, 'c': 4.5, 'e': 4.5, 'z': 4.5,
	'a': 5, 'g': 5, 'o': 5,
	'I': 3.7, 'J': 5.2, 'M': 9.2, 'W': 10.3, '.': 2.8, ',': 2.8, ':': 2.8, ';': 2.8, '\'': 2.8, '!': 2.8, '|': 2.8,
	'[': 2.8, ']': 2.8, '-': 3.4,
	'(': 3.9, ')': 3.9, ' ': 3.4, '/': 5, '±': 7.8, '−': 7.8, '×': 7.8, '→': 10, '²': 4.5, '³': 4.5, '⁻': 6.3, '°': 4.5,
	'–': 5, '—': 10, '…': 7.5, '\u0302': 0,
}

// texWidth estimates how wide a text is set in \footnotesize, in points; it errs
// on the wide side.
func texWidth(s string) float64 {
	w := 0.0
	for _, r := range clean(s) {
		v, ok := texWidths[r]
		switch {
		case ok:
		case r >= '0' && r <= '9':
			v = 5
		case r < 0x7f && r >= 'a' || texSymbols[r] != "" && r > 0x7f:
			v = 5.8
		case r < 0x180:
			v = 7.9
		default:
			v = 5.3 * float64(len(fmt.Sprintf("U+%04X", r)))
		}
		w += v
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
	spec, heads, rules, subs := "@{}l", "", "", texEscape(t.corner)
	at := 2
	for _, g := range t.groups {
		n := len(g.columns)
		if g.head == "" {
			heads += strings.Repeat(" &", n)
		} else {
			heads += fmt.Sprintf(" & \\multicolumn{%d}{c}{%s}", n, texEscape(g.head))
			rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", at, at+n-1)
		}
		at += n
		for _, c := range g.columns {
			if c.text {
				spec += "l"
			} else {
				spec += "r"
			}
			subs += " & " + texEscape(c.head)
		}
	}
	fmt.Fprintf(b, "\\begin{tabular}{%s@{}}\n\\toprule\n", spec)
	if rules != "" {
		fmt.Fprintf(b, "%s \\\\\n%s\n", strings.TrimPrefix(heads, " "), rules)
	}
	fmt.Fprintf(b, "%s \\\\\n\\midrule\n", subs)
	for i, l := range t.labels {
		b.WriteString(texEscape(texFit(l, texLabel)))
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
