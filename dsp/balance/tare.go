package balance

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
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
)

// Tare is a recording without wind.
type Tare struct {
	Name string // for messages
	Path string // at which it is opened
}

// subtractZero subtracts from loads the reading without wind at the same angle. angle has one value, or one for each
// sample.
func (f *Loads) subtractZero(ctx context.Context, loads [][]float64, angle []float64) error {
	bal := f.Campaign.Balance
	if bal.Tare.Interpolation == "mean" { // the reading is the same at all angles
		angle = []float64{0}
	}

	zero, err := f.zero(ctx)
	if err != nil {
		return err
	}

	return zero.Subtract(loads, angle, bal.ToleranceDeg)
}

// zero returns the reading without wind of the file's runs. The first call reads the recordings; later calls return the
// same reading. If two recordings were made, zero adds a warning about their difference. It then interpolates between
// them if the settings name a drift, and otherwise returns the reading of the first.
func (f *Loads) zero(ctx context.Context) (*dsp.Polar, error) {
	if f.zeroed != nil {
		return f.zeroed, nil
	}

	zero, err := f.Polar(ctx, f.Tares[0])
	if err != nil {
		return nil, err
	}

	if len(f.Tares) == 1 {
		f.zeroed = zero
		return zero, nil
	}

	later, err := f.Polar(ctx, f.Tares[1])
	if err != nil {
		return nil, err
	}

	var parts []string
	for i, d := range zero.Moved(later) {
		parts = append(parts, f.Campaign.Balance.Components[i]+" by "+fault.Digits(d, 2))
	}

	code := "zero-moved"
	remark := "tare: {drift: linear} takes it out"
	switch f.Campaign.Balance.Tare.Drift {
	case "linear":
		zero = zero.Toward(later, f.Share)
		code = "drift-corrected"
		remark = "taken out in proportion to the runs' rows"
	case "mean":
		zero = zero.Toward(later, f.Share)
		code = "drift-corrected"
		remark = "the mean of both is subtracted, so that half of this remains at most"
	}

	text := fmt.Sprintf("since %s the zero moved: %s; %s", f.Tares[0].Name, strings.Join(parts, ", "), remark)
	f.zeroed = zero
	f.pending = append(f.pending, ingest.Warning{Path: f.Tares[1].Name, Code: code, Text: text})

	return zero, nil
}

// Polar reads a recording without wind and returns its loads as a function of the angle. With tare: {interpolation:
// mean} it reads no angle, and the loads are the same at all angles.
func (b *Balance) Polar(ctx context.Context, tare Tare) (*dsp.Polar, error) {
	bal := b.Campaign.Balance
	reader, err := format.Open(tare.Path, b.Options.In(ctx, tare.Name))
	if err != nil {
		return nil, fault.Named(err, tare.Name)
	}
	defer reader.Close()

	info := reader.Info()
	columns := slices.Clone(bal.Voltages)
	unit := bal.AngleUnit
	byAngle := bal.Tare.Interpolation != "mean"
	if byAngle {
		name, err := b.angleOf(info, tare.Name)
		if err != nil {
			return nil, err
		}

		columns = append(columns, name)
		if k, err := ingest.FindChannel(info, name); err == nil && name != bal.Angle && info.Channels[k].Unit == "rad" {
			unit = "rad"
		}
	}

	data, err := readTare(ctx, reader, info, tare.Name, bal.Tare, columns)
	if err != nil {
		return nil, err
	}

	var angle []float64
	if byAngle {
		angle = degrees(data[len(data)-1], unit)
	}

	p, err := dsp.NewPolar(bal.Tare.Interpolation, angle, b.Matrix.Loads(data[:len(bal.Voltages)]))
	if err != nil {
		return nil, fault.In(tare.Name, err)
	}

	return p, nil
}

// readTare reads columns of a recording without wind, in the rows that the configuration names. It returns an error if
// a value is not a finite number.
func readTare(ctx context.Context, reader ingest.Reader, info ingest.Info, path string, tare *setting.Tare,
	columns []string,
) ([][]float64, error) {
	var channels []int
	for _, c := range columns {
		k, err := ingest.FindChannel(info, c)
		if err != nil {
			return nil, err
		}

		channels = append(channels, k)
	}

	n := info.Channels[channels[0]].Samples
	begin := int64(tare.Row0)
	end := cmp.Or(int64(tare.Row1), n) // 0: the end of the file
	if end > n || begin >= end {
		return nil, fault.At(path, "tare", fmt.Sprintf("rows within the %d of the file", n),
			fmt.Sprintf("%d to %d", begin, end), "")
	}

	data, err := recording.ReadColumns(ctx, reader, channels, begin, end-begin)
	if err != nil {
		return nil, fault.Named(err, path)
	}

	for i, x := range data {
		for k, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fault.At(path, fmt.Sprintf("column %s, row %d", columns[i], tare.Row0+k), "a finite number",
					fmt.Sprint(v), "")
			}
		}
	}

	return data, nil
}

// angleOf returns the name of the column of a recording without wind that contains its angle: the column that the
// configuration names or, if the runs' angle is a condition, the only column in degrees or radians.
func (b *Balance) angleOf(info ingest.Info, name string) (string, error) {
	bal := b.Campaign.Balance
	if a := bal.Tare.Angle; a != "" || AngleColumn(bal, b.Conditions) {
		return cmp.Or(a, bal.Angle), nil
	}

	var found []string
	for _, channel := range info.Channels {
		if slices.Contains([]string{"deg", "°", "rad"}, channel.Unit) || channel.Name == bal.Angle {
			found = append(found, channel.Name)
		}
	}

	if len(found) != 1 {
		return "", fault.At(name, "", "the angle of each sample, in a column in degrees",
			fmt.Sprintf("columns %v, and balance.angle: %s is a condition", info.Names(), bal.Angle),
			"name the column of this file with tare: {angle: COLUMN}, or use interpolation: mean")
	}

	return found[0], nil
}
