// Command study runs docs/study.yaml and writes docs/study.md from its results:
//
//	go run ./cmd/study [CONFIG] [OUTPUT]
//
// Every number in the document comes from the run; the paper's, quoted beside
// them, stand in this file as constants.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/score"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, output := "docs/study.yaml", "docs/study.md"
	if len(os.Args) > 1 {
		config = os.Args[1]
	}
	if len(os.Args) > 2 {
		output = os.Args[2]
	}
	if err := study(ctx, config, output, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "study: "+err.Error())
		stop()
		os.Exit(1)
	}
}

func study(ctx context.Context, config, output string, progress io.Writer) error {
	p, err := pipeline.Load(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "running %d tasks\n", len(p.Plan.Tasks))
	res, err := p.Run(ctx, engine.Options{Jobs: runtime.NumCPU()})
	if err != nil {
		return err
	}
	all, err := p.Reports(res, engine.Selection{})
	if err != nil {
		return err
	}
	d := &document{all: map[string]report.Experiment{}, dir: p.Plan.Dir}
	for _, e := range all {
		d.all[e.Name] = e
	}
	d.head(config, all)
	for _, part := range []func() error{d.toys, d.airfoil, d.drone} {
		if err := part(); err != nil {
			return err
		}
	}
	for _, c := range campaigns {
		fmt.Fprintf(progress, "suggest on %s\n", c.experiment)
	}
	if err := d.suggest(ctx); err != nil {
		return err
	}
	return engine.WriteFile(output, d.b.Bytes())
}

type document struct {
	b   bytes.Buffer
	all map[string]report.Experiment
	dir string
}

func (d *document) say(format string, a ...any) { fmt.Fprintf(&d.b, format, a...) }

// rows writes a Markdown table.
func (d *document) rows(head []string, rows [][]string) {
	d.say("| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, r := range rows {
		d.say("| %s |\n", strings.Join(r, " | "))
	}
	d.say("\n")
}

func (d *document) head(config string, all []report.Experiment) {
	d.say("# Study: what two answers say of what is not known\n\n")
	d.say("Written by `go run ./cmd/study` from %s; do not edit. **All data here are simulated.** The paper's figures, from its own measured data, "+
		"are quoted where a comparison is meant: the simulated campaigns imitate its experiments in size, not in physics. "+
		"Symbols and scores are defined in [method.md](method.md).\n\n", "`docs/"+filepath.Base(config)+"`")
	for _, e := range all {
		if e.Data != "simulated" {
			d.say("**%s is not simulated.**\n\n", e.Name)
		}
	}
}

func field(m report.SetMetrics, key string) report.Value { return *m.Field(key) }

// splitRows are the paper's numbers and those beside them, for every split.
func (d *document) splitRows(names []string, scale float64) {
	var rows [][]string
	for _, name := range names {
		for _, s := range d.all[name].Splits {
			row := []string{name, s.HeldOut, strings.TrimSpace(s.Reach)}
			for _, c := range []struct {
				key   string
				scale float64
				train bool
			}{{"r2", 1, true}, {"abs_cov", scale, true}, {"cov_centred", scale, true}, {"mu_delta", scale, true}, {"e", scale, false}, {"sum_e_ratio", 1, false}, {"noise_ceiling", 1, false}} {
				if c.train {
					row = append(row, report.Cell(field(s.Train, c.key), c.scale))
				}
				row = append(row, report.Cell(field(s.Test, c.key), c.scale))
			}
			rows = append(rows, row)
		}
	}
	unit := ""
	if scale == 100 {
		unit = " ×10⁻²"
	}
	d.rows([]string{
		"experiment", "held out", "which is", "R² train", "R² test", "E\\|cov\\|" + unit + " train", "test", "C" + unit + " train", "test",
		"E\\|μδ\\|" + unit + " train", "test", "e" + unit + " test", "Σe/ΣC test", "noise ceiling",
	}, rows)
}

func (d *document) toys() error {
	names := []string{"toy-1", "toy-1.5", "toy-3", "couples-1.5"}
	d.say("## Toy: y = x·sin x, noise γ·exp(−x²/2)\n\n")
	d.splitRows(names, 1)
	d.say("The law is known, so that what is estimated can be held against it. Means over the training and the test conditions of the first split, raw units, over seeds; " +
		"\"true noise\" is γ²·exp(−x²), \"true squared error\" (μ − x·sin x)². e must agree with the latter on test pairs, C of couples with the former.\n\n")
	var rows [][]string
	for _, name := range names {
		gamma, err := strconv.ParseFloat(name[strings.LastIndex(name, "-")+1:], 64)
		if err != nil {
			return fmt.Errorf("read gamma of %s: %w", name, err)
		}
		split := d.all[name].Splits[0]
		for _, set := range []string{"train", "test"} {
			var cov, variance, noise, truth, e []float64
			for k := range split.Seeds {
				t, err := table.Read(filepath.Join(d.dir, name, "splits", split.Name, "seed-"+strconv.Itoa(k), "predictions.arrow"))
				if err != nil {
					return err
				}
				m, err := meansOf(t, set, gamma)
				if err != nil {
					return err
				}
				cov, variance, noise, truth, e = append(cov, m[0]), append(variance, m[1]), append(noise, m[2]), append(truth, m[3]), append(e, m[4])
			}
			cell := func(v []float64) string {
				mean, std := score.MeanStd(v)
				return report.Cell(report.Value{Mean: mean, Std: std, N: len(v)}, 1)
			}
			measured := cell(e)
			if set == "train" || strings.HasPrefix(name, "couples") {
				measured = "– (biased)"
			}
			rows = append(rows, []string{name, set, cell(cov), cell(variance), cell(noise), cell(truth), measured})
		}
	}
	d.rows([]string{"experiment", "set of split " + d.all[names[0]].Splits[0].Name, "mean C", "mean σ²", "true noise", "true squared error", "mean e"}, rows)
	return nil
}

