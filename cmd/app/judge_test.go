package app

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/judge.md shows lines of what the program prints of the committed predictions of scikit-learn, and the numbers
// of its text are those.
func TestJudgeSample(t *testing.T) {
	page := document(t, "docs/judge.md")
	blocks := codeBlocks(page, "")
	require.Len(t, blocks, 1, "docs/judge.md has blocks")

	c := command(filepath.Join(repository, "examples", "propeller-stand"), "judge", "sklearn-gp.csv", "--against",
		"pairs.csv", "--groups", "propeller")

	out, err := c.CombinedOutput()
	require.NoError(t, err, "%v\n%s", err, out)

	lines, n := strings.Split(string(out), "\n"), 0
	for _, l := range strings.Split(blocks[0].text, "\n") {
		if n++; l != "…" && !slices.Contains(lines, l) {
			t.Errorf("docs/judge.md shows a line that the program does not print: %q", l)
		}
	}

	assert.GreaterOrEqual(t, n, 15, "only %d lines were compared", n)

	for _, c := range []struct{ printed, says string }{
		{`all +as stated .* (\d+) ± \d+ % `, "Of its own 95 % intervals, N % of the values are inside"},
		{`86 ± 12 %\nand (\d+ ± \d+) % lie inside`, "on average N % of a propeller's values are inside"},
		{`propeller=5 +calibrated .* (\d+) ± \d+ % `, "the\nonly one with four blades, N %"},
	} {
		m := regexp.MustCompile(c.printed).FindSubmatch(out)
		require.NotNil(t, m, "%q: the page does not say %q with it", m, c.says)
		assert.Contains(t, page, strings.Replace(c.says, "N", string(m[1]), 1),
			"%q: the page does not say %q with it", m, c.says)
	}
}
