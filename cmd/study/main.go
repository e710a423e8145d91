// Command study runs docs/study.yaml and writes docs/study.md from its results:
//
//	go run ./cmd/study [CONFIG] [OUTPUT]
//	go run ./cmd/study -intervals
//	go run ./cmd/study -refitted
//	go run ./cmd/study -measured
//
// The second and third form run docs/intervals.yaml and docs/intervals-refit.yaml alone
// and replace their sections, the fourth runs the measured examples alone and replaces
// the last section. The third needs data that are not in this repository; without them
// the first leaves its section as it is.
// Every number in the document comes from the run; the paper's are constants in
// this file. The experiments are the pipeline's, made from docs/study.yaml;
// methods and scores belong to train, not here.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
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

	"doubletake/pipeline"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/score"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, output, part := "docs/study.yaml", "docs/study.md", ""
	switch {
	case len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-"):
		part = os.Args[1]
	case len(os.Args) > 1:
		config = os.Args[1]
	}
	if len(os.Args) > 2 {
		output = os.Args[2]
	}
	whole := config == "docs/study.yaml" && part == ""
	var err error
	switch part {
	case "", "-intervals", "-refitted", "-measured":
	default:
		err = fmt.Errorf("expected -intervals, -refitted, -measured or a configuration, found %s", part)
	}
	old, _ := os.ReadFile(output) // there may be none
	if part == "" {
		err = study(ctx, config, output, campaigns, os.Stderr)
	}
	for _, x := range intervalSections {
		if err == nil && (whole || part == x.flag) {
			err = x.renew(ctx, output, old, whole, os.Stderr)
		}
	}
	if err == nil && (whole || part == "-measured") {
		err = writeMeasured(ctx, examples, output, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "study: "+err.Error())
		stop()
		os.Exit(1)
	}
}

// study runs a configuration and writes the document. Its sections are those of
// the experiments it has: toy-γ and couples-γ, airfoil, drone; campaigns of other
// experiments are left out.
func study(ctx context.Context, config, output string, campaigns []campaign, progress io.Writer) error {
	raw, err := os.ReadFile(config)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	p, err := pipeline.Load(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "running %d tasks\n", len(p.Plan.Tasks))
	res, err := p.Run(ctx, pipeline.Options{Jobs: runtime.NumCPU()})
	if err != nil {
		return err
	}
	all, err := p.Reports(res, pipeline.Selection{})
	if err != nil {
		return err
	}
	d := &document{all: map[string]report.Experiment{}, dir: p.Plan.Dir, project: p}
	for _, e := range all {
		d.all[e.Name] = e
		d.names = append(d.names, e.Name)
	}
	d.head(config, raw, all)
	d.claims()
	for _, part := range []func() error{d.toys, d.airfoil, d.drone} {
		if err := part(); err != nil {
			return err
		}
	}
	campaigns = slices.DeleteFunc(slices.Clone(campaigns), func(c campaign) bool { return !d.has(c.experiment) })
	if err := d.suggest(ctx, campaigns, progress); err != nil {
		return err
	}
	return os.WriteFile(output, d.b.Bytes(), 0o644)
}

type document struct {
	b       bytes.Buffer
	all     map[string]report.Experiment
	names   []string // of the experiments, in order
	dir     string
	project *pipeline.Project
}

func (d *document) has(experiment string) bool { return slices.Contains(d.names, experiment) }

// digestLine states which configuration a document was made from; the test of
// the committed document looks for it.
func digestLine(config []byte) string {
	return fmt.Sprintf("SHA-256 of the configuration: `%x`", sha256.Sum256(config))
}

func (d *document) write(format string, a ...any) { fmt.Fprintf(&d.b, format, a...) }

// rows writes a Markdown table.
func (d *document) rows(head []string, rows [][]string) {
	d.write("| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, r := range rows {
		d.write("| %s |\n", strings.Join(r, " | "))
	}
	d.write("\n")
}

