package pipeline_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/report"
	"doubletake/train"
)

// The default pipeline.yaml, as committed, shows what the paper is about on the
// campaigns it simulates. The bounds are those the project set itself before
// any of this was run (means over the five default seeds; the paper's own
// campaigns, which are measured, give the same orderings): a mean that fits in
// training, a worse one held out, and an E|cov| that rises there, more for 2
// blades, which is extrapolated to, than for 3, which lies between.
func TestDefaultCampaigns(t *testing.T) {
	dir, _ := finishedIn(t, "default")
	type figures struct{ r2Train, r2Test, ratio float64 }

	got := map[string]figures{}
	for _, name := range []string{"drone", "airfoil"} {
		m := readMetrics(t, dir, name)
		assert.Equal(t, "simulated", m.Data, "%s is called", name)

		md := testfile.Read(t, filepath.Join(dir, "runs", name, "report", "tables.md"))

		assert.Contains(t, string(md), "simulated data")

		for _, s := range m.Splits {
			assert.Equal(t, 5, s.Seeds, "%s: seeds", s.Name)

			f := figures{*s.Train.R2.Mean, *s.Test.R2.Mean, *s.Test.AbsCov.Mean / *s.Train.AbsCov.Mean}
			got[s.Name] = f
			t.Logf("%s, held out %s: R² %.4f ± %.4f → %.3f ± %.3f, E|cov| × 100 %.2f ± %.2f → %.2f ± %.2f (× %.2f)", name,
				s.HeldOut,
				f.r2Train, *s.Train.R2.Std, f.r2Test, *s.Test.R2.Std,
				100**s.Train.AbsCov.Mean, 100**s.Train.AbsCov.Std, 100**s.Test.AbsCov.Mean, 100**s.Test.AbsCov.Std, f.ratio)
		}
	}

	two := got["2-blades"]
	three := got["3-blades"]
	slow := got["low-speed"]
	for what, ok := range map[string]bool{
		"drone: R² train ≥ 0.96":                                        two.r2Train >= 0.96 && three.r2Train >= 0.96,
		"drone: R² test with 3 blades held out above that with 2":       three.r2Test > two.r2Test,
		"drone: E|cov| test/train ≥ 1.3 with 2 blades held out":         two.ratio >= 1.3,
		"drone: E|cov| test/train above 1 with 3 blades held out":       three.ratio > 1,
		"drone: E|cov| test/train larger with 2 blades than with 3":     two.ratio > three.ratio,
		"airfoil: R² train ≥ 0.95":                                      slow.r2Train >= 0.95,
		"airfoil: R² test below R² train":                               slow.r2Test < slow.r2Train,
		"airfoil: E|cov| test/train ≥ 2 with the lowest speed held out": slow.ratio >= 2,
	} {
		assert.True(t, ok, "not so: %s", what)
	}
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

// The sample of the README is what the default configuration prints of the drone, where the kernels are those that
// made it.
func TestReadmeSample(t *testing.T) {
	if best, err := train.KernelSet("auto"); err != nil || best != "avx2" {
		t.Skipf("the sample was made by avx2, here are %s: %v", best, err)
	}

	_, all := finishedIn(t, "default")

	var printed bytes.Buffer
	require.NoError(t, report.Summary(&printed, []report.Experiment{all["drone"]}, 0, false))

	var whole bytes.Buffer
	require.NoError(t, report.Summary(&whole, []report.Experiment{all["drone"], all["airfoil"], all["toy"]}, 0, false))
	assert.LessOrEqual(t, strings.Count(whole.String(), "\n"), 45, "lines of the default run:\n%s", &whole)

	_, sample, ok := strings.Cut(string(testfile.Read(t, filepath.Join("..", "README.md"))), "```\ndrone: simulated data")
	sample, _, ended := strings.Cut(sample, "```")
	require.True(t, ok, "README.md has no sample that begins with drone: simulated data")
	require.True(t, ended, "README.md has no sample that begins with drone: simulated data")

	lines := strings.Split(printed.String(), "\n")
	for _, want := range strings.Split(strings.TrimSpace("drone: simulated data"+sample), "\n") {
		if !slices.Contains(lines, want) {
			t.Fatalf("the default run does not print %q any more; it prints\n%s", want, &printed)
		}
	}
}
