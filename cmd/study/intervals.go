package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"

	"doubletake/pipeline"
	"doubletake/report"
)

// intervals are a section of the study: a configuration, whose experiments are named
// DATA-BASE, and the words before and after its tables.
type intervals struct{ flag, config, data, head, about, end string }

const howJudged = "Each group is held out in turn; before is the base's own claim v̂, after has the covariance C_x " +
	"learned from the left-out training groups ([honest.md](honest.md)). Coverage and width are those of the 95 % " +
	"intervals, before normal and after with Student's t. Widths and interval scores are in deviations of the training " +
	"outcomes; a lower score is better."

var intervalSections = []intervals{
	{
		flag: "-intervals", config: "docs/intervals.yaml", head: "## Intervals where nothing was measured\n",
		about: "Sets, bases and steps were fixed before the first number was seen; prior ensembles and the paper's network " +
			"on the second and third campaigns and on the propellers were added later, with the same steps. " + howJudged,
		end: "Not here: campaigns whose data may not be redistributed, a tail-sitter on a balance (next section) and a " +
			"student's wing. The tests of [honest.md](honest.md#measured-campaigns) hold out their groups.",
	},
	{
		flag: "-refitted", config: "docs/intervals-refit.yaml", data: "examples/cyclone-balance/data",
		head: "## Intervals: the process refitted for each group, and a tail-sitter\n",
		about: "All data here are **measured**. The process is refitted without each group, with hyperparameters of " +
			"its own, on the turbine and the propellers of the section above. The tail-sitter was measured on a " +
			"six-component balance in an open jet in November 2017 " +
			"([Windtunnel_Cyclone](https://github.com/mrtbrnz/Windtunnel_Cyclone) at 7f8743b, folder " +
			"`experiments`). That repository states no licence: its data are not in this one, which has scores of " +
			"predictions alone. Three airspeeds leave two training groups, one fewer than an interval needs; six " +
			"blocks of the arm's angle leave five. Sets, bases and steps were fixed before the first number was " +
			"seen. " + howJudged,
	},
}

// dataWords describe the data of these configurations, by the names of the experiments
// without their base and number.
var dataWords = map[string]string{
	"drone":      "simulated rotors, each of four blade counts held out of each campaign",
	"airfoil":    "simulated wings, each of five speeds held out of each campaign",
	"toy":        "the simulated toy, x ≥ 5 and 2 ≤ x ≤ 4 held out, groups are blocks of x",
	"turbine":    "**measured**: a model turbine, each of five tow speeds held out",
	"blades":     "**measured**: propellers on a stand, each blade count held out",
	"propellers": "**measured**: propellers on a stand, each of eight held out; a propeller's number is only its name",
	"airspeeds":  "**measured**: a tail-sitter on a balance, each of three airspeeds held out",
	"angles":     "**measured**: a tail-sitter on a balance, each of six blocks of the arm's angle held out",
}

// baseWords name the bases.
var baseWords = map[string]string{
	"gp": "additive process, E", "orders": "additive process in order form, E", "ensemble": "ensemble of 5, B",
	"prior-ensemble": "signed prior ensemble of 6, oE", "pair": "the paper's network, B",
	"gp-refit": "additive process, refitted without each group, oE",
}

// renew writes the section anew. Where keep is set and its data are not here, it takes
// the section of the old document.
func (x intervals) renew(ctx context.Context, output string, old []byte, keep bool, progress io.Writer) error {
	if x.data != "" && keep {
		if _, err := os.Stat(x.data); err != nil {
			fmt.Fprintf(progress, "the section of %s stays as it is: %v\n", x.config, err)
			from, to := section(old, x.head)
			return replaceSection(output, x.head, old[from:to])
		}
	}
	return writeIntervals(ctx, x, output, progress)
}

// writeIntervals runs the configuration of a section and replaces the section.
func writeIntervals(ctx context.Context, x intervals, output string, progress io.Writer) error {
	raw, err := os.ReadFile(x.config)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	p, err := pipeline.Load(x.config)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "%s: %d tasks\n", x.config, len(p.Plan.Tasks))
	res, err := p.Run(ctx, pipeline.Options{Jobs: runtime.NumCPU()})
	if err != nil {
		return err
	}
	all, err := p.Reports(res, pipeline.Selection{})
	if err != nil {
		return err
	}
	d := &document{}
	d.write("%s\nWritten by `go run ./cmd/study %s` from `%s`. %s; kernels %s. %s\n\n", x.head, x.flag, x.config,
		digestLine(raw), p.Program.Kernels, x.about)
	d.intervals(all)
	if x.end != "" {
		d.write("%s\n\n", x.end)
	}
	return replaceSection(output, x.head, d.b.Bytes())
}

// section returns where the section of a document lies that begins with head. A new one
// is put before the section of measured data, or at the end.
func section(doc []byte, head string) (from, to int) {
	if from = bytes.Index(doc, []byte(head)); from < 0 {
		if from = bytes.Index(doc, []byte(measuredHead)); from < 0 {
			from = len(doc)
		}
		return from, from
	}
	if n := bytes.Index(doc[from+len(head):], []byte("\n## ")); n >= 0 {
		return from, from + len(head) + n + 1
	}
	return from, len(doc)
}