func (d *document) head(config string, raw []byte, all []report.Experiment) {
	d.write("# Study: does the covariance of two predictions measure the error?\n\n")
	d.write("Written by `go run ./cmd/study` from %s; do not edit. **All data here are simulated**, but for those "+
		"that are called measured in the last three sections. The paper's "+
		"figures, from its own measured data, "+
		"are quoted for comparison: the simulated campaigns imitate its experiments in size, not in physics. "+
		"Symbols and scores are explained in the [glossary](glossary.md) and defined in [method.md](method.md).\n\n",
		"`docs/"+filepath.Base(config)+"`")
	d.write("%s; kernels %s.\n\n", digestLine(raw), d.project.Program.Kernels)
	var rows [][]string
	for _, e := range d.project.File.Experiments {
		x, tr := d.all[e.Name], e.Train
		rows = append(rows, []string{
			e.Name, x.Construction, strconv.Itoa(x.Runs), strconv.Itoa(x.Triplets), fmt.Sprint(tr.Model.Hidden),
			strconv.Itoa(tr.Optimizer.Batch),
			strconv.Itoa(tr.Optimizer.Epochs), strconv.Itoa(tr.Seeds),
			strings.Join(append([]string{"pair"}, tr.Compare...), ", "),
		})
	}
	d.rows([]string{"experiment", "pairs", "runs", "triplets", "hidden layers", "batch", "epochs", "seeds", "methods"},
		rows)
	for _, e := range all {
		if e.Data != "simulated" {
			d.write("**%s is not simulated.**\n\n", e.Name)
		}
	}
}

// splitRows are the paper's numbers and ours for every split.
func (d *document) splitRows(names []string, scale float64) {
	var rows [][]string
	for _, name := range names {
		for _, s := range d.all[name].Splits {
			row := []string{name, s.HeldOut, strings.TrimSpace(s.Reach)}
			for _, c := range []struct {
				key   string
				scale float64
				train bool
			}{
				{"r2", 1, true},
				{"abs_cov", scale, true},
				{"cov_centred", scale, true},
				{"mu_delta", scale, true},
				{"e", scale, false},
				{"sum_e_ratio", 1, false},
				{"noise_ceiling", 1, false},
			} {
				if c.train {
					row = append(row, report.Cell(s.Train.Get(c.key), c.scale))
				}
				row = append(row, report.Cell(s.Test.Get(c.key), c.scale))
			}
			rows = append(rows, row)
		}
	}
	unit := ""
	if scale == 100 {
		unit = " ×10⁻²"
	}
	d.rows([]string{
		"experiment", "held out", "which is", "R² train", "R² test", "E\\|cov\\|" + unit + " train", "test",
		"C" + unit + " train", "test",
		"E\\|μδ\\|" + unit + " train", "test", "e" + unit + " test", "Σe/ΣC test", "noise ceiling",
	}, rows)
}

func (d *document) toys() error {
	var names []string
	for _, n := range d.names {
		if strings.HasPrefix(n, "toy-") || strings.HasPrefix(n, "couples-") {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return nil
	}
	d.write("## Toy: y = x·sin x, noise γ·exp(−x²/2)\n\n")
	d.splitRows(names, 1)
	d.write("The law is known, so estimates can be compared with it. Means over the training and the test conditions of " +
		"the first split, raw units, over seeds; " +
		"\"true noise\" is γ²·exp(−x²), \"true squared error\" (μ − x·sin x)². e must agree with the latter on test pairs, " +
		"C of couples with the former.\n\n")
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
				cov, variance, noise, truth, e = append(cov, m[0]), append(variance, m[1]), append(noise, m[2]),
					append(truth, m[3]), append(e, m[4])
			}
			cell := func(v []float64) string {
				mean, std := score.MeanStd(v)
				return report.Cell(score.Value{Mean: mean, Std: std, N: len(v)}, 1)
			}
			measured := cell(e)
			if set == "train" || strings.HasPrefix(name, "couples") {
				measured = "– (biased)"
			}
			rows = append(rows, []string{name, set, cell(cov), cell(variance), cell(noise), cell(truth), measured})
		}
	}
	d.rows([]string{
		"experiment", "set of split " + d.all[names[0]].Splits[0].Name, "mean C", "mean σ²", "true noise",
		"true squared error", "mean e",
	}, rows)
	for _, name := range names {
		if len(d.all[name].Splits[0].Methods) > 0 {
			d.write("Methods compared on %s.\n\n", name)
			d.best(name)
			d.b.Write(report.ComparisonMarkdown(d.all[name], 3))
		}
	}
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
		for k, q := range []float64{
			v[3][i], v[2][i], gamma * gamma * math.Exp(-x*x), err * err,
			(v[4][i] - mu) * (v[5][i] - mu),
		} {
			m[k] += q
		}
	}
	for k := range m {
		m[k] /= n
	}
	return m, nil
}

