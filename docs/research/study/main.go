// Command study runs the configurations of this module and writes the tables below
// tables/ from their results, from the module's folder:
//
//	go run ./study [PART]...
//
// The parts are simulated, suggest, replays, widths, methods, rivals, intervals, ecov and
// measured; without any, all are run. Replays and ecov need data that are not in this repository; without
// them their tables stay as they are, as do those of intervals-refit.yaml, which no later program makes. Every
// number in the tables comes from the run, but for those of others.csv, which quotes the paper and another
// program. docs/study.md and docs/method.md quote the tables, and a test compares them.
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"doubletake/docs/research/methods"
	"doubletake/ingest/table"
	"doubletake/pipeline"
	"doubletake/report"
	"doubletake/train/baseline"
	"doubletake/train/score"
)

// part is a configuration, or several, and what becomes of the results.
type part struct {
	name    string
	configs []string
	needs   string // data that may be missing; "" where none may
	tables  []string
	timed   bool // what the trainings without groups take
	make    func(ctx context.Context, r *results) ([]*sheet, error)
}

var parts = []part{
	{
		name:    "simulated",
		configs: []string{"study.yaml"},
		tables:  []string{"simulated", "simulated-methods", "simulated-diagnostics", "simulated-toy"},
		make:    simulated,
	},
	{name: "suggest", configs: []string{"study.yaml"}, tables: []string{"suggest"}, make: suggestTable(campaigns)},
	{
		name: "replays",
		configs: []string{
			"../../examples/rm2-turbine/pipeline.yaml", "../../examples/propeller-stand/pipeline.yaml",
			"../../examples/cyclone-balance/pipeline.yaml",
		},
		needs:  "../../examples/cyclone-balance/data",
		tables: []string{"replays"},
		make:   replayTable,
	},
	{name: "widths", configs: []string{"widths.yaml"}, tables: []string{"widths", "widths-ensemble"}, make: widths},
	{name: "methods", configs: []string{"methods.yaml"}, tables: []string{"methods"}, make: methodsTable},
	{name: "rivals", configs: []string{"rivals.yaml"}, tables: []string{"rivals"}, make: methodsTable},
	{
		name:    "intervals",
		configs: []string{"intervals.yaml"},
		tables:  []string{"intervals", "intervals-summary"},
		make:    intervals,
	},
	{
		name:    "ecov",
		configs: []string{"ecov-elsewhere.yaml", "ecov.yaml"},
		needs:   "../../examples/cyclone-balance/data",
		tables:  []string{"ecov", "ecov-thirds", "ecov-trainings"},
		timed:   true,
		make:    ecov,
	},
	{
		name:    "measured",
		configs: []string{"../../examples/rm2-turbine/pipeline.yaml", "../../examples/propeller-stand/pipeline.yaml"},
		tables:  []string{"measured"},
		make: func(_ context.Context, r *results) ([]*sheet, error) {
			return []*sheet{splits(r.all)}, nil
		},
	},
}

func methodsTable(_ context.Context, r *results) ([]*sheet, error) {
	return []*sheet{methodScores(r.all)}, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	err := baseline.Register(methods.All...)
	if err == nil {
		err = study(ctx, os.Args[1:], "tables", os.Stderr)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "study: "+err.Error())
		stop()
		os.Exit(1)
	}
}

// study runs the parts of those names, or all.
func study(ctx context.Context, names []string, tables string, progress io.Writer) error {
	var known []string
	for _, p := range parts {
		known = append(known, p.name)
	}

	for _, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("expected a part of %s, found %s", strings.Join(known, ", "), n)
		}
	}

	for _, p := range parts {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}

		if _, err := os.Stat(p.needs); p.needs != "" && err != nil {
			fmt.Fprintf(progress, "%s: left as it is: %v\n", p.name, err)
			continue
		}

		if err := p.run(ctx, tables, progress); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}

	return nil
}

// results are those of a part's configurations.
type results struct {
	all      []report.Experiment
	project  *pipeline.Project // of the last configuration
	dirs     []string          // work directories, by configuration
	progress io.Writer
}