// meansOf returns means of C, σ², the true noise, the true squared error and e.
func meansOf(t *table.Table, set string, gamma float64) (m [5]float64, err error) {
	var v [6][]float64
	for i, c := range []string{"x", "y_mu", "y_var", "y_cov", "y_1", "y_2"} {
		if v[i], err = t.Floats(c); err != nil {
			return m, fmt.Errorf("read predictions: %w", err)
		}
	}
	n := 0.0
	for i, s := range t.Column("set").Strings {
		if s != set {
			continue
		}
		n++
		x, mu := v[0][i], v[1][i]
		err := mu - x*math.Sin(x)
		for k, q := range []float64{v[3][i], v[2][i], gamma * gamma * math.Exp(-x*x), err * err, (v[4][i] - mu) * (v[5][i] - mu)} {
			m[k] += q
		}
	}
	for k := range m {
		m[k] /= n
	}
	return m, nil
}

// paper are the figures of METHOD §6: means of five runs on measured data.
var paper = map[string][][]string{
	"airfoil": {{"U∞ = 4.7 m/s held out", "0.99 ± 0.00", "0.83 ± 0.04", "0.09 ± 0.02", "1.17 ± 0.98"}},
	"drone": {
		{"2 blades held out", "0.97 ± 0.00", "0.77 ± 0.02", "2.358 ± 0.11", "5.634 ± 0.52"},
		{"3 blades held out", "0.97 ± 0.00", "0.89 ± 0.01", "2.644 ± 0.11", "3.956 ± 0.49"},
	},
}

func (d *document) quoted(name string) {
	d.say("The paper, on its measured data:\n\n")
	d.rows([]string{"", "R² train", "R² test", "E\\|cov\\| ×10⁻² train", "test"}, paper[name])
}

// verdict says of each split what rose and what did not, from the numbers.
func (d *document) verdict(name string) {
	e := d.all[name]
	count := func(f func(s report.Split) bool) string {
		n := 0
		for _, s := range e.Splits {
			if f(s) {
				n++
			}
		}
		return fmt.Sprintf("%d of %d", n, len(e.Splits))
	}
	rises := func(key string) func(report.Split) bool {
		return func(s report.Split) bool { return field(s.Test, key).Mean > field(s.Train, key).Mean }
	}
	d.say("The paper's claim is that E|cov| rises where R² falls. Here R² falls in %s held-out sets and E|cov| rises in %s. "+
		"Of its two parts, C proper rises in %s and E|μδ|, which is no covariance, in %s. "+
		"The measured error e exceeds the mean of C, Σe/ΣC > 1, in %s sets, by more than two standard errors in %s: there the covariance claims too little.\n\n",
		count(func(s report.Split) bool { return field(s.Test, "r2").Mean < field(s.Train, "r2").Mean }), count(rises("abs_cov")),
		count(rises("cov_centred")), count(rises("mu_delta")),
		count(func(s report.Split) bool { return field(s.Test, "e").Mean > field(s.Test, "cov_centred").Mean }),
		count(func(s report.Split) bool {
			return field(s.Test, "e").Mean-2*field(s.Test, "e_se").Mean > field(s.Test, "cov_centred").Mean
		}))
	d.say("What the diagnostics flag:\n\n")
	for _, s := range e.Splits {
		for _, f := range s.Flags {
			d.say("- %s %s\n", s.Name, f)
		}
	}
	d.say("\n")
}

// best says which method each score prefers, per split.
func (d *document) best(name string) {
	var rows [][]string
	for _, s := range d.all[name].Splits {
		row := []string{s.Name, s.Reach}
		for _, c := range []struct {
			key  string
			cost func(v float64) float64
		}{
			{"nll", func(v float64) float64 { return v }},
			{"crps", func(v float64) float64 { return v }},
			{"sum_e_ratio", func(v float64) float64 { return math.Abs(math.Log(v)) }},
			{"square", func(v float64) float64 { return v }},
			{"qlike", func(v float64) float64 { return v }},
		} {
			best, cost := "–", math.Inf(1)
			for _, m := range s.Methods {
				if v := m.Score(c.key); v.Undefined == "" && c.cost(v.Mean) < cost {
					best, cost = fmt.Sprintf("%s (%s)", m.Method, report.Cell(v, 1)), c.cost(v.Mean)
				}
			}
			row = append(row, strings.ReplaceAll(best, "|", `\|`))
		}
		rows = append(rows, row)
	}
	d.say("Which method each score prefers:\n\n")
	d.rows([]string{"split", "which is", "NLL", "CRPS", "Σe/Σv̂ nearest to 1", "v̂²−2v̂e", "QLIKE"}, rows)
}

func (d *document) airfoil() error {
	d.say("## Airfoil: lift and drag, the lowest and a middle speed held out\n\n")
	d.splitRows([]string{"airfoil"}, 100)
	d.quoted("airfoil")
	d.verdict("airfoil")
	d.best("airfoil")
	d.b.Write(report.ComparisonMarkdown(d.all["airfoil"], 3))
	return nil
}

func (d *document) drone() error {
	d.say("## Drone: levels of five harmonics, each blade count held out\n\n")
	d.splitRows([]string{"drone"}, 100)
	d.quoted("drone")
	d.verdict("drone")
	d.best("drone")
	d.b.Write(report.ComparisonMarkdown(d.all["drone"], 3))
	return nil
}