// paper are the figures of docs/method.md#what-to-expect: means of five runs on measured data.
var paper = map[string][][]string{
	"airfoil": {{"U∞ = 4.7 m/s held out", "0.99 ± 0.00", "0.83 ± 0.04", "0.09 ± 0.02", "1.17 ± 0.98"}},
	"drone": {
		{"2 blades held out", "0.97 ± 0.00", "0.77 ± 0.02", "2.358 ± 0.11", "5.634 ± 0.52"},
		{"3 blades held out", "0.97 ± 0.00", "0.89 ± 0.01", "2.644 ± 0.11", "3.956 ± 0.49"},
	},
}

func (d *document) quoted(name string) {
	d.write("The paper, on its measured data:\n\n")
	d.rows([]string{"", "R² train", "R² test", "E\\|cov\\| ×10⁻² train", "test"}, paper[name])
}

// verdict counts the splits where each number rises.
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
		return func(s report.Split) bool { return s.Test.Get(key).Mean > s.Train.Get(key).Mean }
	}
	d.write("The paper's claim is that E|cov| rises where R² falls. Here R² falls in %s held-out sets and E|cov| rises "+
		"in %s. "+
		"Of its two parts, C proper rises in %s and E|μδ|, which is no covariance, in %s. "+
		"The measured error e exceeds the mean of C, Σe/ΣC > 1, in %s sets, by more than two standard errors in %s: there "+
		"the covariance is too small.\n\n",
		count(func(s report.Split) bool { return s.Test.Get("r2").Mean < s.Train.Get("r2").Mean }), count(rises("abs_cov")),
		count(rises("cov_centred")), count(rises("mu_delta")),
		count(func(s report.Split) bool { return s.Test.Get("e").Mean > s.Test.Get("cov_centred").Mean }),
		count(func(s report.Split) bool {
			return s.Test.Get("e").Mean-2*s.Test.Get("e_se").Mean > s.Test.Get("cov_centred").Mean
		}))
	d.write("Diagnostics:\n\n")
	for _, s := range e.Splits {
		for _, f := range s.Flags {
			d.write("- %s %s\n", s.Name, f)
		}
	}
	d.write("\n")
}

// scoreCost is a score and a function of it that is lowest for the best method.
type scoreCost struct {
	key, head string
	of        func(v float64) float64
}

var costs = []scoreCost{
	{"nll", "NLL", func(v float64) float64 { return v }},
	{"crps", "CRPS", func(v float64) float64 { return v }},
	{"sum_e_ratio", "Σe/Σv̂ nearest to 1", func(v float64) float64 { return math.Abs(math.Log(v)) }},
	{"square", "v̂²−2v̂e", func(v float64) float64 { return v }},
	{"qlike", "QLIKE", func(v float64) float64 { return v }},
}

// preferred is the method a score prefers on a split, "" where it is defined of
// none.
func preferred(s report.Split, c scoreCost) (method string, value score.Value) {
	lowest := math.Inf(1)
	for _, m := range s.Methods {
		if v := m.Get(c.key); v.Undefined == "" && c.of(v.Mean) < lowest {
			method, value, lowest = m.Method, v, c.of(v.Mean)
		}
	}
	return method, value
}

// best writes which method each score prefers, per split.
func (d *document) best(name string) {
	var rows [][]string
	for _, s := range d.all[name].Splits {
		row := []string{s.Name, s.Reach}
		for _, c := range costs {
			cell := "–"
			if best, v := preferred(s, c); best != "" {
				cell = fmt.Sprintf("%s (%s)", best, report.Cell(v, 1))
			}
			row = append(row, strings.ReplaceAll(cell, "|", `\|`))
		}
		rows = append(rows, row)
	}
	d.write("Which method each score prefers:\n\n")
	d.rows([]string{"split", "which is", "NLL", "CRPS", "Σe/Σv̂ nearest to 1", "v̂²−2v̂e", "QLIKE"}, rows)
}