// run runs the part's configurations and writes its tables, of a timed part after each set of data.
func (p part) run(ctx context.Context, tables string, progress io.Writer) error {
	r := &results{progress: progress}
	for _, config := range p.configs {
		project, err := pipeline.Load(config)
		if err != nil {
			return err
		}

		fmt.Fprintf(progress, "%s: %s: %d tasks\n", p.name, config, len(project.Plan.Tasks))
		r.project, r.dirs = project, append(r.dirs, project.Plan.Dir)

		for _, names := range p.batches(project) {
			s := pipeline.Selection{Experiments: names}
			if !p.timed {
				s = pipeline.Selection{}
			}

			res, err := p.execute(ctx, project, s)
			if err != nil {
				return err
			}

			all, err := project.Reports(res, pipeline.Selection{Experiments: names})
			if err != nil {
				return err
			}

			if r.all = append(r.all, all...); p.timed {
				fmt.Fprintf(progress, "%s: made %s\n", p.name, strings.Join(names, ", "))

				if err := p.write(ctx, r, tables); err != nil {
					return err
				}
			}
		}
	}

	return p.write(ctx, r, tables)
}

// batches are the experiments, variants of sweeps too, that are made together.
func (p part) batches(project *pipeline.Project) (list [][]string) {
	of := map[string]int{}
	for _, e := range project.File.Experiments {
		data, _, _ := strings.Cut(e.Name, "/")
		if !p.timed {
			data = ""
		}

		if _, known := of[data]; !known {
			of[data], list = len(list), append(list, nil)
		}

		list[of[data]] = append(list[of[data]], e.Name)
	}

	return list
}

func (p part) execute(ctx context.Context, project *pipeline.Project, s pipeline.Selection) (*pipeline.Result, error) {
	if p.timed {
		return timed(ctx, project, s)
	}

	return project.Run(ctx, pipeline.Options{Selection: s, Jobs: runtime.NumCPU()})
}

// write writes the part's tables.
func (p part) write(ctx context.Context, r *results, tables string) error {
	sheets, err := p.make(ctx, r)
	if err != nil {
		return err
	}

	for i, s := range sheets {
		if err := s.write(tables, p.tables[i]); err != nil {
			return err
		}

		for _, config := range p.configs {
			if err := source(tables, p.tables[i], config, r.project.Program.Kernels); err != nil {
				return err
			}
		}
	}

	return nil
}

// simulated makes the tables of study.yaml.
func simulated(_ context.Context, r *results) ([]*sheet, error) {
	toy, err := toys(r)
	return []*sheet{splits(r.all), methodScores(r.all), diagnostics(r.all), toy}, err
}

// toys compares the estimates of the first split of each toy with the law, which is known:
// means over the training and the test conditions, in raw units.
func toys(r *results) (*sheet, error) {
	s := &sheet{head: []string{
		"experiment", "part", "c", "c_sd", "variance", "variance_sd", "true_noise", "true_noise_sd",
		"true_squared_error", "true_squared_error_sd", "e", "e_sd", "sum_c_ratio", "sum_c_ratio_sd",
	}}

	for _, e := range r.all {
		kind, gamma, _ := strings.Cut(e.Name, "-")
		if kind != "toy" && kind != "couples" {
			continue
		}

		noise, err := strconv.ParseFloat(gamma, 64)
		if err != nil {
			return nil, fmt.Errorf("read gamma of %s: %w", e.Name, err)
		}

		for _, set := range []string{"train", "test"} {
			row := []string{e.Name, set}

			values, err := overSeeds(r, e, func(t *table.Table) ([]float64, error) { return meansOf(t, set, noise) })
			if err != nil {
				return nil, err
			}

			for i, v := range values {
				if i == 4 && (set == "train" || kind == "couples") { // e is biased there
					v = score.Value{}
				}
				row = append(row, cells(v)...)
			}

			s.add(row...)
		}
	}

	return s, nil
}

// overSeeds averages numbers of the predictions of an experiment's first split.
func overSeeds(r *results, e report.Experiment, of func(t *table.Table) ([]float64, error)) ([]score.Value, error) {
	var seeds [][]float64

	split := e.Splits[0]
	for k := range split.Seeds {
		t, err := table.Read(filepath.Join(r.project.Plan.Dir, e.Name, "splits", split.Name, "seed-"+strconv.Itoa(k),
			"predictions.arrow"))
		if err != nil {
			return nil, err
		}

		numbers, err := of(t)
		if err != nil {
			return nil, err
		}

		seeds = append(seeds, numbers)
	}

	return valuesOver(seeds), nil
}

// valuesOver averages each number over the seeds.
func valuesOver(seeds [][]float64) []score.Value {
	var out []score.Value
	for k := range seeds[0] {
		var v []float64
		for _, s := range seeds {
			v = append(v, s[k])
		}

		mean, std := score.MeanStd(v)
		out = append(out, score.Value{Mean: mean, Std: std, N: len(v)})
	}

	return out
}

