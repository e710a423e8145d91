package stages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// component splits the name of a load from the sign in front of it.
func component(value string) (name string, sign float64) {
	if n, ok := strings.CutPrefix(value, "-"); ok {
		return n, -1
	}
	return strings.TrimPrefix(value, "+"), 1
}

// balanceColumns lists the columns a balance's run is read from: those of the
// outcomes; of a balance of voltages the voltages, then the angle's and the
// flow's columns, then columns of outcomes that are no loads.
func (b *builder) balanceColumns(in *config.Ingest) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	bal := in.Balance
	if bal == nil {
		for _, c := range in.Columns {
			out = append(out, c.Value)
		}
		return out
	}
	for _, v := range bal.Voltages {
		add(v)
	}
	if b.angleColumn(bal) {
		add(bal.Angle)
	}
	if w := bal.Flow; w != nil {
		for _, name := range []string{w.Column, w.Pressure, w.Temperature} {
			if name != "" {
				add(name)
			}
		}
	}
	for _, c := range in.Columns {
		if n, _ := component(c.Value); !slices.Contains(bal.Components, n) {
			add(c.Value)
		}
	}
	return out
}

// angleColumn reports whether the balance's angle is a column of the files and
// not a condition.
func (b *builder) angleColumn(bal *config.Balance) bool {
	return bal.Angle != "" && !slices.Contains(b.conditions, bal.Angle)
}

// airKnown reports whether conditions or a sensor give what the dynamic pressure
// needs of the air.
func (b *builder) airKnown(in *config.Ingest) bool {
	has := func(n string) bool { return slices.Contains(b.conditions, n) }
	return has("q_pa") || has("density_kg_m3") || has("pressure_pa") && has("temperature_c") ||
		in.Balance != nil && in.Balance.Flow != nil && (in.Balance.Flow.Quantity == "q_pa" || in.Balance.Flow.Pressure != "")
}

// measuresForces makes a balance whose columns hold forces one of voltages whose
// matrix is the identity, so that tare, angle and signs are one and the same.
func measuresForces(in *config.Ingest) (forces bool) {
	if in.Balance == nil || len(in.Balance.Voltages) > 0 || len(in.Balance.Matrix) > 0 {
		return false
	}
	bal := *in.Balance // the configuration's stays as it was written
	bal.Components = nil
	for _, c := range in.Columns {
		if n, _ := component(c.Value); !slices.Contains(bal.Voltages, n) {
			bal.Voltages, bal.Components = append(bal.Voltages, n), append(bal.Components, n)
		}
	}
	for i := range bal.Voltages {
		row := make([]float64, len(bal.Voltages))
		row[i] = 1
		bal.Matrix = append(bal.Matrix, row)
	}
	in.Balance = &bal
	return true
}

// tare is a recording without wind: its name, and where it is to be opened.
type tare struct{ name, open string }

