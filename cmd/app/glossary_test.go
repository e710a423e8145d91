package app

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/docs"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/report/answer/predict"
	"doubletake/train/score"
)

// TestColumnsAreExplained looks up every column of predict's files, every metric, and every heading of a listing that a
// command prints. It reads the headings off the source: all texts in the Heads of a Listing. Headings of report's
// tables are tested there; columns of Arrow tables and keys are the reference's own.
func TestColumnsAreExplained(t *testing.T) {
	named := func(where, column string) {
		t.Helper()

		assert.NotNil(t, docs.Named(column, metrics()...), "%s: the glossary has no %q", where, column)
	}

	for _, c := range predict.Columns {
		if c.Name("y") != "y" {
			named("predict", c.Name("y"))
		}
	}

	for _, m := range score.Metrics {
		named("metrics", m.Key)
	}

	files, err := filepath.Glob("*.go")
	require.NoError(t, err)

	count := 0
	for _, path := range append(files, "../../report/answer/predict/print.go") {
		for _, head := range listingHeads(t, path) {
			count++
			named(path, head)
		}
	}

	assert.GreaterOrEqual(t, count, 60, "headings that were found")
}

// listingHeads returns the texts in all expressions of a file that give the Heads of a listing: composite literals with
// a field Heads, and what is appended to a field Heads. It leaves out "", and the ends of headings that are put
// together.
func listingHeads(t *testing.T, path string) []string {
	t.Helper()

	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)

	var heads []string
	collect := func(expression ast.Node) {
		ast.Inspect(expression, func(node ast.Node) bool {
			if _, isSum := node.(*ast.BinaryExpr); isSum { // such as "with " + name
				return false
			}

			literal, isLiteral := node.(*ast.BasicLit)
			if isLiteral && literal.Kind == token.STRING && literal.Value != `""` {
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				heads = append(heads, text)
			}

			return true
		})
	}

	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.KeyValueExpr:
			if name, isName := node.Key.(*ast.Ident); isName && name.Name == "Heads" {
				collect(node.Value)
			}

		case *ast.AssignStmt:
			field, isField := node.Lhs[0].(*ast.SelectorExpr)
			if isField && field.Sel.Name == "Heads" {
				collect(node.Rhs[0])
			}
		}

		return true
	})

	return heads
}

// TestWordsAreExplained collects the words that the program prints: in every block of output of the documents, which
// TestDocumentCommands compares with what is printed, and in the sample of the README. Each word is a term of the
// glossary, or a part of one that stands there whole, or one of testdata/plain-words.txt: words that an engineer of a
// wind tunnel knows. The words of a long run's tables and page are collected with DOUBLETAKE_LONG=1.
func TestWordsAreExplained(t *testing.T) {
	plain := map[string]bool{}
	for _, word := range strings.Fields(string(testfile.Read(t, "testdata/plain-words.txt"))) {
		plain[word] = true
	}

	for _, name := range documents(t) {
		for _, block := range codeBlocks(document(t, name), "output") {
			assert.Empty(t, unexplained(block.text, plain), "%s, block at line %d", name, block.line)
		}
	}

	_, sample, found := strings.Cut(document(t, "README.md"), "```\ndrone: simulated data")
	require.True(t, found, "the README has a sample of a run")
	sample, _, _ = strings.Cut(sample, "```")
	assert.Empty(t, unexplained(sample, plain), "the sample of the README")

	if !longtest.IsLong() {
		return
	}

	dir, _ := undisturbedRun(t)
	t.Chdir(dir)
	for _, words := range [][]string{
		{"report", "--tables"},
		{"report"},
		{"predict", "rotor/2-blades", "--at", "blades=3,rpm=4000,theta_deg=0", "--network"},
		{"suggest", "rotor/2-blades"},
		{"budget", "rotor"},
		{"status"},
		{"check"},
		{"log"},
		{"contrast", "rotor", "--a", "blades=2", "--b", "blades=3"},
		{"inspect", "runs/rotor/triplets.arrow"},
	} {
		var stdout, stderr strings.Builder
		require.Zero(t, run(words, &stdout, &stderr), "%q: %s", words, &stderr)
		assert.Empty(t, unexplained(stdout.String()+stderr.String(), plain), "pipeline %s", strings.Join(words, " "))
	}

	page := string(testfile.Read(t, "runs/report.html"))
	page = strings.ReplaceAll(page, "<wbr>", "") // allows a line break within a name
	page = regexp.MustCompile(`(?s)<(script|style|svg).*?</(script|style|svg)>|<[^>]*>`).ReplaceAllString(page, " ")
	assert.Empty(t, unexplained(html.UnescapeString(page), plain), "the page")
}

