package dspstage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
)

// Tare is a recording without wind: its name, and where it is to be opened.
type Tare struct{ name, open string }

// NeedsTare makes the recording without wind of a file an input of a task, and returns
// it; nil without one.
func NeedsTare(conf *config.File, src *plan.Source, t *engine.Task, f *ingeststage.File) (*Tare, error) {
	if src.In.Balance == nil || src.In.Balance.Tare == nil {
		return nil, nil
	}

	p := src.In.Balance.Tare.File
	if column := src.In.Balance.Tare.Column; column != "" {
		var err error
		if p, err = ingeststage.OwnTare(column, f.Rows, f.Name); err != nil {
			return nil, err
		}

		// Named from the configuration's folder, as recordings are, or from the recording's.
		near := filepath.Join(filepath.Dir(filepath.FromSlash(f.Name)), filepath.FromSlash(p))
		if !exists(conf.Resolve(p)) && exists(conf.Resolve(near)) {
			p = near
		}
	}

	file := engine.File{Path: filepath.ToSlash(p), Open: conf.Resolve(p)}
	if !slices.ContainsFunc(t.Files, func(e engine.File) bool { return e.Path == file.Path }) {
		t.Files = append(t.Files, file)
	}

	return &Tare{file.Path, file.Open}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// measured is what the columns of a run hold after the balance's matrix and tare.
type measured struct {
	series [][]float64 // per entry of columns
	units  []string    // by the file or the matrix
	angle  []float64   // of the arm, deg: per sample, or one; nil: not stated here
	flow   []float64   // the sensor's, per sample or one; nil: none
	rho    []float64   // of the air by its pressure and temperature, per sample or one; nil: not measured here
}

// loads computes them from the columns read, in the order of balanceColumns.
func (f *Loads) loads(ctx context.Context, res *ingeststage.FileResult, rec ingest.Recording,
	chans [][]float64,
) (*measured, error) {
	in := &f.Src.In
	unitOf := func(i int) string { return res.Info.Channels[rec.Channels[i]].Unit }
	m := &measured{}

	bal := in.Balance
	if bal == nil {
		for i := range in.Columns {
			m.series, m.units = append(m.series, chans[i]), append(m.units, unitOf(i))
		}
		return m, nil
	}

	columns := f.Src.Grouping.Channels
	at := func(name string) []float64 { return chans[slices.Index(columns, name)] }
	converted := func(column, as string) ([]float64, error) {
		i := slices.Index(columns, column)
		v, _, err := ingeststage.ConvertSeries(res.Path, column, as, unitOf(i), chans[i])
		return v, err
	}

	matrix, err := dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms)
	if err != nil {
		return nil, err
	}

	loads := matrix.Loads(chans[:len(bal.Voltages)])

	if bal.Angle != "" {
		if ingeststage.AngleColumn(bal, f.Src.Conditions) {
			m.angle = degrees(at(bal.Angle), bal.AngleUnit)
		} else {
			m.angle = []float64{rec.Conditions[bal.Angle]}
		}
	}

	if bal.Tare != nil {
		p, err := f.polar(ctx, matrix)
		if err != nil {
			return nil, err
		}

		angle := m.angle
		if bal.Tare.Interpolation == "mean" {
			angle = []float64{0}
		}

		if err := p.Subtract(loads, angle, bal.ToleranceDeg); err != nil {
			return nil, err
		}
	}

	for _, c := range in.Columns {
		name, sign := ingeststage.Component(c.Value)
		k := slices.Index(bal.Components, name)
		if k < 0 {
			i := slices.Index(columns, c.Value)
			m.series, m.units = append(m.series, chans[i]), append(m.units, unitOf(i))
			continue
		}

		s := slices.Clone(loads[k])
		if sign < 0 {
			for i := range s {
				s[i] = -s[i]
			}
		}

		unit := "N"
		switch {
		case f.Src.Forces:
			unit = unitOf(k) // the file's own
		case strings.HasPrefix(strings.ToUpper(name), "M"):
			unit = "N·m"
		}

		m.series, m.units = append(m.series, s), append(m.units, unit)
	}

	if w := bal.Flow; w != nil {
		return m, m.air(w, at, converted)
	}

	return m, nil
}

// air fills in the flow's sensor and the density. at returns a column, converted
// one in the unit of a name.
func (m *measured) air(w *config.Flow, at func(string) []float64, converted func(column, as string) ([]float64, error),
) error {
	if w.Column != "" {
		for _, v := range at(w.Column) {
			x := v - w.Zero
			if w.Law == "square-root" {
				x = math.Sqrt(max(0, x)) // noise about zero has no root
			}

			m.flow = append(m.flow, x/w.DivideBy)
		}
	}

	perRun := func(x []float64) []float64 {
		if w.Per != "run" || len(x) == 0 {
			return x
		}

		sum := 0.0
		for _, v := range x {
			sum += v
		}

		return []float64{sum / float64(len(x))}
	}

	m.flow = perRun(m.flow)
	if w.Pressure != "" {
		p, err := converted(w.Pressure, "pressure_pa")
		if err != nil {
			return err
		}

		t, err := converted(w.Temperature, "temperature_c")
		if err != nil {
			return err
		}

		p, t = perRun(p), perRun(t)
		for i := range p {
			m.rho = append(m.rho, dsp.AirDensity(p[i], t[i]))
		}
	}

	return nil
}

