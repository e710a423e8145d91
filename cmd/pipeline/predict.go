package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"doubletake/ingest"
	"doubletake/pipeline"
	"doubletake/train/score"
)

// predictOptions are the arguments of predict.
type predictOptions struct {
	model, at, conditions, calibrated string
	alpha                             float64
	json, csv                         bool
}

func newPredictCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "predict", Usage: "what a trained model says at given conditions, and how sure it is", ArgsUsage: "MODEL",
		Description: "MODEL is a model.json, its folder, or a split's folder with models of several seeds, which then predict together.\n\n" +
			"Example: pipeline predict runs/drone/splits/3-blades --at blades=3,rpm=5000,theta_deg=0\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "at", Usage: "a condition, input=value,…; several joined by ;"},
			&cli.StringFlag{Name: "conditions", Usage: "a CSV file with a column per input"},
			&cli.StringFlag{Name: "calibrated", Usage: "apply the calibration beside the model: scaled or isotonic"},
			&cli.Float64Flag{Name: "alpha", Value: 0.05, Usage: "the interval holds the true mean with confidence 1 − alpha"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
			&cli.BoolFlag{Name: "csv", Usage: "as CSV, one row a condition"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage("pipeline predict takes one MODEL, found %q", c.Args().Slice())
			}
			o := predictOptions{
				model: c.Args().First(), at: c.String("at"), conditions: c.String("conditions"), calibrated: c.String("calibrated"),
				alpha: c.Float64("alpha"), json: c.Bool("json"), csv: c.Bool("csv"),
			}
			return runPredict(c.Context, o, stdout, stderr)
		},
	}
}

func runPredict(ctx context.Context, o predictOptions, stdout, stderr io.Writer) error {
	switch {
	case (o.at == "") == (o.conditions == ""):
		return usage("pipeline predict wants --at or --conditions, one of them")
	case o.json && o.csv:
		return usage("pipeline predict: --json and --csv exclude each other")
	case !(o.alpha > 0 && o.alpha < 1):
		return usage("--alpha wants a number between 0 and 1, found %g", o.alpha)
	case o.calibrated != "" && o.calibrated != score.Scaled && o.calibrated != score.Isotonic:
		return usage("--calibrated wants %s or %s, found %q", score.Scaled, score.Isotonic, o.calibrated)
	}
	m, err := pipeline.OpenModels(o.model)
	if err != nil {
		return err
	}
	var x []float64
	if o.at != "" {
		if x, err = m.ParseAt(o.at); err != nil {
			return usage("--at: %v", err)
		}
	} else if x, err = readConditions(o.conditions, m); err != nil {
		return err
	}
	p, err := m.Predict(ctx, x, o.calibrated)
	if err != nil {
		return err
	}
	for _, w := range m.Warnings {
		fmt.Fprintln(stderr, "note: "+w)
	}
	if o.calibrated == "" && m.Calibrated() {
		fmt.Fprintln(stderr, "note: a calibration lies beside the model; --calibrated scaled or isotonic applies it")
	}
	switch {
	case o.json:
		return printJSON(stdout, predictJSON(m, p, x, o))
	case o.csv:
		return predictCSV(stdout, m, p, x, o)
	}
	return predictTable(stdout, m, p, x, o)
}

// readConditions reads a CSV file with a column per input; other columns are
// left alone.
func readConditions(path string, m *pipeline.Models) ([]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &ingest.DataError{Path: path, Want: "a CSV file with conditions", Found: "none", Err: err}
	}
	defer f.Close()
	return parseConditions(path, f, m.InputNames())
}

