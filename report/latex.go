package report

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// LaTeX returns tables.tex: the tables of an experiment as floats, to be \input
// into a document that loads booktabs. The tables fit the text width of the class
// article at 10 pt, the narrowest usual width. The file compiles with pdfLaTeX,
// XeLaTeX and LuaLaTeX. pdfLaTeX shows the codes of letters that it cannot set; the
// other two set the letters.
func LaTeX(experiment Experiment) []byte {
	var b bytes.Buffer
	if provenance := experiment.provenance(); provenance != "" {
		fmt.Fprintf(&b, "%% %s\n", asciiComment(provenance))
	}

	b.WriteString(texPreamble)

	if len(experiment.Splits) == 0 {
		return b.Bytes()
	}

	title := experiment.title()
	prefix := slug(experiment.Name)
	tables := []texTable{
		{id: "results", content: resultsTable(experiment.results()), notes: experiment.verdicts()},
		{id: "claims", content: experiment.claimsTable()},
		{
			id: "fit", content: experiment.fitTable(compared), caption: experiment.fitExplanations(),
			notes: experiment.notes(),
		},
		{
			id: "covariance", content: experiment.covPartsTable(), caption: experiment.covExplanations(),
			notes: experiment.methodWords(),
		},
		{id: "law", content: experiment.identitiesTable()},
		{id: "sets", content: experiment.setsTable()},
		{id: "intervals", content: experiment.intervalsTable(), notes: experiment.intervalWords()},
	}

	for i, comparison := range experiment.methodsTables() {
		tables = append(tables, texTable{
			id: fmt.Sprintf("methods-%d", i+1), content: comparison, notes: experiment.comparisonWords(),
		})
	}

	for _, t := range tables {
		t.id = prefix + "-" + t.id
		t.write(&b, title)
	}

	return b.Bytes()
}

// texPreamble defines \dtchar{code}{letter}, which sets the letter, or its code with pdfLaTeX.
const texPreamble = "% needs \\usepackage{booktabs}\n" +
	"\\providecommand{\\dtchar}[2]{\\ifdefined\\Umathchar #2\\else\\texttt{U+#1}\\fi}\n"

// asciiComment returns a text for a comment of LaTeX, with "?" for line breaks and for all characters beyond ASCII.
func asciiComment(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x20 || r > 0x7e {
			r = '?'
		}

		b.WriteRune(r)
	}

	return b.String()
}

// Lengths in points. Tables are set in \footnotesize of a 10 pt document.
const (
	texRoom  = 345.0 // \textwidth of article at 10 pt
	texGap   = 6.0   // twice \tabcolsep as set here
	texLabel = 110.0 // largest width of the label column
	texWords = 130.0 // largest width of a column of words
)

// Sizes of a float, which fills a page at most, in lines.
const (
	texRows        = 40 // rows and heads of tabulars that fit into a float
	texRowsHead    = 28 // the same for the first float, whose caption is long
	texNotes       = 16 // lines of notes that fit below a float
	texNoteLetters = 80 // letters in a line of notes
)

// texTable is a table to be written as floats.
type texTable struct {
	id      string   // the label of the first float is "tab:" and the id
	content table    // split over several floats if it is too wide or too long
	caption []string // sentences; if there are none, the caption is the table's title
	notes   []string // sentences below the last float
}

// write writes the table in as many floats as it needs. A table without rows is left out.
func (t texTable) write(b *bytes.Buffer, title string) {
	if t.content.isEmpty() {
		return
	}

	title = texEscape(shorten(title, 2*longName))
	caption := cmp.Or(strings.Join(t.caption, " "), strings.TrimSpace(t.content.Title+". "+t.content.Below))
	text := title + ". " + texEscape(caption)

	lines := 0 // of the notes
	for _, note := range t.notes {
		lines += 2 + textWidth(note)/texNoteLetters // 2: the last, partly filled line and the space between notes
	}

	floats := texFloats(t.content.breakAtWidth(texRoom-texLabelWidth(t.content), texPartWidth))
	for k, parts := range floats {
		label := "tab:" + t.id
		if k > 0 {
			text = title + ", continued."
			label = fmt.Sprintf("%s-%d", label, k+1)
		}

		fmt.Fprintf(b,
			"\n\\begin{table}\n\\centering\\sloppy\\setlength{\\tabcolsep}{%gpt}\n\\caption{%s}\n\\label{%s}\n"+
				"\\smallskip\\footnotesize\n", texGap/2, text, label)

		for i, part := range parts {
			if i > 0 {
				b.WriteString("\n\\medskip\n\n")
			}
			writeTabular(b, part)
		}

		last := k == len(floats)-1
		if last && lines <= texNotes {
			texNotesBelow(b, t.notes)
		}

		b.WriteString("\\end{table}\n")

		if last && lines > texNotes { // they do not fit into a float, so they follow in the text
			b.WriteString("\n\\begingroup\\sloppy\\footnotesize\\noindent\n")
			texNotesBelow(b, t.notes)
			b.WriteString("\\endgroup\n")
		}
	}
}

