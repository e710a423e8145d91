package reportstage

import (
	"context"
	"errors"
	"slices"

	"doubletake/dsp"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
)

// seriesData is the output of the task that keeps an excerpt of one balance
// run for the page.
const seriesData = "series.gob"

// excerptSamples is the length of the excerpt.
const excerptSamples = 400

// excerpt is the result of the series task: the samples to show, and the values of
// every sample drawn, by which the report checks that it shows the samples used.
type excerpt struct {
	Series *report.Series // nil where there is nothing to show
	Names  []string
	Y1, Y2 [][]float64 // per outcome
}

// planSeries adds the task that reads one run of a balance again, the middle one,
// to show which of its samples became y1 and y2. It returns nil where no
// samples are drawn.
func planSeries(exp plan.Experiment, ing ingeststage.Result) *engine.Dep {
	rec := ing.Recordings
	if _, drawn := ing.Construction.(dsp.Drawer); !drawn || exp.DSP.Couples || len(rec.Files) == 0 {
		return nil
	}

	file := rec.Files[len(rec.Files)/2]
	tasks := exp.Tasks.Plan.Tasks
	i := slices.IndexFunc(tasks, func(t *engine.Task) bool { return t.ID == exp.ID("dsp", file.Name) })
	if i < 0 {
		return nil
	}

	made := tasks[i] // the task that draws the samples: this one reads the same file
	t := exp.Add(&engine.Task{
		ID: exp.ID("report", "series"), Stage: "report", Version: version, Weight: 0.02,
		Config: made.Config, Local: made.Local, Deps: made.Deps, Files: made.Files,
	})

	tare, err := dspstage.NeedsTare(exp.File, rec.Source, &engine.Task{}, &file) // among made's files
	if err != nil {
		return nil // reported where the task was made
	}

	t.Run = func(ctx context.Context, j *engine.Job) error {
		var res ingeststage.FileResult
		if err := plan.ReadJSON(j.Input(file.Result.Task, file.Result.Output), &res); err != nil {
			return err
		}

		x, err := readExcerpt(ctx, rec.Source, tare, &res, file.Path(j))
		if err != nil {
			// A recording that cannot be used was reported where it was read; the
			// page then has no excerpt.
			var bad *fault.Error
			if !errors.As(err, &bad) {
				return err
			}

			x = &excerpt{}
		}

		return plan.WriteGob("series", j.Output(seriesData), x)
	}

	return &engine.Dep{Task: t.ID, Output: seriesData}
}

func readExcerpt(ctx context.Context, src *plan.Source, tare *dspstage.Tare,
	res *ingeststage.FileResult, path string,
) (*excerpt, error) {
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

	rd, err := format.Open(path, src.Options.In(ctx))
	if err != nil {
		return nil, ingeststage.Named(err, path, res.Path)
	}
	defer rd.Close()

	chans, err := ingeststage.ReadRun(ctx, rd, run.Run, int64(n))
	if err != nil {
		return nil, ingeststage.Named(err, path, res.Path)
	}

	f := &dspstage.Loads{Src: src, Tare: tare}
	outcomes, _, err := f.Series(ctx, res, rec, chans)
	if err != nil {
		return nil, err
	}

	r := ingeststage.NewRun(src, res.Info, run.Run, int64(n), nil, nil)
	first, second, err := src.Construction.(dsp.Drawer).Draw(r, n)
	if err != nil {
		return &excerpt{}, nil // too short: the dsp stage reports it
	}

	s := &report.Series{Run: run.Run.ID, Of: n}
	x := &excerpt{Series: s}

	keep := min(n, excerptSamples)
	for i := range keep {
		s.Time = append(s.Time, float64(i)/rate)
	}

	shown := func(at []int) []int {
		var out []int
		for _, i := range at {
			if i < keep {
				out = append(out, i)
			}
		}

		slices.Sort(out)

		return out
	}

	s.First, s.Second = shown(first), shown(second)
	pick := func(v []float64, at []int) []float64 {
		out := make([]float64, len(at))
		for k, i := range at {
			out[k] = v[i]
		}

		return out
	}

	for _, o := range outcomes {
		x.Names = append(x.Names, o.Name)
		s.Outcomes = append(s.Outcomes, report.Quantity{Name: o.Name, Unit: o.Unit})
		s.Value = append(s.Value, slices.Clone(o.Values[:keep]))
		x.Y1, x.Y2 = append(x.Y1, pick(o.Values, first)), append(x.Y2, pick(o.Values, second))
	}

	return x, nil
}

// addSeries adds the excerpt to the page, if its drawn samples are those of
// the triplets, bit for bit.
func (d *detail) addSeries(path string) error {
	var x excerpt
	if err := plan.ReadGob("series", path, &x); err != nil {
		return err
	}

	if x.Series == nil {
		return nil
	}

	run := slices.Index(d.set.Runs, x.Series.Run)

	var rows []int
	for i, r := range d.set.Run {
		if r == run {
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

	if len(rows) == 0 {
		return nil
	}

	x.Series.Fixed = fixed(d.d.Inputs, d.set.AtSetPoints()[rows[0]*d.set.In:(rows[0]+1)*d.set.In])
	d.d.Series = x.Series

	return nil
}
