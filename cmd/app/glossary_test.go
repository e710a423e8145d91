package app

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/docs"
	"doubletake/internal/testfile"
	"doubletake/report/answer/predict"
	"doubletake/train/score"
)

// The glossary has every column of predict's files, every metric, and every heading that a
// command prints, read off the source: texts with tabs that are passed to Fprint, and the rows that predict's
// tables begin with. Headings of report's tables are tested there; columns of Arrow tables and keys are the
// reference's own.
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

	b := testfile.Read(t, "../../report/answer/predict/print.go")

	for _, m := range regexp.MustCompile(`\{"outcome", "unit"(.*)\}\n`).FindAllStringSubmatch(string(b), -1) {
		for _, head := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(m[1], -1) {
			named("predict", head[1])
		}
	}

	files, err := filepath.Glob("*.go")
	require.NoError(t, err)

	n := 0
	listings, text := regexp.MustCompile(`(?s)Listing\{Heads: (.*?)\}\n`), regexp.MustCompile(`"([^"%]*[^"% ])"`)
	for _, f := range files {
		if slices.Contains([]string{"diff.go", "gc.go", "progress.go", "status.go"}, f) {
			continue // A and B, or of tasks
		}

		for _, m := range listings.FindAllStringSubmatch(string(testfile.Read(t, f)), -1) {
			for _, head := range text.FindAllStringSubmatch(m[1], -1) {
				if strings.Contains(head[1], "{") {
					continue // between two lists
				}

				n++
				named(f, head[1])
			}
		}
	}

	assert.GreaterOrEqual(t, n, 30, "%d headings", n)
}

func TestGlossaryOfKeysAndColumns(t *testing.T) {
	for word, want := range map[string]string{
		"honest":        "intervals for groups that were never measured",
		"lift_n_low":    "ends of the interval",
		"sum_e_ratio":   "1 if calibrated",
		"duration_s":    "duration of the run",
		"network_y_cov": "of the networks alone",
	} {
		var b strings.Builder
		require.Zero(t, run([]string{"glossary", word}, &b, io.Discard), "%s: %s", word, &b)
		assert.Contains(t, b.String(), want, "%s: %s", word, &b)
	}
}
