package app

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/pipeline/runs"
)

// The newest runs are listed, each compared with the last before it that has settings,
// errors with the last that has the split. 2·√(0.1² + 0.1²) = 0.28: 3 → 2.8 is no
// change, 2.8 → 2 is one.
func TestLogLists(t *testing.T) {
	var list []runs.Record
	for i := range 30 {
		r := runs.Record{ID: fmt.Sprintf("run%02d", i), Ran: i, Digest: strings.Repeat("ab", 32)}
		r.Settings = []runs.Setting{{Where: "e", Key: "k", Value: map[bool]string{false: "1", true: "2"}[i >= 25]}}
		r.Splits = []runs.SplitRecord{{Experiment: "e", Split: "s", HeldOut: "x = 1", Rows: 9, Verdict: "wide"}}
		k := runs.MetricKey{Experiment: "e", Split: "s", Set: "test", Metric: "rmse", Prediction: "network", Unit: "dB"}

		mean := 3.0
		switch {
		case i >= 28:
			mean = 2
		case i >= 27:
			mean = 2.8
		}

		r.Metrics = []runs.MetricRecord{{MetricKey: k, Value: runs.Number{Mean: mean, SE: 0.1}}}
		if i == 29 { // of two outcomes the worse is printed
			k.Outcomes = "quiet_db"
			r.Metrics = append(r.Metrics, runs.MetricRecord{MetricKey: k, Value: runs.Number{Mean: 1, SE: 0.1}})
		}

		if i == 24 {
			r = runs.Record{ID: "run24", Failed: "killed", Digest: r.Digest}
		}

		list = append(list, r)
	}

	var b bytes.Buffer
	printLog(&b, list, false)

	got := b.String()
	assert.Contains(t, got,
		"10 earlier runs; --all lists them\n 11  run10  10 tasks, 0.0 s, configuration abababab, same settings\n")
	assert.Contains(t, got,
		" 25  run24  0 tasks, 0.0 s, configuration abababab\n     failed: killed\n 26  run25  25 tasks, 0.0 s, "+
			"configuration abababab, changed: k 1 → 2\n")
	assert.Contains(t, got, "     e/s: wide; error 2.80 ± 0.10 dB\n 29 ")
	assert.Contains(t, got, "     e/s: wide; error 2.00 ± 0.10 dB (better)\n 30 ")
	assert.Contains(t, got, "     e/s: wide; error 2.00 ± 0.10 dB\n")
	assert.NotContains(t, got, "run09", "an earlier run")
	assert.Equal(t, 1, strings.Count(got, "better"), "runs that are better, in\n%s", got)
	assert.NotContains(t, got, "worse")

	b.Reset()
	printLog(&b, list, true)

	all := b.String()
	assert.True(t, strings.HasPrefix(all, "  1  run00"), "--all lists the first run:\n%s", all)
	assert.True(t, strings.HasSuffix(all, got[strings.Index(got, " 11"):]), "--all ends as the short list:\n%s", all)
}