// isPlain reports whether a word, or the word without a usual ending, is among the plain words.
func isPlain(word string, plain map[string]bool) bool {
	lower := strings.ToLower(word)
	for _, ending := range []string{"", "s", "es", "d", "ed", "ing"} {
		stem, has := strings.CutSuffix(lower, ending)
		if has && plain[stem] {
			return true
		}
	}

	return plain[word]
}

var (
	// aWord is a word as it is printed. Hyphens and underscores belong to words.
	aWord = regexp.MustCompile(`[\p{L}][\p{L}\p{N}_'²̂-]*`)
	// aName is text that is a user's own or means a file or a place: paths, names of files, pairs of a name and a value.
	aName = regexp.MustCompile(`\S*[/\\]\S*|\S+\.(csv|wav|yaml|json|arrow|html|txt|py)\b|\S+=\S+|"[^"]*"|--\S+`)
	// conditions are the names of conditions, constants and runs of the campaigns in the documents, and sums of files.
	conditions = regexp.MustCompile(`tow_speed_m_s|\btsr\b|power_w|area_m2|rho_kg_m3|pitch_in|Perf-\S+|` +
		`simulated_rotor_\S+|\b[0-9a-fT]*\d[0-9a-fT]{5,}\S*|\b(float64|utf8)\b|\d(\.\d+)?e-\d+`)
)

// unexplained returns the words of a text that are neither plain nor explained by the glossary.
func unexplained(text string, plain map[string]bool) []string {
	text = conditions.ReplaceAllString(aName.ReplaceAllString(text, " "), " ")
	text = " " + strings.Join(strings.Fields(text), " ") + " "
	for _, name := range termNames() {
		text = name.ReplaceAllString(text, " ")
	}

	var left []string
	for _, word := range aWord.FindAllString(text, -1) {
		word = strings.TrimSuffix(strings.Trim(word, "-_'"), "'s")
		isExplained := isPlain(word, plain) || docs.Named(word, metrics()...) != nil
		if word == "" || isExplained {
			continue
		}

		if !slices.Contains(left, word) {
			left = append(left, word)
		}
	}

	return left
}

// termNames returns a pattern for each name of the glossary that is more than letters, the longest first.
var termNames = sync.OnceValue(func() []*regexp.Regexp {
	var names []string
	for _, term := range slices.Concat(docs.Glossary(), docs.Columns()) {
		for _, name := range strings.Split(term.Name, ", ") {
			if strings.ContainsAny(name, " -|") {
				names = append(names, name)
			}
		}
	}

	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) })

	var patterns []*regexp.Regexp
	for _, name := range names {
		end := `s?\b`
		if strings.HasSuffix(name, "|") {
			end = ""
		}

		patterns = append(patterns, regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(name)+end))
	}

	return patterns
})

func TestGlossaryOfKeysAndColumns(t *testing.T) {
	for word, want := range map[string]string{
		"honest":        "intervals for groups that were never measured",
		"lift_n_low":    "ends of the interval",
		"sum_e_ratio":   "1 if calibrated",
		"duration_s":    "duration of the run",
		"network_y_cov": "of the networks alone",
		"bpf1_db":       "level of the first harmonic",
		"bpf12_db":      "level of the first harmonic",
		"ignorance":     "the part of the uncertainty that more or other data would reduce",
		"far run":       "further from the prediction of the other runs",
		"order form":    "levels of harmonics are predicted by their order and frequency together",
		"floor guard":   "the shaft's orders are so near to each other",
	} {
		var b strings.Builder
		require.Zero(t, run([]string{"glossary", word}, &b, io.Discard), "%s: %s", word, &b)
		assert.Contains(t, b.String(), want, "%s: %s", word, &b)
	}
}