// meansOf returns means of C, σ², the true noise, the true squared error and e, and ΣC/Σσ².
func meansOf(t *table.Table, set string, gamma float64) ([]float64, error) {
	var v [6][]float64
	for i, c := range []string{"x", "y_mu", "y_var", "y_cov", "y_1", "y_2"} {
		var err error
		if v[i], err = t.Floats(c); err != nil {
			return nil, fmt.Errorf("read predictions: %w", err)
		}
	}

	m, n := make([]float64, 6), 0.0
	for i, s := range t.Column("set").Strings {
		if s != set {
			continue
		}

		n++
		x, mu := v[0][i], v[1][i]
		miss := mu - x*math.Sin(x)
		for k, q := range []float64{
			v[3][i], v[2][i], gamma * gamma * math.Exp(-x*x), miss * miss, (v[4][i] - mu) * (v[5][i] - mu),
		} {
			m[k] += q
		}
	}

	for k := range m {
		m[k] /= n
	}

	m[5] = m[0] / m[1]

	return m, nil
}

// widths makes the tables of widths.yaml: the pair network, and the ensemble with the
// deviation between its members' means, in the outcomes' own units.
func widths(_ context.Context, r *results) ([]*sheet, error) {
	s := methodScores(r.all)
	s.head = append(s.head, "deviation_train", "deviation_train_sd", "deviation_test", "deviation_test_sd")

	var rows [][]string
	for _, row := range s.rows {
		if row[2] != "ensemble" {
			if row[2] == "pair, C" {
				rows = append(rows, append(row, "", "", "", ""))
			}
			continue
		}

		var seeds [][]float64

		folders, err := filepath.Glob(filepath.Join(r.project.Plan.Dir, row[0], "splits", row[1], "seed-*"))
		if err != nil {
			return nil, err
		}

		for _, dir := range folders {
			v, err := deviations(dir)
			if err != nil {
				return nil, err
			}

			seeds = append(seeds, v)
		}

		if len(seeds) == 0 {
			return nil, fmt.Errorf("%s has no ensemble.arrow", row[0])
		}

		for _, v := range valuesOver(seeds) {
			row = append(row, cells(v)...)
		}

		rows = append(rows, row)
	}

	s.rows = rows

	return []*sheet{splits(r.all), s}, nil
}

// deviations are the roots of the mean epistemic variance of a seed's ensemble over the
// conditions of the training and of the test part.
func deviations(dir string) ([]float64, error) {
	ensemble, err := table.Read(filepath.Join(dir, "ensemble.arrow"))
	if err != nil {
		return nil, err
	}

	predictions, err := table.Read(filepath.Join(dir, "predictions.arrow"))
	if err != nil {
		return nil, err
	}

	var inputs, variances []string
	for _, c := range ensemble.Columns {
		switch {
		case strings.HasSuffix(c.Name, "_epistemic"):
			variances = append(variances, c.Name)
		case predictions.Column(c.Name) != nil && !strings.HasSuffix(c.Name, "_mu") && !strings.HasSuffix(c.Name, "_var"):
			inputs = append(inputs, c.Name)
		}
	}

	at, err := conditions(ensemble, inputs)
	if err != nil {
		return nil, err
	}

	of, err := conditions(predictions, inputs)
	if err != nil {
		return nil, err
	}

	test := map[string]bool{}
	for i, set := range predictions.Column("set").Strings {
		test[of[i]] = set == "test"
	}

	var sum, n [2]float64
	for _, name := range variances {
		v, err := ensemble.Floats(name)
		if err != nil {
			return nil, err
		}

		for i := range v {
			k := 0
			if test[at[i]] {
				k = 1
			}

			sum[k] += v[i]
			n[k]++
		}
	}

	return []float64{math.Sqrt(sum[0] / n[0]), math.Sqrt(sum[1] / n[1])}, nil
}

// conditions are the values of the inputs of each row.
func conditions(t *table.Table, inputs []string) ([]string, error) {
	out := make([]string, t.Rows())
	for _, name := range inputs {
		v, err := t.Floats(name)
		if err != nil {
			return nil, err
		}

		for i := range v {
			out[i] += strconv.FormatFloat(v[i], 'g', -1, 64) + " "
		}
	}

	return out, nil
}