// texNotesBelow writes each note as a paragraph.
func texNotesBelow(b *bytes.Buffer, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(b, "\n\\smallskip\n{\\raggedright %s\\par}\n", texEscape(note))
	}
}

// texFloats distributes tabulars over floats, each of which fits on a page. It divides tabulars that are too long.
func texFloats(parts []table) [][]table {
	const heads = 4   // lines above the rows and between tabulars
	const fewRows = 6 // rows that are kept together
	var floats [][]table
	var float []table // the float that is being filled

	room := texRowsHead // lines left in float
	for _, part := range parts {
		rows := part.Rows
		for len(rows) > 0 {
			if len(float) > 0 && room < heads+min(len(rows), fewRows) {
				floats = append(floats, float)
				float = nil
				room = texRows
			}

			count := min(len(rows), max(room-heads, fewRows))
			part.Rows = rows[:count]
			rows = rows[count:]
			float = append(float, part)
			room -= heads + count
		}
	}

	return append(floats, float)
}

// texLabelWidth returns the width of a table's column of labels, in points.
func texLabelWidth(t table) float64 {
	widest := texWidth(t.Corner)
	for _, row := range t.Rows {
		widest = max(widest, texWidth(texFit(row.Label, texLabel)))
	}

	return widest
}

// texPartWidth returns the width of a table's columns, except the labels, with the gaps before them, in points.
func texPartWidth(t table) float64 {
	sum := 0.0
	for _, group := range t.Groups() {
		columns := 0.0
		for k, head := range group.Columns {
			widest := texWidth(head.Name)
			for _, row := range t.Rows {
				widest = max(widest, row.Cells[group.first+k].texWidth())
			}

			columns += texGap + widest
		}

		sum += max(columns, texGap+texWidth(group.Head))
	}

	return sum
}

// texWidth estimates how wide a cell is set, in points.
func (n number) texWidth() float64 {
	if n.text != "" {
		return texWidth(texFit(n.text, texWords))
	}

	left, right := n.splitAtSpread()

	return texWidth(strings.ReplaceAll(left+right, "-", "−"))
}

// texWidth estimates how wide a text is set in \footnotesize, in points. It errs
// on the wide side.
func texWidth(text string) float64 {
	sum := 0.0
	for _, r := range clean(text) {
		sum += texRuneWidth(r)
		if r == 'M' || r == 'W' {
			sum += 2.4
		}
	}

	return 0.86 * sum // letters of 8 pt are a little wider than eight tenths of letters of 10 pt
}

// texRuneWidth estimates the width of a letter of 10 pt, in points. M and W are a little wider than it returns.
func texRuneWidth(r rune) float64 {
	isDigit := r >= '0' && r <= '9'
	isSmallLetter := r >= 'a' && r <= 'z' && r != 'm' && r != 'w'
	switch {
	case strings.ContainsRune("fijl.,:;'!|[]", r):
		return 3.1
	case strings.ContainsRune("cerstz() -", r):
		return 4.2
	case isDigit, isSmallLetter:
		return 5
	case r == '\u0302': // of v̂, which texEscape writes as one symbol
		return 0
	case isOneLetter(r):
		return 8
	}

	return 32 // pdfLaTeX writes the code, such as U+7FBD
}

// texFit shortens a text until it is no wider than room, in points.
func texFit(text string, room float64) string {
	text = clean(text)
	for n := min(longName, textWidth(text)); n > 4 && texWidth(text) > room; n-- {
		text = shorten(text, n)
	}

	return text
}