func (d *document) airfoil() error {
	if !d.has("airfoil") {
		return nil
	}
	d.write("## Airfoil: lift and drag, the lowest and a middle speed held out\n\n")
	for _, e := range d.project.File.Experiments {
		if n := e.DSP.Samples; e.Name == "airfoil" && n != paperSamples {
			d.write("Reduced: %d pairs are drawn of each run, where the paper drew %d, so that the study runs in minutes; "+
				"batches of %d, %d epochs.\n\n", n, paperSamples, e.Train.Optimizer.Batch, e.Train.Optimizer.Epochs)
		}
	}
	d.splitRows([]string{"airfoil"}, 100)
	d.quoted("airfoil")
	d.verdict("airfoil")
	d.best("airfoil")
	d.b.Write(report.ComparisonMarkdown(d.all["airfoil"], 3))
	return nil
}

func (d *document) drone() error {
	if !d.has("drone") {
		return nil
	}
	d.write("## Drone: levels of five harmonics, each blade count held out\n\n")
	d.splitRows([]string{"drone"}, 100)
	d.quoted("drone")
	d.verdict("drone")
	d.best("drone")
	d.b.Write(report.ComparisonMarkdown(d.all["drone"], 3))
	return nil
}

// paperSamples is how many pairs the paper drew of a run of the force balance.
const paperSamples = 250

// claims compares the paper's claims with this run's numbers.
func (d *document) claims() {
	d.write("## The paper's claims, our measurements, and why they differ\n\n")
	var pairs []part // held-out sets of triplets; couples are another question
	for _, n := range d.names {
		for _, s := range d.all[n].Splits {
			if !d.all[n].Couples {
				pairs = append(pairs, part{d.all[n], s})
			}
		}
	}
	d.covarianceRises(pairs)
	d.squaredError(pairs)
	d.singleDraws()
	d.heldOutOfPaper()
	d.otherMethods(pairs)
}

// part is a held-out set.
type part struct {
	e report.Experiment
	s report.Split
}

// filter returns the parts for which f is true.
func filter(list []part, f func(p part) bool) (is []part) {
	for _, p := range list {
		if f(p) {
			is = append(is, p)
		}
	}
	return is
}

// covarianceRises counts the sets whose E|cov| rises where R² falls, and why.
func (d *document) covarianceRises(pairs []part) {
	gain := func(p part, key string) float64 { return p.s.Test.Get(key).Mean - p.s.Train.Get(key).Mean }
	rises := func(key string) func(p part) bool {
		return func(p part) bool { return gain(p, key) > 0 }
	}
	falls := filter(pairs, func(p part) bool { return gain(p, "r2") < 0 })
	both := filter(falls, rises("abs_cov"))
	shift := filter(both, func(p part) bool { return gain(p, "mu_delta") > math.Abs(gain(p, "cov_centred")) })
	d.write("**E|cov| rises where R² falls.** R² falls in %d of %d held-out sets, and E|cov| rises in %d of these. "+
		"E|cov| tends to |C + μδ|, of which only C is a covariance: "+
		"C rises in %d of these %d sets. In %d of the %d rises E|μδ| grows by more than C changes: "+
		"the growth there is mostly δ, the shift of a network that is given its own prediction, times the mean, "+
		"which depends on where the outcome's zero lies.\n\n", len(falls), len(pairs), len(both),
		len(filter(falls, rises("cov_centred"))), len(falls), len(shift), len(both))
}

// squaredError compares the covariance with the squared error.
func (d *document) squaredError(pairs []part) {
	for _, way := range []string{"extrapolation", "interpolation"} {
		list := filter(pairs, func(p part) bool {
			v := p.s.Test.Get("sum_e_ratio")
			return strings.HasPrefix(p.s.Reach, way) && v.Undefined == "" && !math.IsNaN(v.Mean)
		})
		if len(list) == 0 {
			continue
		}
		if way == "extrapolation" {
			d.write("**The covariance is the model's squared error.** Then Σe/ΣC would be 1. ")
		}
		var v []float64
		over := 0
		for _, p := range list {
			r := p.s.Test.Get("sum_e_ratio").Mean
			v = append(v, r)
			if r-2*p.s.Test.Get("sum_e_ratio_se").Mean > 1 {
				over++
			}
		}
		slices.Sort(v)
		d.write("In %d sets of %s it lies between %s and %s, median %s, and above 1 by more than two standard errors in %d. ",
			len(v), way, short(v[0]), short(v[len(v)-1]), short(v[len(v)/2]), over)
	}
	d.write("The theorem holds for a network that has learned the joint law of two outcomes at that condition. Where " +
		"nothing was measured nothing makes it learn one; the diagnostics below show by how much it is violated.\n\n")
}

