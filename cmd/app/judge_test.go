package app

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The text of docs/judge.md has the numbers that pipeline judge prints of the committed predictions of scikit-learn.
// TestDocumentCommands compares the block of output.
func TestJudgeSample(t *testing.T) {
	page := strings.Join(strings.Fields(document(t, "docs/judge.md")), " ")
	judging := command(filepath.Join(repository, "examples", "propeller-stand"), "judge", "sklearn-gp.csv", "--against",
		"pairs.csv", "--groups", "propeller")

	output, err := judging.CombinedOutput()
	require.NoError(t, err, "%s", output)

	lines := string(output)
	words := strings.Join(strings.Fields(lines), " ")
	for _, c := range []struct{ text, printed, stated string }{
		{
			lines, `all +as stated .* (\d+) ± \d+ % `,
			"Only N % of the values lie inside the process's own 95 % intervals",
		},
		{words, `86 ± 12 % and (\d+ ± \d+) % lie inside`, "contain on average N % of a propeller's values"},
		{
			lines, `propeller=5 +calibrated .* (\d+) ± \d+ % `,
			"They contain N % for propeller 5, the only one with four blades",
		},
	} {
		match := regexp.MustCompile(c.printed).FindStringSubmatch(c.text)
		require.NotNil(t, match, "%s is not printed:\n%s", c.printed, output)
		assert.Contains(t, page, strings.Replace(c.stated, "N", match[1], 1), "the text of docs/judge.md")
	}
}
