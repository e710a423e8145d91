package dspstage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
)

// CheckTares reads the recordings without wind as a run does, and raises its errors.
func CheckTares(ctx context.Context, ing ingeststage.Result) {
	r := ing.Recordings
	if r == nil {
		return
	}

	seen := map[string]bool{}
	for _, f := range r.Files {
		for _, t := range f.Tares {
			if !seen[t.Name] {
				seen[t.Name] = true
				(&Loads{Src: r.Source}).polar(ctx, t)
			}
		}
	}
}

// measured is what the columns of a run hold after the balance's matrix and tare.
type measured struct {
	series []dsp.Series // per entry of columns, in the unit of the file or the matrix
	angle  []float64    // of the arm, deg: per sample, or one; nil: not stated here
	flow   []float64    // the sensor's, per sample or one; nil: none
	rho    []float64    // of the air by its pressure and temperature, per sample or one; nil: not measured here
}

// loads computes them from the columns read, in the order of balanceColumns.
func (f *Loads) loads(ctx context.Context, res *ingeststage.FileResult, rec ingest.Recording,
	chans [][]float64,
) *measured {
	in := &f.Src.In
	unitOf := func(i int) string { return res.Info.Channels[rec.Channels[i]].Unit }
	plain := func(i int) dsp.Series { return dsp.Series{Unit: unitOf(i), Values: chans[i]} }
	bal := in.Balance
	if bal == nil {
		return &measured{series: lists.Make(len(in.Columns), plain)}
	}

	m, columns := &measured{}, f.Src.Grouping.Channels
	at := func(name string) []float64 { return chans[slices.Index(columns, name)] }
	converted := func(column, as string) []float64 {
		i := slices.Index(columns, column)
		v, _ := ingeststage.ConvertSeries(res.Path, column, as, unitOf(i), chans[i])

		return v
	}

	loads := f.Src.Matrix.Loads(chans[:len(bal.Voltages)])

	if bal.Angle != "" {
		if ingeststage.AngleColumn(bal, f.Src.Conditions) {
			m.angle = degrees(at(bal.Angle), bal.AngleUnit)
		} else {
			m.angle = []float64{rec.Conditions[bal.Angle]}
		}
	}

	if bal.Tare != nil {
		angle := m.angle
		if bal.Tare.Interpolation == "mean" {
			angle = []float64{0}
		}

		fault.Raise(f.zero(ctx).Subtract(loads, angle, bal.ToleranceDeg))
	}

	for _, c := range in.Columns {
		name, sign := ingeststage.Component(c.Value)
		k := slices.Index(bal.Components, name)
		if k < 0 {
			m.series = append(m.series, plain(slices.Index(columns, c.Value)))
			continue
		}

		unit := "N"
		switch {
		case f.Src.Forces:
			unit = unitOf(k) // the file's own
		case strings.HasPrefix(strings.ToUpper(name), "M"):
			unit = "N·m"
		}

		signed := lists.Each(loads[k], func(v float64) float64 { return sign * v })
		m.series = append(m.series, dsp.Series{Unit: unit, Values: signed})
	}

	if w := bal.Flow; w != nil {
		m.air(w, at, converted)
	}

	return m
}

// air fills in the flow's sensor and the density. at returns a column, converted
// one in the unit of a name.
func (m *measured) air(w *config.Flow, at func(string) []float64, converted func(column, as string) []float64) {
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
		p, t := perRun(converted(w.Pressure, "pressure_pa")), perRun(converted(w.Temperature, "temperature_c"))
		m.rho = lists.Make(len(p), func(i int) float64 { return dsp.AirDensity(p[i], t[i]) })
	}
}

func degrees(x []float64, unit string) []float64 {
	if unit != "rad" {
		return x
	}

	return lists.Each(x, func(v float64) float64 { return v * 180 / math.Pi })
}

// zero is the reading without wind of a file's runs, which is read once.
func (f *Loads) zero(ctx context.Context) *dsp.Polar {
	if f.gravity != nil {
		return f.gravity
	}

	p := f.polar(ctx, f.File.Tares[0])
	if len(f.File.Tares) == 1 {
		f.gravity = p
		return p
	}

	later := f.polar(ctx, f.File.Tares[1])
	var parts []string
	for i, d := range p.Moved(later) {
		parts = append(parts, fmt.Sprintf("%s by %.2g", f.Src.In.Balance.Components[i], d))
	}

	code, what := "zero-moved", "tare: {drift: linear} takes it out"
	if f.Src.In.Balance.Tare.Drift == "linear" {
		p = p.Toward(later, f.File.Share)
		code, what = "drift-corrected", "taken out in proportion to the runs' rows"
	}

	text := fmt.Sprintf("since %s the zero moved: %s; %s", f.File.Tares[0].Name, strings.Join(parts, ", "), what)
	f.gravity, f.moved = p, append(f.moved, ingest.Warning{Path: f.File.Tares[1].Name, Code: code, Text: text})

	return p
}