func degrees(x []float64, unit string) []float64 {
	if unit != "rad" {
		return x
	}

	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * 180 / math.Pi
	}

	return out
}

// polar reads the recording without wind, once per file of the campaign.
func (f *Loads) polar(ctx context.Context, matrix *dsp.LoadMatrix) (*dsp.Polar, error) {
	if f.gravity != nil {
		return f.gravity, nil
	}

	bal := f.Src.In.Balance
	t := bal.Tare

	r, err := format.Open(f.Tare.open, f.Src.Options.In(ctx))
	if err != nil {
		return nil, ingeststage.Named(err, f.Tare.open, f.Tare.name)
	}
	defer r.Close()
	info := r.Info()

	columns := slices.Clone(bal.Voltages)
	if t.Interpolation != "mean" {
		if !ingeststage.AngleColumn(bal, f.Src.Conditions) {
			return nil, &fault.Error{
				Path: f.Tare.name, Want: "an angle for each sample, in a column",
				Found: fmt.Sprintf("balance.angle: %s, which is a condition", bal.Angle),
				Hint:  "name the angle's column, or use interpolation: mean",
			}
		}

		columns = append(columns, bal.Angle)
	}

	var chans []int
	for _, c := range columns {
		k, err := ingest.FindChannel(info, c)
		if err != nil {
			return nil, ingeststage.Named(err, f.Tare.open, f.Tare.name)
		}

		chans = append(chans, k)
	}

	row1 := int64(t.Row1)

	n := info.Channels[chans[0]].Samples
	row1 = cmp.Or(row1, n)

	if row1 > n || int64(t.Row0) >= row1 {
		return nil, &fault.Error{
			Path: f.Tare.name, Place: "tare",
			Want: fmt.Sprintf("rows within the %d of the file", n), Found: fmt.Sprintf("%d to %d", t.Row0, row1),
		}
	}

	data, err := ingeststage.ReadColumns(ctx, r, chans, int64(t.Row0), row1-int64(t.Row0))
	if err != nil {
		return nil, ingeststage.Named(err, f.Tare.open, f.Tare.name)
	}

	for i, x := range data {
		for k, v := range x {
			if v-v != 0 {
				return nil, &fault.Error{
					Path: f.Tare.name, Place: fmt.Sprintf("column %s, row %d", columns[i], t.Row0+k),
					Want: "a finite number", Found: fmt.Sprint(v),
				}
			}
		}
	}

	var angle []float64
	if t.Interpolation != "mean" {
		angle = degrees(data[len(data)-1], bal.AngleUnit)
	}

	p, err := dsp.NewPolar(t.Interpolation, angle, matrix.Loads(data[:len(bal.Voltages)]))
	f.gravity = p

	return p, fault.In(f.Tare.name, err)
}

// dynamicPressure is q in Pa of a run, one value or one per sample: measured by
// the flow's sensor, else the condition q_pa, else ½ρU², ρ of columns of pressure
// and temperature before the run's own conditions before the configuration's;
// with the walls' blockage.
func (f *Loads) dynamicPressure(res *ingeststage.FileResult, rec ingest.Recording, in *measured,
	need func(string) (float64, error),
) ([]float64, error) {
	d := f.Src.DSP
	c := rec.Conditions

	rho := d.DensityKgM3
	if rho == 0 && d.PressurePa > 0 {
		rho = dsp.AirDensity(d.PressurePa, d.TemperatureC)
	}

	p, hasP := c["pressure_pa"]

	t, hasT := c["temperature_c"]
	if own, ok := c["density_kg_m3"]; ok {
		rho = own
	} else if hasP && hasT {
		rho = dsp.AirDensity(p, t)
	}

	bal := f.Src.In.Balance

	air := []float64{rho}
	if in.rho != nil {
		air = in.rho
	}

	pressure := func(u []float64) (q []float64) {
		for i := range max(len(u), len(air)) {
			q = append(q, dsp.DynamicPressure(air[min(i, len(air)-1)], u[min(i, len(u)-1)]))
		}
		return q
	}

	var q []float64
	switch {
	case in.flow != nil && bal.Flow.Quantity == "q_pa":
		q = slices.Clone(in.flow)
	case in.flow != nil:
		q = pressure(in.flow)
	default:
		if v, ok := c["q_pa"]; ok {
			q = []float64{v}
			break
		}

		u, err := need("u_inf_m_s")
		if err != nil {
			return nil, err
		}

		q = pressure([]float64{u})
	}

	for i := range q {
		if bal != nil {
			q[i] *= dsp.Blockage(bal.BlockageValue())
		}

		if !(q[i] > 0) {
			return nil, &fault.Error{
				Path: res.Path, Place: rec.ID, Want: "a dynamic pressure above zero",
				Found: fmt.Sprintf("%g Pa", q[i]),
			}
		}
	}

	return q, nil
}