// writeTabular writes the heads and rows of a table.
func writeTabular(b *bytes.Buffer, t table) {
	groups := ""
	rules := "" // below the names of groups
	for _, group := range t.Groups() {
		columns := len(group.Columns)
		if group.Head == "" {
			groups += " &"
		} else {
			groups += fmt.Sprintf(" & \\multicolumn{%d}{c}{%s}", columns, texEscape(group.Head))
			rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", group.first+2, group.first+columns+1)
		}
	}

	alignment := "@{}l"
	names := texEscape(t.Corner)
	for _, head := range t.Heads {
		if head.Words {
			alignment += "l"
		} else {
			alignment += "r"
		}

		names += " & " + texEscape(head.Name)
	}

	fmt.Fprintf(b, "\\begin{tabular}{%s@{}}\n\\toprule\n", alignment)

	if rules != "" {
		fmt.Fprintf(b, "%s \\\\\n%s\n", strings.TrimPrefix(groups, " "), rules)
	}

	fmt.Fprintf(b, "%s \\\\\n\\midrule\n", names)

	for _, row := range t.Rows {
		b.WriteString(texEscape(texFit(row.Label, texLabel)))

		for _, cell := range row.Cells {
			b.WriteString(" & " + cell.tex())
		}

		b.WriteString(" \\\\\n")
	}

	b.WriteString("\\bottomrule\n\\end{tabular}\n")
}

// slug turns a name into a label of lower-case letters, digits and hyphens.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		isLetter := r >= 'a' && r <= 'z'
		isDigit := r >= '0' && r <= '9'
		switch {
		case isLetter, isDigit:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}

		if b.Len() >= longName {
			break
		}
	}

	return cmp.Or(strings.Trim(b.String(), "-"), "experiment")
}

// texSymbols has the LaTeX commands for characters that LaTeX would read as commands, and for characters in this
// package's texts that fonts may lack.
var texSymbols = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_\allowbreak{}`,
	'~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '|': `\textbar{}`, '<': `\textless{}`, '>': `\textgreater{}`,
	'"': `\symbol{34}`, '`': `\symbol{96}`,
	// LaTeX would take an opening bracket or a star after \\ for an argument of \\.
	'[': `{[}`, ']': `{]}`, '*': `{*}`,
	'±': `$\pm$`, '−': `$-$`, '×': `$\times$`, '²': `$^{2}$`, '³': `$^{3}$`, '°': `$^{\circ}$`, '…': `\dots{}`, '–': `--`,
	'—': `---`,
	'μ': `$\mu$`, 'µ': `$\mu$`, 'δ': `$\delta$`, 'σ': `$\sigma$`, 'Σ': `$\Sigma$`, 'θ': `$\theta$`, 'α': `$\alpha$`,
	'β': `$\beta$`,
	'γ': `$\gamma$`, 'κ': `$\kappa$`, 'ν': `$\nu$`, 'ρ': `$\rho$`, 'φ': `$\varphi$`, 'Ω': `$\Omega$`, 'Δ': `$\Delta$`,
	'≤': `$\leq$`, '≥': `$\geq$`, '→': `$\rightarrow$`, '∞': `$\infty$`, '·': `$\cdot$`,
}

// isOneLetter reports whether every LaTeX sets the character as one letter or symbol.
func isOneLetter(r rune) bool {
	isASCII := r < 0x7f
	isAccented := r >= 0xc0 && r <= 0x17f

	return isASCII || isAccented || texSymbols[r] != ""
}

// texEscape escapes a text, so that LaTeX sets every character and runs none as a command. Letters that some engines
// cannot set become \dtchar{code}{letter}.
func texEscape(text string) string {
	var b strings.Builder
	last := rune(0)

	// Two symbols consist of several characters. clean leaves no control character in a text, so control characters
	// can stand for these symbols.
	const hundredths = '\x00'
	const vHat = '\x01'
	toLetters := strings.NewReplacer("×10⁻²", string(hundredths), "v̂", string(vHat))

	for _, r := range toLetters.Replace(clean(text)) {
		switch symbol, isSymbol := texSymbols[r]; {
		case r == hundredths:
			b.WriteString(`$\times 10^{-2}$`)
		case r == vHat:
			b.WriteString(`$\hat v$`)
		case isSymbol:
			b.WriteString(symbol)
		case r == last && (r == '-' || r == '\''):
			b.WriteString("{}" + string(r)) // LaTeX would join two hyphens to a dash, and two apostrophes to a quote
		case isOneLetter(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\dtchar{%04X}{%c}`, r, r)
		}

		last = r
	}

	return b.String()
}
