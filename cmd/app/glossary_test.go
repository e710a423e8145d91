package app

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"doubletake/docs"
	"doubletake/pipeline/predict"
	"doubletake/train/score"
)

// The glossary has every column of predict's files, every metric, and every heading that a
// command prints, read off the source: texts with tabs that are passed to Fprint, and the rows that predict's
// tables begin with. Headings of report's tables are tested there; columns of Arrow tables and keys are the
// reference's own.
func TestColumnsAreExplained(t *testing.T) {
	named := func(where, column string) {
		t.Helper()

		if docs.Named(column, metrics()...) == nil {
			t.Errorf("%s: the glossary has no %q", where, column)
		}
	}

	for _, c := range predict.Columns {
		if c.Name("y") != "y" {
			named("predict", c.Name("y"))
		}
	}

	for _, m := range score.Metrics {
		named("metrics", m.Key)
	}

	b := contents(t, "../../pipeline/predict/print.go")

	for _, m := range regexp.MustCompile(`\{"outcome", "unit"(.*)\}\n`).FindAllStringSubmatch(string(b), -1) {
		for _, head := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(m[1], -1) {
			named("predict", head[1])
		}
	}

	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}

	n := 0
	listings, text := regexp.MustCompile(`(?s)Listing\{Heads: (.*?)\}\n`), regexp.MustCompile(`"([^"%]*[^"% ])"`)
	for _, f := range files {
		if f == "diff.go" {
			continue // A and B
		}

		for _, m := range listings.FindAllStringSubmatch(string(contents(t, f)), -1) {
			for _, head := range text.FindAllStringSubmatch(m[1], -1) {
				n++
				named(f, head[1])
			}
		}
	}

	if n < 30 {
		t.Errorf("%d headings", n)
	}
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
		err := newApp(&b, &b).Run([]string{"pipeline", "glossary", word})
		if err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v, %s", word, err, &b)
		}
	}
}
