package pipeline_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/report"
	"doubletake/train"
)

// The default pipeline.yaml, as committed, shows what the paper is about on the campaigns it simulates: networks fit
// their training data, do worse on held-out data, and have an E|cov| that rises there. It rises more for 2 blades,
// which are extrapolated to, than for 3, which lie between others. The bounds of the means over five seeds are those
// that the project set itself before any of this was run. The paper's measured campaigns give the same order.
func TestDefaultCampaigns(t *testing.T) {
	dir, _ := finishedIn(t, "default")
	for _, name := range []string{"drone", "airfoil"} {
		m := readMetrics(t, dir, name)
		assert.Equal(t, "simulated", m.Data, "%s: data", name)

		page := testfile.Read(t, filepath.Join(dir, "runs", name, "report", "tables.md"))
		assert.Contains(t, string(page), "simulated data")

		for _, s := range m.Splits {
			t.Logf("%s, held out %s: R² %.4f ± %.4f → %.3f ± %.3f, E|cov| × 100 %.2f ± %.2f → %.2f ± %.2f (× %.2f)", name,
				s.HeldOut, *s.Train.R2.Mean, *s.Train.R2.Std, *s.Test.R2.Mean, *s.Test.R2.Std,
				100**s.Train.AbsCov.Mean, 100**s.Train.AbsCov.Std, 100**s.Test.AbsCov.Mean, 100**s.Test.AbsCov.Std,
				covRise(s.Train, s.Test))
		}
	}

	train2, test2 := splitMetrics(t, dir, "drone", "2-blades")
	train3, test3 := splitMetrics(t, dir, "drone", "3-blades")
	assert.GreaterOrEqual(t, *train2.R2.Mean, 0.96, "drone: R² train, 2 blades held out")
	assert.GreaterOrEqual(t, *train3.R2.Mean, 0.96, "drone: R² train, 3 blades held out")
	assert.Greater(t, *test3.R2.Mean, *test2.R2.Mean, "drone: R² test, 3 blades held out against 2")
	assert.GreaterOrEqual(t, covRise(train2, test2), 1.3, "drone: E|cov| test/train, 2 blades held out")
	assert.Greater(t, covRise(train3, test3), 1.0, "drone: E|cov| test/train, 3 blades held out")
	assert.Greater(t, covRise(train2, test2), covRise(train3, test3), "drone: E|cov| test/train, 2 blades against 3")

	train, test := splitMetrics(t, dir, "airfoil", "low-speed")
	assert.GreaterOrEqual(t, *train.R2.Mean, 0.95, "airfoil: R² train")
	assert.Less(t, *test.R2.Mean, *train.R2.Mean, "airfoil: R² test against train")
	assert.GreaterOrEqual(t, covRise(train, test), 2.0, "airfoil: E|cov| test/train")
}

// The page of the default run is short enough to be read, and loads at once: below 2 MB, and at most 2,830 words in its
// file, which are 3,000 with the words that its scripts write, without the texts of figures. The limits are the
// project's requirement.
func TestDefaultPage(t *testing.T) {
	dir, _ := finishedIn(t, "default")
	page := string(testfile.Read(t, filepath.Join(dir, "runs", "report.html")))
	assert.Less(t, len(page), 2_000_000, "bytes")

	text := regexp.MustCompile(`(?s)<(script|style|svg)\b.*?</(script|style|svg)>`).ReplaceAllString(page, " ")
	text = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")
	words := len(strings.Fields(text))
	t.Logf("%d bytes, %d words", len(page), words)
	assert.LessOrEqual(t, words, 2830, "words")
	assert.Greater(t, words, 2000, "words, of all three experiments")
}

// The default run prints every line of the README's sample about the drone, if the kernels are those that the sample
// was made with. The summary of the default run has at most 45 lines, which is the project's requirement.
func TestReadmeSample(t *testing.T) {
	best, err := train.KernelSet("auto")
	require.NoError(t, err)

	if best != "avx2" {
		t.Skipf("the sample was made by avx2, here are %s", best)
	}

	_, reports := finishedIn(t, "default")

	var whole bytes.Buffer
	all := []report.Experiment{reports["drone"], reports["airfoil"], reports["toy"]}
	require.NoError(t, report.Summary(&whole, all, 0, false))
	assert.LessOrEqual(t, strings.Count(whole.String(), "\n"), 45, "lines of the default run:\n%s", &whole)

	var drone bytes.Buffer
	require.NoError(t, report.Summary(&drone, []report.Experiment{reports["drone"]}, 0, false))
	printed := strings.Split(drone.String(), "\n")
	for _, line := range readmeSample(t) {
		require.Contains(t, printed, line, "README.md has a line that the default run does not print")
	}
}

// readmeSample returns the lines of the code block of the README that begins with the drone.
func readmeSample(t *testing.T) []string {
	t.Helper()

	const beginning = "drone: simulated data"
	readme := string(testfile.Read(t, filepath.Join("..", "README.md")))
	_, rest, ok := strings.Cut(readme, "```\n"+beginning)
	require.True(t, ok, "README.md must have a code block that begins with %q", beginning)

	sample, _, ok := strings.Cut(rest, "```")
	require.True(t, ok, "the code block must end")

	return strings.Split(strings.TrimSpace(beginning+sample), "\n")
}
