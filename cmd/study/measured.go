package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"doubletake/pipeline"
	"doubletake/report"
)

// example is a measured campaign whose data are in the repository.
type example struct {
	config, title string
	about         string // what the data are, and what a reader should know of them
	// figures of another program with the same settings: experiment, split, R² test,
	// change of E|cov| in per cent, e
	noted []noted
}

type noted struct {
	experiment, split string
	r2, rise, e       float64
}

var examples = []example{
	{
		"examples/rm2-turbine/pipeline.yaml",
		"A cross-flow turbine, each tow speed held out",
		"125 conditions were towed twice. The two outer speeds are extrapolations, and the coefficients depend most on the " +
			"Reynolds number at the lowest.",
		[]noted{
			{"turbine", "tow_speed_m_s=0.4", 0.825, 402, 0.213},
			{"turbine", "tow_speed_m_s=0.8", 0.990, 45, 0.0047},
			{"turbine", "tow_speed_m_s=1.2", 0.984, 254, 0.0103},
		},
	},
	{
		"examples/propeller-stand/pipeline.yaml",
		"Propellers on a stand, each blade count and each propeller held out",
		"Two motors that turn one propeller at one speed are a pair. The outcome is the thrust over the square of the " +
			"speed, which hardly depends on the speed: a model has to know the propeller. There are two propellers with 2 " +
			"blades, five with 3 and one with 4, so that four blades and one propeller are the same thing, and no split by " +
			"blades has the three training groups that a calibrated interval needs. `blades` has all pairs, with those of " +
			"motor b on propeller 4, whose thrust is 40 % below that of the other motors; `blades-8000` is without them and " +
			"without slow points; `propellers` has all pairs again.",
		[]noted{
			{"blades-8000", "blades=2", -0.30, 531, 0.24},
			{"blades-8000", "blades=3", -0.86, -9, 0.40},
			{"blades-8000", "blades=4", -63, -27, 9.4},
		},
	},
}

const measuredHead = "## Measured: two sets of repeats that come with the program\n"

// writeMeasured runs the examples and replaces the last section of the document,
// or appends it.
func writeMeasured(ctx context.Context, examples []example, output string, progress io.Writer) error {
	doc, err := os.ReadFile(output)
	if err != nil {
		return fmt.Errorf("read the study: %w", err)
	}
	if i := bytes.Index(doc, []byte(measuredHead)); i >= 0 {
		doc = doc[:i]
	}
	d := &document{}
	d.write("%s\nWritten by `go run ./cmd/study -measured` from the examples' `pipeline.yaml`. Five seeds, "+
		"standardised units; ± is the deviation over the seeds.\n\n", measuredHead)
	for _, x := range examples {
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
		d.measured(x, all)
	}
	return os.WriteFile(output, append(doc, d.b.Bytes()...), 0o644)
}

// measured writes the section of one example.
func (d *document) measured(x example, all []report.Experiment) {
	folder := strings.TrimSuffix(x.config, "/pipeline.yaml")
	d.write("### %s\n\n[%s](../%s/README.md). %s\n\n", x.title, folder, folder, x.about)
	d.all, d.names = map[string]report.Experiment{}, nil
	for _, e := range all {
		d.all[e.Name] = e
		d.names = append(d.names, e.Name)
	}
	d.splitRows(d.names, 1)
	d.compare(x.noted)
	for _, n := range d.names {
		d.indicator(d.all[n])
	}
}

// compare writes the figures of another program next to ours.
func (d *document) compare(list []noted) {
	var rows [][]string
	for _, n := range list {
		for _, s := range d.all[n.experiment].Splits {
			if s.Name == n.split {
				rise := 100 * (s.Test.Get("abs_cov").Mean/s.Train.Get("abs_cov").Mean - 1)
				rows = append(rows, []string{
					n.experiment, n.split, fmt.Sprint(n.r2), report.Cell(s.Test.Get("r2"), 1),
					fmt.Sprintf("%+g %%", n.rise), fmt.Sprintf("%+.0f %%", rise), fmt.Sprint(n.e), report.Cell(s.Test.Get("e"), 1),
				})
			}
		}
	}
	d.write("Next to the figures of another program, noted before this one was run (means of five seeds). E|cov| of " +
		"an extrapolation depends on the random first weights, R² and e less:\n\n")
	d.rows([]string{
		"experiment", "split", "R² test, noted", "here", "E\\|cov\\| train → test, noted", "here", "e, noted", "here",
	}, rows)
}

// indicator compares E|cov| with the fit on the held-out sets of an experiment.
func (d *document) indicator(e report.Experiment) {
	var falls, rises, worse, missed, over []string
	for _, s := range e.Splits {
		up := s.Test.Get("abs_cov").Mean > s.Train.Get("abs_cov").Mean
		if s.Test.Get("r2").Mean < s.Train.Get("r2").Mean {
			falls = append(falls, s.Name)
			if up {
				rises = append(rises, s.Name)
			}
		}
		if s.Test.Get("r2").Mean < 0 {
			worse = append(worse, s.Name)
			if !up {
				missed = append(missed, s.Name)
			}
		}
		if s.Test.Get("e").Mean-2*s.Test.Get("e_se").Mean > s.Test.Get("cov_centred").Mean {
			over = append(over, s.Name)
		}
	}
	d.write("**%s.** R² falls in %d of %d held-out sets, and E|cov| rises in %d of these. ", e.Name, len(falls),
		len(e.Splits), len(rises))
	if len(worse) > 0 {
		d.write("The model is worse than the mean of the held-out outcomes (R² below 0) in %s", strings.Join(worse, ", "))
		if len(missed) > 0 {
			d.write("; E|cov| does not rise in %s, so the paper's indicator gives no warning there, and only e does",
				strings.Join(missed, ", "))
		}
		d.write(". ")
	}
	d.write("The measured error exceeds the mean of C by more than two standard errors in %d of %d. ", len(over),
		len(e.Splits))
	held, cover := 0, 0
	for _, s := range e.Splits {
		if s.Honest != nil && s.Honest.Absent == "" {
			held++
			if s.Honest.CoverageT >= 0.9 {
				cover++
			}
		}
	}
	if held > 0 {
		d.write("The calibrated interval covers at least 90 %% of the measured values in %d of %d.", cover, held)
	} else {
		d.write("No split has a calibrated interval: that needs three training groups.")
	}
	for _, w := range e.Warnings {
		if strings.Contains(w, "robust deviation") {
			d.write(" Warning: %s.", w)
		}
	}
	d.write("\n\n")
}