// polar reads a recording without wind.
func (f *Loads) polar(ctx context.Context, tare plan.RawFile) *dsp.Polar {
	bal := f.Src.In.Balance
	t := bal.Tare
	r, err := format.Open(tare.File.Open, f.Src.Options.In(ctx, tare.Name))
	fault.Raise(ingeststage.Named(err, tare.Name))
	defer r.Close()
	info := r.Info()

	columns, unit := slices.Clone(bal.Voltages), bal.AngleUnit
	if t.Interpolation != "mean" {
		name := angleOf(f.Src, info, tare.Name)
		columns = append(columns, name)
		if k, err := ingest.FindChannel(info, name); err == nil && name != bal.Angle && info.Channels[k].Unit == "rad" {
			unit = "rad"
		}
	}

	chans := lists.Each(columns, func(c string) int { return fault.Get(ingest.FindChannel(info, c)) })
	n := info.Channels[chans[0]].Samples
	row0, row1 := int64(t.Row0), cmp.Or(int64(t.Row1), n)
	fault.Unless(row1 <= n && row0 < row1, fault.At(tare.Name, "tare", fmt.Sprintf("rows within the %d of the file", n),
		fmt.Sprintf("%d to %d", row0, row1), ""))

	data, err := ingeststage.ReadColumns(ctx, r, chans, row0, row1-row0)
	fault.Raise(ingeststage.Named(err, tare.Name))
	for i, x := range data {
		for k, v := range x {
			if v-v != 0 {
				fault.Raise(fault.At(tare.Name, fmt.Sprintf("column %s, row %d", columns[i], t.Row0+k), "a finite number",
					fmt.Sprint(v), ""))
			}
		}
	}

	var angle []float64
	if t.Interpolation != "mean" {
		angle = degrees(data[len(data)-1], unit)
	}

	p, err := dsp.NewPolar(t.Interpolation, angle, f.Src.Matrix.Loads(data[:len(bal.Voltages)]))
	fault.Raise(fault.In(tare.Name, err))

	return p
}

// angleOf is the column of a recording without wind that has its angle: the one that the configuration names, or,
// where the runs' angle is a condition, the only one in degrees or radians.
func angleOf(src *plan.Source, info ingest.Info, name string) string {
	bal := src.In.Balance
	if a := bal.Tare.Angle; a != "" || ingeststage.AngleColumn(bal, src.Conditions) {
		return cmp.Or(a, bal.Angle)
	}

	found := lists.Keep(info.Channels, func(c ingest.Channel) bool {
		return slices.Contains([]string{"deg", "°", "rad"}, c.Unit) || c.Name == bal.Angle
	})
	fault.Unless(len(found) == 1, fault.At(name, "", "the angle of each sample, in a column in degrees",
		fmt.Sprintf("columns %v, and balance.angle: %s is a condition", info.Names(), bal.Angle),
		"name the column of this file with tare: {angle: COLUMN}, or use interpolation: mean"))

	return found[0].Name
}

// dynamicPressure is q in Pa of a run, one value or one per sample: measured by
// the flow's sensor, else the condition q_pa, else ½ρU², ρ of columns of pressure
// and temperature before the run's own conditions before the configuration's;
// with the walls' blockage.
func (f *Loads) dynamicPressure(res *ingeststage.FileResult, rec ingest.Recording, in *measured,
	need func(string) float64,
) (q []float64) {
	d, c, bal := f.Src.DSP, rec.Conditions, f.Src.In.Balance
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

	air := []float64{rho}
	if in.rho != nil {
		air = in.rho
	}

	pressure := func(u []float64) []float64 {
		return lists.Make(max(len(u), len(air)), func(i int) float64 {
			return dsp.DynamicPressure(air[min(i, len(air)-1)], u[min(i, len(u)-1)])
		})
	}

	measured, known := c["q_pa"]
	switch {
	case in.flow != nil && bal.Flow.Quantity == "q_pa":
		q = slices.Clone(in.flow)
	case in.flow != nil:
		q = pressure(in.flow)
	case known:
		q = []float64{measured}
	default:
		q = pressure([]float64{need("u_inf_m_s")})
	}

	for i := range q {
		if bal != nil {
			q[i] *= dsp.Blockage(bal.BlockageValue())
		}

		if !(q[i] > 0) {
			fault.Raise(fault.At(res.Path, strings.TrimPrefix(rec.ID, res.Path), "a dynamic pressure above zero",
				fmt.Sprintf("%g Pa", q[i]), ""))
		}
	}

	return q
}