// replaceSection replaces the section of a file that begins with head.
func replaceSection(output, head string, text []byte) error {
	doc, err := os.ReadFile(output)
	if err != nil {
		return fmt.Errorf("read the study: %w", err)
	}
	from, to := section(doc, head)
	return os.WriteFile(output, bytes.Join([][]byte{doc[:from], text, doc[to:]}, nil), 0o644)
}

// judged is a held-out set with a calibration.
type judged struct {
	name string
	base string
	*report.Honest
}

// intervals writes a summary of each base on each kind of data, what failed, and a
// row for each held-out set.
func (d *document) intervals(all []report.Experiment) {
	var kinds []string
	sets := map[string][]judged{} // by data and base
	var rows, absent [][]string
	for _, e := range all {
		data, base, _ := strings.Cut(e.Name, "-")
		kind := strings.TrimRight(data, "0123456789")
		key := kind + "-" + base
		if sets[key] == nil {
			kinds = append(kinds, key)
			sets[key] = []judged{}
		}
		for _, s := range e.Splits {
			name := data + ", " + s.HeldOut
			if strings.Count(s.HeldOut, ",") > 2 { // a block's values
				name = data + ", " + s.Name
			}
			switch h := s.Honest; {
			case h == nil:
			case h.Absent != "":
				absent = append(absent, []string{name, baseWords[base], h.Absent})
			default:
				sets[key] = append(sets[key], judged{name, base, h})
				rows = append(rows, judged{name, base, h}.row())
			}
		}
	}
	d.rows([]string{
		"data", "base", "sets", "R²", "covered to ≥ 90 %", "coverage before → after", "interval score before → after",
		"without a model", "Σe/Σv̂ in ½ to 2, before → after (or within 2 SE of 1)", "overconfident, too wide by > 2 SE",
	}, summaries(kinds, sets))
	d.failures(kinds, sets, absent)
	d.write("Every held-out set:\n\n")
	d.rows([]string{
		"held out", "base", "K", "R²", "coverage before → after", "width/spread", "score before → after",
		"without a model", "Σe/Σv̂ before → after ± SE", "left-out maximum covers",
	}, rows)
}

func (j judged) row() []string {
	f := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	return []string{
		j.name, j.base, fmt.Sprint(j.K), fmt.Sprintf("%.3f", j.R2), f(j.CoverageBefore) + " → " + f(j.CoverageT),
		f(j.WidthOverSpread), f(j.ScoreBefore) + " → " + f(j.Score), f(j.ScoreModelFree),
		fmt.Sprintf("%.3g → %.2g ± %.1g", j.RatioBefore, j.RatioAfter, j.RatioSE), f(j.ConformalCoverage),
	}
}

// summaries are a row for each base on each kind of data.
func summaries(kinds []string, sets map[string][]judged) (rows [][]string) {
	for _, key := range kinds {
		list := sets[key]
		if len(list) == 0 {
			continue
		}
		mean := func(f func(j judged) float64) float64 {
			sum := 0.0
			for _, j := range list {
				sum += f(j) / float64(len(list))
			}
			return sum
		}
		count := func(f func(j judged) bool) string {
			n := 0
			for _, j := range list {
				if f(j) {
					n++
				}
			}
			return fmt.Sprint(n)
		}
		right := func(s, se float64) bool { return s >= 0.5 && s <= 2 || math.Abs(s-1) <= 2*se }
		data, base, _ := strings.Cut(key, "-")
		rows = append(rows, []string{
			dataWords[data], baseWords[base], fmt.Sprint(len(list)),
			fmt.Sprintf("%.3f", mean(func(j judged) float64 { return j.R2 })),
			count(func(j judged) bool { return j.CoverageT >= 0.9 }),
			fmt.Sprintf("%.2f → %.2f", mean(func(j judged) float64 { return j.CoverageBefore }),
				mean(func(j judged) float64 { return j.CoverageT })),
			fmt.Sprintf("%.2f → %.2f", mean(func(j judged) float64 { return j.ScoreBefore }),
				mean(func(j judged) float64 { return j.Score })),
			fmt.Sprintf("%.2f", mean(func(j judged) float64 { return j.ScoreModelFree })),
			count(func(j judged) bool { return right(j.RatioBefore, 0) }) + " → " +
				count(func(j judged) bool { return right(j.RatioAfter, j.RatioSE) }),
			count(func(j judged) bool { return j.RatioAfter-2*j.RatioSE > 1 }) + ", " +
				count(func(j judged) bool { return j.RatioAfter+2*j.RatioSE < 1 }),
		})
	}
	return rows
}

// failures names the sets that an interval covers to less than 90 %, and those
// without an interval.
func (d *document) failures(kinds []string, sets map[string][]judged, absent [][]string) {
	var list []string
	for _, key := range kinds {
		for _, j := range sets[key] {
			if j.CoverageT < 0.9 {
				list = append(list, fmt.Sprintf("%s by %s (%.0f %%)", j.name, baseWords[j.base], 100*j.CoverageT))
			}
		}
	}
	if len(list) == 0 {
		d.write("**Failures.** None: every interval covers at least 90 %% of its set.\n\n")
	} else {
		d.write("**Failures.** Covered to less than 90 %%: %s.\n\n", strings.Join(list, "; "))
	}
	if len(absent) > 0 {
		d.write("Without an interval:\n\n")
		d.rows([]string{"held out", "base", "why"}, absent)
	}
}
