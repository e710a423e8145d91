package stages

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"slices"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/engine"
	"doubletake/report"
)

// seriesData is the output of the task that keeps an excerpt of one balance
// run for the page.
const seriesData = "series.gob"

// excerptSamples is the length of the excerpt.
const excerptSamples = 400

// excerpt is what the series task keeps: what is shown, and the values of every
// sample drawn, by which the report makes sure that it shows what was used.
type excerpt struct {
	Series *report.Series // nil where there is nothing to show
	Names  []string
	Y1, Y2 [][]float64 // per outcome
}

// series adds the task that reads one run of a balance again, the middle one,
// to show which of its samples became y1 and y2. It returns nil where no
// samples are drawn.
func (b *builder) series() *engine.Dep {
	if b.src == nil || !b.src.grouping.Together || b.e.DSP.Triplets != "random-samples" || b.e.DSP.Couples || len(b.raw) == 0 {
		return nil
	}
	raw, in, conds := b.raw[len(b.raw)/2], b.recordings[len(b.raw)/2], b.perFile[len(b.raw)/2]
	i := slices.IndexFunc(b.plan.Tasks, func(t *engine.Task) bool { return t.ID == b.id("dsp", raw.name) })
	if i < 0 {
		return nil
	}
	made := b.plan.Tasks[i] // the task that draws the samples: this one reads what it reads
	src := b.src
	t := b.add(&engine.Task{
		ID: b.id("report", "series"), Stage: "report", Version: reportVersion, Weight: 0.02,
		Config: made.Config, Local: made.Local, Deps: made.Deps, Files: made.Files,
	})
	tare, err := b.needsTare(src, &engine.Task{}, raw.name, conds) // among made's files
	if err != nil {
		return nil // told where the task was made
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		var res fileResult
		if err := readJSON(j.Input(in.Task, in.Output), &res); err != nil {
			return err
		}
		x, err := b.excerpt(ctx, src, tare, &res, raw.path(j))
		if err != nil {
			// A recording that cannot be used was reported where it was read; the
			// page then has no excerpt.
			var bad *ingest.DataError
			if !errors.As(err, &bad) {
				return err
			}
			x = &excerpt{}
		}
		f, err := os.Create(j.Output(seriesData))
		if err != nil {
			return fmt.Errorf("write series: %w", err)
		}
		if err := errors.Join(gob.NewEncoder(f).Encode(x), f.Close()); err != nil {
			return fmt.Errorf("write series: %w", err)
		}
		return nil
	}
	return &engine.Dep{Task: t.ID, Output: seriesData}
}

func (b *builder) excerpt(ctx context.Context, src *source, tare *tare, res *fileResult, path string) (*excerpt, error) {
	if res.Skipped != nil || len(res.Runs) == 0 {
		return &excerpt{}, nil
	}
	run := res.Runs[0]
	rec := run.Run.Recordings[0]
	rate := res.Info.Channels[rec.Channels[0]].RateHz
	n := int(run.Stats[0].Samples)
	if rate <= 0 || n < 2 {
		return &excerpt{}, nil
	}
	rd, err := ingest.Open(path, src.options)
	if err != nil {
		return nil, named(err, path, res.Path)
	}
	defer rd.Close()
	chans, err := readRun(ctx, rd, run.Run, int64(n))
	if err != nil {
		return nil, named(err, path, res.Path)
	}
	f := &fileTables{b: b, src: src, tare: tare}
	names, units, values, err := f.outcomeSeries(ctx, res, rec, chans, &fileNotes{})
	if err != nil {
		return nil, err
	}
	first, second, err := dsp.RandomSamples(n, b.e.DSP.Samples, seedOf(b.e.DSP.Seed, "random-samples", run.Run.ID))
	if err != nil {
		return &excerpt{}, nil // too short: the dsp stage says so
	}
	s := &report.Series{Run: run.Run.ID, Of: n}
	x := &excerpt{Series: s, Names: names}
	keep := min(n, excerptSamples)
	for i := range keep {
		s.Time = append(s.Time, float64(i)/rate)
	}
	inside := func(at []int) []int {
		var out []int
		for _, i := range at {
			if i < keep {
				out = append(out, i)
			}
		}
		slices.Sort(out)
		return out
	}
	s.First, s.Second = inside(first), inside(second)
	pick := func(v []float64, at []int) []float64 {
		out := make([]float64, len(at))
		for k, i := range at {
			out[k] = v[i]
		}
		return out
	}
	for k := range names {
		s.Outcomes = append(s.Outcomes, report.Quantity{Name: names[k], Unit: units[k]})
		s.Value = append(s.Value, slices.Clone(values[k][:keep]))
		x.Y1, x.Y2 = append(x.Y1, pick(values[k], first)), append(x.Y2, pick(values[k], second))
	}
	return x, nil
}

// takeSeries adds the excerpt to the page, if its drawn samples are those of
// the triplets, bit for bit.
func (d *detail) takeSeries(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read series: %w", err)
	}
	defer f.Close()
	var x excerpt
	if err := gob.NewDecoder(f).Decode(&x); err != nil {
		return fmt.Errorf("read series %s: %w", path, err)
	}
	if x.Series == nil {
		return nil
	}
	var rows []int
	for i, r := range d.tab.Column("run").Strings {
		if r == x.Series.Run {
			rows = append(rows, i)
		}
	}
	for k, n := range x.Names {
		for suffix, want := range map[string][]float64{"_1": x.Y1[k], "_2": x.Y2[k]} {
			v, err := d.tab.Floats(n + suffix)
			if err != nil || len(rows) != len(want) {
				return nil // not what the triplets hold: nothing is shown
			}
			for i, r := range rows {
				if v[r] != want[i] {
					return nil
				}
			}
		}
	}
	at := make([]float64, len(d.in))
	for k, n := range d.in {
		v, err := d.tab.Floats(n)
		if err != nil || len(rows) == 0 {
			return err
		}
		at[k] = v[rows[0]]
	}
	x.Series.Fixed = fixed(d.d.Inputs, at)
	d.d.Series = x.Series
	return nil
}