// needsTare makes the recording without wind an input of a task, and returns
// it; nil without one. Where the table of conditions names one for each run,
// conds are its rows about the file called name.
func (b *builder) needsTare(src *source, t *engine.Task, name string, conds *ingest.Conditions) (*tare, error) {
	if src.in.Balance == nil || src.in.Balance.Tare == nil {
		return nil, nil
	}
	p := src.in.Balance.Tare.File
	if column := src.in.Balance.Tare.Column; column != "" {
		var err error
		if p, err = ownTare(column, conds, name); err != nil {
			return nil, err
		}
		// Named as the recording is: from the configuration's folder, or beside it.
		if beside := filepath.Join(filepath.Dir(filepath.FromSlash(name)), filepath.FromSlash(p)); !exists(b.f.Resolve(p)) && exists(b.f.Resolve(beside)) {
			p = beside
		}
	}
	f := engine.File{Path: filepath.ToSlash(p), Open: b.f.Resolve(p)}
	if !slices.ContainsFunc(t.Files, func(e engine.File) bool { return e.Path == f.Path }) {
		t.Files = append(t.Files, f)
	}
	return &tare{f.Path, f.Open}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// measured is what the columns of a run hold after the balance's matrix and tare.
type measured struct {
	series [][]float64 // per entry of columns
	units  []string    // what the file or the matrix says of them
	angle  []float64   // of the arm, deg: per sample, or one; nil: not stated here
	flow   []float64   // the sensor's, per sample or one; nil: none
	rho    []float64   // of the air by its pressure and temperature, per sample or one; nil: not measured here
}

// loads computes them from the columns read, in the order of balanceColumns.
func (f *fileTables) loads(ctx context.Context, res *fileResult, rec ingest.Recording, chans [][]float64) (*measured, error) {
	in := &f.src.in
	unitOf := func(i int) string { return res.Info.Channels[rec.Channels[i]].Unit }
	m := &measured{}
	bal := in.Balance
	if bal == nil {
		for i := range in.Columns {
			m.series, m.units = append(m.series, chans[i]), append(m.units, unitOf(i))
		}
		return m, nil
	}
	columns := f.src.grouping.Channels
	at := func(name string) []float64 { return chans[slices.Index(columns, name)] }
	matrix, err := dsp.NewLoadMatrix(bal.Matrix, len(bal.Voltages), bal.Terms)
	if err != nil {
		return nil, err
	}
	loads := matrix.Loads(chans[:len(bal.Voltages)])
	if bal.Angle != "" {
		if f.b.angleColumn(bal) {
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
		name, sign := component(c.Value)
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
		case f.src.forces:
			unit = unitOf(k) // the file's own
		case strings.HasPrefix(strings.ToUpper(name), "M"):
			unit = "N·m"
		}
		m.series, m.units = append(m.series, s), append(m.units, unit)
	}
	if w := bal.Flow; w != nil {
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
			p, t := perRun(at(w.Pressure)), perRun(at(w.Temperature))
			for i := range p {
				m.rho = append(m.rho, dsp.AirDensity(p[i], t[i]))
			}
		}
	}
	return m, nil
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
func (f *fileTables) polar(ctx context.Context, matrix *dsp.LoadMatrix) (*dsp.Polar, error) {
	if f.gravity != nil {
		return f.gravity, nil
	}
	bal := f.src.in.Balance
	t := bal.Tare
	r, err := ingest.Open(f.tare.open, f.src.options)
	if err != nil {
		return nil, named(err, f.tare.open, f.tare.name)
	}
	defer r.Close()
	info := r.Info()
	columns := slices.Clone(bal.Voltages)
	if t.Interpolation != "mean" {
		if !f.b.angleColumn(bal) {
			return nil, &ingest.DataError{Path: f.tare.name, Want: "an angle for each sample, in a column", Found: fmt.Sprintf("balance.angle: %s, which is a condition", bal.Angle), Hint: "name the angle's column, or use interpolation: mean"}
		}
		columns = append(columns, bal.Angle)
	}
	var chans []int
	for _, c := range columns {
		k, err := ingest.FindChannel(info, c)
		if err != nil {
			return nil, named(err, f.tare.open, f.tare.name)
		}
		chans = append(chans, k)
	}
	row1 := int64(t.Row1)
	n := info.Channels[chans[0]].Samples
	if row1 == 0 {
		row1 = n
	}
	if row1 > n || int64(t.Row0) >= row1 {
		return nil, &ingest.DataError{Path: f.tare.name, Place: "tare", Want: fmt.Sprintf("rows within the %d of the file", n), Found: fmt.Sprintf("%d to %d", t.Row0, row1)}
	}
	data, err := readColumns(ctx, r, chans, int64(t.Row0), row1-int64(t.Row0))
	if err != nil {
		return nil, named(err, f.tare.open, f.tare.name)
	}
	for i, x := range data {
		for k, v := range x {
			if v-v != 0 {
				return nil, &ingest.DataError{Path: f.tare.name, Place: fmt.Sprintf("column %s, row %d", columns[i], t.Row0+k), Want: "a finite number", Found: fmt.Sprint(v)}
			}
		}
	}
	var angle []float64
	if t.Interpolation != "mean" {
		angle = degrees(data[len(data)-1], bal.AngleUnit)
	}
	p, err := dsp.NewPolar(t.Interpolation, angle, matrix.Loads(data[:len(bal.Voltages)]))
	var de *dsp.Error
	if errors.As(err, &de) {
		return nil, &ingest.DataError{Path: f.tare.name, Place: de.Place, Want: de.Want, Found: de.Found, Hint: de.Hint}
	}
	f.gravity = p
	return p, err
}

// dynamicPressure is q in Pa of a run, one value or one per sample: measured by
// the flow's sensor, else the condition q_pa, else ½ρU², ρ of columns of pressure
// and temperature before the run's own conditions before the configuration's;
// with the walls' blockage.
func (f *fileTables) dynamicPressure(res *fileResult, rec ingest.Recording, in *measured, need func(string) (float64, error)) ([]float64, error) {
	d := f.b.e.DSP
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
	bal := f.src.in.Balance
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
			return nil, &ingest.DataError{Path: res.Path, Place: rec.ID, Want: "a dynamic pressure above zero", Found: fmt.Sprintf("%g Pa", q[i])}
		}
	}
	return q, nil
}