func parseConditions(path string, f io.Reader, names []string) ([]float64, error) {
	r := csv.NewReader(f)
	r.Comment, r.TrimLeadingSpace = '#', true
	head, err := r.Read()
	if err != nil {
		return nil, &ingest.DataError{Path: path, Want: "a header with the columns " + strings.Join(names, ", "), Found: "none", Err: notEOF(err)}
	}
	if len(head) > 0 {
		head[0] = strings.TrimPrefix(head[0], "\ufeff")
	}
	column := make([]int, len(names))
	for i, n := range names {
		column[i] = -1
		for k, h := range head {
			if strings.TrimSpace(h) == n {
				if column[i] >= 0 {
					return nil, &ingest.DataError{Path: path, Place: "line 1", Want: "one column " + n, Found: "two"}
				}
				column[i] = k
			}
		}
		if column[i] < 0 {
			return nil, &ingest.DataError{Path: path, Place: "line 1", Want: "a column " + n, Found: strings.Join(head, ", ")}
		}
	}
	var x []float64
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &ingest.DataError{Path: path, Want: "rows of equal length", Found: "another", Err: err}
		}
		line, _ := r.FieldPos(0)
		for i, k := range column {
			v, err := strconv.ParseFloat(strings.TrimSpace(rec[k]), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, &ingest.DataError{Path: path, Place: fmt.Sprintf("line %d, column %s", line, names[i]), Want: "a number", Found: strconv.Quote(rec[k])}
			}
			x = append(x, v)
		}
	}
	if len(x) == 0 {
		return nil, &ingest.DataError{Path: path, Want: "at least one condition", Found: "a header alone"}
	}
	return x, nil
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func predictTable(w io.Writer, m *pipeline.Models, p *pipeline.Predictions, x []float64, o predictOptions) error {
	c := m.Card
	if c.Experiment != "" {
		held := ""
		if c.HeldOut != "" {
			held = "; held out: " + c.HeldOut
		}
		fmt.Fprintf(w, "%s, %s data, split %s%s; %s\n", c.Experiment, c.Data, c.Split, held, seedsText(p.Seeds))
	}
	d := len(c.Inputs)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range p.N {
		row := x[i*d : (i+1)*d]
		fmt.Fprintf(tw, "\nat %s\n", conditionText(m, row))
		fmt.Fprintf(tw, "outcome\tunit\tmean\ttotal ±\tepistemic √C\tinterval of the mean (%g %%)\tu\tC\traw\tbetween seeds ±\n", 100*(1-o.alpha))
		for j, out := range c.Outcomes {
			k := i*p.Out + j
			sd, interval := "none", "none: C ≤ 0"
			if h, ok := score.Chebyshev(p.Cov[k], o.alpha); ok {
				sd, interval = short(math.Sqrt(p.Cov[k])), short(p.Mu[k]-h)+" … "+short(p.Mu[k]+h)
			}
			spread := "–"
			if !math.IsNaN(p.Spread[k]) {
				spread = short(math.Sqrt(p.Spread[k]))
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", out.Name, out.Unit, short(p.Mu[k]), short(math.Sqrt(p.Total[k])), sd, interval, short(p.ZigZag[k]), short(p.Cov[k]), short(p.Raw[k]), spread)
		}
		if err := tw.Flush(); err != nil {
			return fmt.Errorf("print predictions: %w", err)
		}
		for _, s := range m.Outside(row) {
			fmt.Fprintln(w, "extrapolation: "+s)
		}
	}
	_, err := fmt.Fprint(w, "\ntotal ± and √C are standard deviations, C and raw variances (unit²); the interval is Chebyshev's √(C/α) and holds whatever the error's distribution, if C is right\n")
	return err
}

func seedsText(n int) string {
	if n == 1 {
		return "one model"
	}
	return fmt.Sprintf("%d models together", n)
}

func conditionText(m *pipeline.Models, x []float64) string {
	var s []string
	for i, in := range m.Card.Inputs {
		t := in.Name + " = " + strconv.FormatFloat(x[i], 'g', -1, 64)
		if in.Unit != "" {
			t += " " + in.Unit
		}
		s = append(s, t)
	}
	return strings.Join(s, ", ")
}

// short writes a number with four digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

type outcomeJSON struct {
	Name     string     `json:"name"`
	Unit     string     `json:"unit"`
	Mean     float64    `json:"mean"`
	Total    float64    `json:"total_variance"`
	Cov      float64    `json:"cov"`
	Raw      float64    `json:"cov_raw"`
	Delta    float64    `json:"delta"`
	ZigZag   float64    `json:"zigzag"`
	Spread   *float64   `json:"between_seeds_variance"`
	Interval *[]float64 `json:"interval"` // null where C ≤ 0: there is none
}

type conditionJSON struct {
	At            map[string]float64 `json:"at"`
	Extrapolation []string           `json:"extrapolation"`
	Outcomes      []outcomeJSON      `json:"outcomes"`
}

func predictJSON(m *pipeline.Models, p *pipeline.Predictions, x []float64, o predictOptions) any {
	d := len(m.Card.Inputs)
	list := make([]conditionJSON, p.N)
	for i := range list {
		row := x[i*d : (i+1)*d]
		c := conditionJSON{At: map[string]float64{}, Extrapolation: append([]string{}, m.Outside(row)...)}
		for k, name := range m.InputNames() {
			c.At[name] = row[k]
		}
		for j, out := range m.Card.Outcomes {
			k := i*p.Out + j
			r := outcomeJSON{Name: out.Name, Unit: out.Unit, Mean: p.Mu[k], Total: p.Total[k], Cov: p.Cov[k], Raw: p.Raw[k], Delta: p.Delta[k], ZigZag: p.ZigZag[k]}
			if !math.IsNaN(p.Spread[k]) {
				r.Spread = &p.Spread[k]
			}
			if h, ok := score.Chebyshev(p.Cov[k], o.alpha); ok {
				r.Interval = &[]float64{p.Mu[k] - h, p.Mu[k] + h}
			}
			c.Outcomes = append(c.Outcomes, r)
		}
		list[i] = c
	}
	return struct {
		Models     []string        `json:"models"`
		Experiment string          `json:"experiment"`
		Data       string          `json:"data"`
		Split      string          `json:"split"`
		HeldOut    string          `json:"held_out"`
		Alpha      float64         `json:"alpha"`
		Calibrated string          `json:"calibrated"`
		Notes      []string        `json:"notes"`
		Conditions []conditionJSON `json:"conditions"`
	}{m.Paths, m.Card.Experiment, m.Card.Data, m.Card.Split, m.Card.HeldOut, o.alpha, o.calibrated, append([]string{}, m.Warnings...), list}
}

func predictCSV(w io.Writer, m *pipeline.Models, p *pipeline.Predictions, x []float64, o predictOptions) error {
	cw := csv.NewWriter(w)
	head := m.InputNames()
	for _, out := range m.Card.Outcomes {
		for _, s := range []string{"mu", "var", "cov", "cov_raw", "delta", "zigzag", "between_seeds_var", "low", "high"} {
			head = append(head, out.Name+"_"+s)
		}
	}
	head = append(head, "extrapolation")
	rows := [][]string{head}
	d := len(m.Card.Inputs)
	number := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for i := range p.N {
		var row []string
		for _, v := range x[i*d : (i+1)*d] {
			row = append(row, number(v))
		}
		for j := range p.Out {
			k := i*p.Out + j
			h, _ := score.Chebyshev(p.Cov[k], o.alpha) // NaN, hence empty, where there is none
			for _, v := range []float64{p.Mu[k], p.Total[k], p.Cov[k], p.Raw[k], p.Delta[k], p.ZigZag[k], p.Spread[k], p.Mu[k] - h, p.Mu[k] + h} {
				row = append(row, number(v))
			}
		}
		rows = append(rows, append(row, strings.Join(m.Outside(x[i*d:(i+1)*d]), "; ")))
	}
	if err := cw.WriteAll(rows); err != nil {
		return fmt.Errorf("print predictions: %w", err)
	}
	return nil
}