// singleDraws compares the covariance of couples with that of triplets.
func (d *document) singleDraws() {
	for _, n := range d.names {
		gamma, is := strings.CutPrefix(n, "couples-")
		if !is || !d.has("toy-"+gamma) {
			continue
		}
		share := func(name string) string {
			s := d.all[name].Splits[0]
			t := d.covShare(name, s)
			mean, std := score.MeanStd(t)
			return report.Cell(score.Value{Mean: mean, Std: std, N: len(t)}, 1)
		}
		d.write("**On single draws the covariance is the total variance.** On the training conditions of γ = %s ΣC/Σσ² is "+
			"%s with couples and %s with triplets: "+
			"the former should be 1, the latter the epistemic share.\n\n", gamma, share(n), share("toy-"+gamma))
	}
}

// heldOutOfPaper shows the paper's held-out sets next to ours.
func (d *document) heldOutOfPaper() {
	var rows [][]string
	for _, c := range []struct {
		experiment, split string
		row               int
	}{{"airfoil", "low-speed", 0}, {"drone", "blades=2", 0}, {"drone", "blades=3", 1}} {
		for _, s := range d.all[c.experiment].Splits {
			if s.Name != c.split {
				continue
			}
			q := paper[c.experiment][c.row]
			number := func(k int) float64 {
				v, err := strconv.ParseFloat(strings.Fields(q[k])[0], 64)
				if err != nil {
					return math.NaN()
				}
				return v
			}
			rise := func(key string) string {
				a, b := s.Train.Get(key).Mean, s.Test.Get(key).Mean
				return fmt.Sprintf("%+.0f %%", 100*(b-a)/math.Abs(a))
			}
			rows = append(rows, []string{
				c.experiment + ", " + q[0], q[2], report.Cell(s.Test.Get("r2"), 1),
				fmt.Sprintf("%+.0f %%", 100*(number(4)-number(3))/number(3)),
				rise("abs_cov"), rise("cov_centred"), rise("mu_delta"),
			})
		}
	}
	if len(rows) > 0 {
		d.write("**The paper's three held-out sets**, which the simulated campaigns imitate in size, not in physics: their " +
			"numbers need not agree, their signs should:\n\n")
		d.rows([]string{
			"held out", "R² test, paper", "here", "E\\|cov\\| train → test, paper", "here", "C here",
			"E\\|μδ\\| here",
		}, rows)
	}
}

// otherMethods counts the sets in which each score prefers each method.
func (d *document) otherMethods(pairs []part) {
	var methods []string
	won, sets := map[string]map[string]int{}, 0
	for _, p := range pairs {
		if len(p.s.Methods) < 3 {
			continue
		}
		sets++
		for _, m := range p.s.Methods {
			if won[m.Method] == nil {
				won[m.Method] = map[string]int{}
				methods = append(methods, m.Method)
			}
		}
		for _, c := range costs {
			if m, _ := preferred(p.s, c); m != "" {
				won[m][c.key]++
			}
		}
	}
	if sets == 0 {
		return
	}
	d.write("**Against other methods.** Number of the %d held-out sets in which each score prefers each method:\n\n", sets)
	head := []string{"method"}
	for _, c := range costs {
		head = append(head, c.head)
	}
	var rows [][]string
	for _, m := range methods {
		row := []string{strings.ReplaceAll(m, "|", `\|`)}
		for _, c := range costs {
			row = append(row, strconv.Itoa(won[m][c.key]))
		}
		rows = append(rows, row)
	}
	d.rows(head, rows)
}

// covShare is ΣC/Σσ² over the training rows of every seed of a split.
func (d *document) covShare(name string, s report.Split) []float64 {
	var out []float64
	for k := range s.Seeds {
		share := math.NaN()
		if t, err := table.Read(filepath.Join(d.dir, name, "splits", s.Name, "seed-"+strconv.Itoa(k),
			"predictions.arrow")); err == nil {
			if m, err := meansOf(t, "train", 0); err == nil {
				share = m[0] / m[1]
			}
		}
		out = append(out, share)
	}
	return out
}

// short writes a number with three digits.
func short(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64) // 1710, not 1.71e+03
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
