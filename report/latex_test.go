package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/score"
)

// texExperiments are test cases for tables.tex: usual ones, one with every
// hostile name, one with many splits, outcomes and methods, and one whose
// names are as wide as letters get.
func texExperiments() []Experiment {
	many := rotor()
	many.Name = "many splits"
	one := many.Splits[0]

	many.Splits = nil
	for i := range 40 {
		s := one
		s.Name = fmt.Sprintf("theta_deg=%d", 10*i)
		s.HeldOut = fmt.Sprintf("theta_deg = %d and 3000 ≤ rpm ≤ 5000", 10*i)
		s.Reach = "extrapolation in theta_deg"
		if i == 0 {
			s.Methods = comparedExperiment().Splits[0].Methods
		}

		many.Splits = append(many.Splits, s)
	}

	wide := rotor()
	wide.Splits = nil
	for _, n := range []string{strings.Repeat("W", 300), strings.Repeat("M ", 100), strings.Repeat("羽", 50)} {
		s := one
		s.Name = n
		s.HeldOut = n
		s.Reach = n
		wide.Splits = append(wide.Splits, s)
	}

	compared := comparedExperiment()
	for i := range compared.Splits[0].Methods { // numbers as long as they get
		m := &compared.Splits[0].Methods[i]
		for _, key := range []string{"e", "nll", "coverage95", "sum_e_ratio"} {
			m.Values = append(m.Values, score.Keyed{Key: key, Value: score.Value{Mean: -1234.5, Std: 0.0123, N: 5}})
		}
	}

	return []Experiment{rotor(), propeller(), compared, hostileExperiment(hostile), many, wide}
}

var tabularRE = regexp.MustCompile(`(?s)\\begin\{tabular\}\{@\{\}l([lr]+)@\{\}\}\n(.*?)\\end\{tabular\}`)

// pageRows is the largest number of rows and heads of tabulars on a page. A page of article has 550 pt for text at
// 10 pt. 40 rows of \footnotesize, 9.5 pt each, leave 170 pt for rules, the caption and the notes.
const pageRows = 40

// TestLaTeXStructure checks without LaTeX: no float has more rows than a page, no tabular has more than 12 columns of
// numbers, every table of the experiment that has rows is there, and labels are unique.
func TestLaTeXStructure(t *testing.T) {
	for _, e := range texExperiments() {
		tex := string(LaTeX(e))
		checkTeX(t, tex)

		labels := map[string]bool{}
		for _, l := range regexp.MustCompile(`\\label\{([^}]*)\}`).FindAllStringSubmatch(tex, -1) {
			if labels[l[1]] {
				t.Errorf("label %s occurs twice", l[1])
			}
			labels[l[1]] = true
		}

		tables := map[string]table{
			"results": resultsTable(e.results()), "claims": e.claimsTable(), "fit": e.fitTable(compared),
			"covariance": e.covPartsTable(), "law": e.identitiesTable(), "sets": e.setsTable(),
			"intervals": e.intervalsTable(),
		}
		for i, comparison := range e.methodsTables() {
			tables[fmt.Sprintf("methods-%d", i+1)] = comparison
		}

		for id, content := range tables {
			label := "tab:" + slug(e.Name) + "-" + id
			hasTable := labels[label] // the first of its floats
			assert.Equal(t, !content.isEmpty(), hasTable, "%s", label)
		}

		for _, float := range strings.Split(tex, "\\begin{table}")[1:] {
			rows := 0
			for _, tab := range tabularRE.FindAllStringSubmatch(float, -1) {
				// A number of three digits and the gap before it are 22 pt wide in eight
				// point type; of 345 pt that leaves room for a dozen and a label.
				if n := strings.Count(tab[1], "r"); n > 12 {
					t.Errorf("%.40s: %d columns of numbers side by side", e.Name, n)
				}
				rows += strings.Count(tab[2], "\\\\\n")
			}

			if rows > pageRows {
				t.Errorf("%.40s: %d rows in one float", e.Name, rows)
			}
		}
	}
}

// TestLaTeXCompiles lets pdfLaTeX judge, where there is one: no error, no box
// wider than the text of article, no float higher than a page.
func TestLaTeXCompiles(t *testing.T) {
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("no pdflatex is installed (Debian: apt-get install texlive-latex-recommended)")
	}

	for i, e := range texExperiments() {
		dir := t.TempDir()

		doc := "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs}\n\\begin{document}\n" +
			"\\input{tables}\n\\clearpage\nText.\n\\end{document}\n"
		for name, s := range map[string]string{"doc.tex": doc, "tables.tex": string(LaTeX(e))} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644))
		}

		cmd := exec.Command(pdflatex, "-interaction=nonstopmode", "-halt-on-error", "doc.tex")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil && strings.Contains(string(out), "not found") && strings.Contains(string(out), "booktabs") {
			t.Skip("pdflatex has no booktabs (Debian: apt-get install texlive-latex-recommended)")
		}

		if err != nil {
			t.Errorf("experiment %d: %v\n%s", i, err, out[max(0, len(out)-1500):])
			continue
		}

		log := strings.ReplaceAll(string(out), "\n", " ")
		for _, bad := range []string{"Overfull \\\\hbox.{0,120}", "Float too large.{0,60}"} {
			for _, found := range regexp.MustCompile(bad).FindAllString(log, 5) {
				t.Errorf("experiment %d (%.40s): %s", i, e.Name, found)
			}
		}
	}
}
