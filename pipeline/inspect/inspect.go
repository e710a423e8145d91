// Package inspect describes a file without a configuration: a recording, a table or a model.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/predict"
	"doubletake/pipeline/table"
	"doubletake/train/numbers"
)

// Description is what File found in a file. Exactly one of Recording, Table
// and Model is set.
type Description struct {
	Path      string     `json:"path"`
	Kind      string     `json:"kind"` // "recording", "table", "model"
	Bytes     int64      `json:"bytes"`
	Recording *Recording `json:"recording,omitempty"`
	Table     *Table     `json:"table,omitempty"`
	Model     *Model     `json:"model,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
}

// Model is a trained model, with its card.
type Model struct {
	predict.Card
	Paths        []string `json:"paths"`           // of the networks, which predict together
	Uncalibrated string   `json:"uncalibrated"`    // why there is no calibrated prediction, "" where there is one
	Level        float64  `json:"level,omitempty"` // of the calibrated intervals
}

// Recording is a raw file.
type Recording struct {
	Format     string             `json:"format"`
	Encoding   string             `json:"encoding"`
	Attributes []ingest.Attribute `json:"attributes,omitempty"`
	Channels   []Channel          `json:"channels"`
	Unread     []ingest.Unread    `json:"unread,omitempty"`
}

// Channel is a channel with its statistics, in the file's own unit.
type Channel struct {
	Name       string             `json:"name"`
	Unit       string             `json:"unit"`
	Converted  string             `json:"unit_conversion,omitempty"` // to the usual unit: "to N: × 1000"
	RateHz     float64            `json:"rate_hz"`                   // 0: the file does not state it
	Samples    int64              `json:"samples"`
	DurationS  float64            `json:"duration_s"` // 0: not known
	Clock      bool               `json:"clock,omitempty"`
	Role       string             `json:"role,omitempty"` // of what is no recording: time, coordinate or setting
	Attributes []ingest.Attribute `json:"attributes,omitempty"`
	Min        numbers.Float      `json:"min"`
	Max        numbers.Float      `json:"max"`
	DC         numbers.Float      `json:"mean"`
	RMS        numbers.Float      `json:"rms"`
	Std        numbers.Float      `json:"std"`
	Clipped    int64              `json:"clipped"`
	Constant   int64              `json:"longest_constant"`
	NaN        int64              `json:"not_finite"`
	FirstNaN   int64              `json:"first_not_finite"` // −1: none
	First      []numbers.Float    `json:"first"`            // the first samples
	Spectrum   *Spectrum          `json:"spectrum,omitempty"`
}

// Spectrum is the mean power spectrum of segments spread over a channel:
// Welch's, Hann window, a sine on a bin reads its mean square.
type Spectrum struct {
	BinHz    float64         `json:"bin_hz"`
	Segments int             `json:"segments"`
	Power    []numbers.Float `json:"power"` // from 0 Hz on, unit²
	Peaks    []Peak          `json:"peaks"` // the strongest local maxima, strongest first
}

// Peak is a line of a spectrum.
type Peak struct {
	Hz      float64 `json:"hz"`
	Power   float64 `json:"power"`
	AboveDB float64 `json:"above_floor_db"` // above the median of the spectrum around it
}

// Table is an Arrow file.
type Table struct {
	Rows     int       `json:"rows"`
	Columns  []Column  `json:"columns"`
	Metadata []kv.Pair `json:"metadata"`
}

// Column is a column of a table.
type Column struct {
	Name        string        `json:"name"`
	Type        string        `json:"type"`
	Unit        string        `json:"unit,omitempty"`
	Description string        `json:"description,omitempty"`
	Missing     int           `json:"missing"`
	Distinct    int           `json:"distinct"`
	Min         numbers.Float `json:"min"`
	Max         numbers.Float `json:"max"`
	Mean        numbers.Float `json:"mean"`
	First       []string      `json:"first"` // the first values
}

// previewRows is how many values File shows as they are.
const previewRows = 5

// File describes a recording, a table (.arrow) or a model
// (model.json, or its folder), without a configuration. o guides files that do
// not explain themselves. Faults of the file are *fault.Error.
func File(ctx context.Context, path string, o ingest.Options) (_ *Description, err error) {
	defer fault.Catch(&err)
	st, err := os.Stat(path)
	if err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		_, err := fault.Regular(path)
		return nil, err
	}

	if err == nil && (st.IsDir() || strings.EqualFold(filepath.Ext(path), ".json")) {
		m := fault.Get(predict.Open(path))
		card := m.Card
		card.Conditions = nil        // many, and listed in the card itself
		for i := range card.Inputs { // of a model without card the limits are not known
			if math.IsInf(card.Inputs[i].Min, 0) || math.IsInf(card.Inputs[i].Max, 0) {
				card.Inputs[i].Min, card.Inputs[i].Max = 0, 0
			}
		}

		model := &Model{Card: card, Paths: m.Paths, Uncalibrated: m.Uncalibrated()}
		if model.Uncalibrated == "" {
			model.Level = m.Honest.Calibration.Level
		}

		return &Description{Path: path, Kind: "model", Bytes: st.Size(), Model: model, Warnings: m.Warnings}, nil
	}

	if err == nil && o.Format == "" && hasMagic(path, "ARROW1") {
		// A table of this program; else columns of numbers are a recording. The file
		// may come from anywhere, so it is verified first.
		if t, err := table.ReadVerified(path); err == nil {
			return &Description{Path: path, Kind: "table", Bytes: st.Size(), Table: inspectTable(t)}, nil
		}
	}

	r, err := format.Open(path, o) // it explains what cannot be opened, too
	if err != nil {
		return nil, err
	}
	defer r.Close()

	rec, warnings, err := inspectRecording(ctx, r)
	fault.Raise(err)
	in := &Description{Path: path, Kind: "recording", Bytes: st.Size(), Recording: rec}
	in.Warnings = lists.Each(warnings, func(w ingest.Warning) string { return w.Text })

	return in, nil
}

func hasMagic(path, magic string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(magic))
	n, _ := io.ReadFull(f, b)

	return string(b[:n]) == magic
}

func inspectRecording(ctx context.Context, r ingest.Reader) (_ *Recording, _ []ingest.Warning, err error) {
	defer fault.Catch(&err)
	info := r.Info()

	stats, warns, err := stats.Describe(ctx, r)
	fault.Raise(err)
	out := &Recording{
		Format: info.Format, Encoding: info.Encoding, Attributes: info.Attributes,
		Unread: info.Unread, Channels: make([]Channel, 0, len(info.Channels)),
	}

	heads := readHeads(r)
	for i, c := range info.Channels {
		s := stats[i]
		ch := Channel{
			Name: c.Name, Unit: c.Unit, RateHz: c.RateHz, Samples: c.Samples, Clock: c.IsTime(), Role: c.Role(),
			Attributes: c.Attributes,
			Min:        numbers.Float(s.Min), Max: numbers.Float(s.Max), DC: numbers.Float(s.Mean), RMS: numbers.Float(s.RMS),
			Std:     numbers.Float(s.Std),
			Clipped: s.Clipped, Constant: s.Constant, NaN: s.NaN, FirstNaN: s.FirstNaN,
		}

		if n, ok := units.Coherent(c.Unit); ok {
			ch.Converted = "to " + n.Unit + ": " + n.Formula()
		}

		if c.RateHz > 0 {
			ch.DurationS = float64(c.Samples) / c.RateHz
		}

		ch.First = lists.Each(heads[i], asFloat)
		out.Channels = append(out.Channels, ch)
	}

	// Spectra of the first channels only: a file may have thousands.
	const most = 64
	for i, n := 0, 0; i < len(out.Channels) && n < most; i++ {
		c := &out.Channels[i]
		if c.Clock || c.RateHz <= 0 || c.NaN > 0 || c.Min == c.Max {
			continue
		}

		fault.Raise(ctx.Err())
		c.Spectrum = fault.Get(spectrum(r, i, c.Samples, c.RateHz))
		n++
	}

	return out, append(info.Warnings, warns...), nil
}

// readHeads reads the first samples of every channel, those of one length together,
// because they may lie interleaved. Cells that are no numbers are NaN, channels that
// cannot be read have none.
func readHeads(r ingest.Reader) [][]float64 {
	info := r.Info()
	if t, ok := r.(ingest.Tolerant); ok {
		t.Tolerate(slices.Repeat([]bool{true}, len(info.Channels)))
		defer t.Tolerate(nil)
	}

	heads := make([][]float64, len(info.Channels))
	groups := map[int64][]int{} // number of samples → channels

	var order []int64
	for i, c := range info.Channels {
		n := min(c.Samples, previewRows)
		if groups[n] == nil {
			order = append(order, n)
		}

		groups[n] = append(groups[n], i)
	}

	for _, n := range order {
		channels := groups[n]
		dst := make([][]float64, len(channels))
		for i, c := range channels {
			dst[i] = make([]float64, n)
			heads[c] = dst[i]
		}

		_, err := r.Read(channels, 0, dst)
		if err == nil || errors.Is(err, io.EOF) {
			continue
		}

		for _, c := range channels {
			if _, err := r.Read([]int{c}, 0, heads[c:c+1]); err != nil && !errors.Is(err, io.EOF) {
				heads[c] = nil
			}
		}
	}

	return heads
}

// spectrum is Welch's over at most 64 segments spread evenly over the channel,
// of a length that leaves about 16 of them side by side, 64 to 4096 samples.
func spectrum(r ingest.Reader, channel int, samples int64, rate float64) (*Spectrum, error) {
	n := 4096
	for n > 64 && int64(16*n) > samples {
		n /= 2
	}

	segments := int(min(64, samples/int64(n)))
	if segments < 1 {
		return nil, nil
	}

	w := dsp.NewWelch(n)
	mean, one, x := make([]float64, w.Bins()), make([]float64, w.Bins()), make([]float64, n)
	for g := range segments {
		at := int64(0)
		if segments > 1 {
			at = int64(g) * (samples - int64(n)) / int64(segments-1)
		}

		if got, err := r.Read([]int{channel}, at, [][]float64{x}); got < n {
			return nil, fmt.Errorf("read %s: %w", r.Info().Path, err)
		}

		w.SegmentPower(one, x)

		for k, p := range one {
			mean[k] += p / float64(segments)
		}
	}

	bin := rate / float64(n)
	return &Spectrum{BinHz: bin, Segments: segments, Power: lists.Each(mean, asFloat), Peaks: peaks(mean, bin)}, nil
}

func asFloat(v float64) numbers.Float { return numbers.Float(v) }

// peaks lists the five strongest local maxima 10 dB above the median of the bins
// around them.
func peaks(p []float64, bin float64) []Peak {
	out := []Peak{}
	for k := 2; k+2 < len(p); k++ {
		if p[k] < p[k-1] || p[k] <= p[k+1] || p[k] < p[k-2] || p[k] < p[k+2] {
			continue
		}

		around := slices.Clone(p[max(1, k-24):min(len(p), k+25)])
		slices.Sort(around)

		if floor := around[len(around)/2]; p[k] > 10*floor && floor > 0 {
			out = append(out, Peak{Hz: float64(k) * bin, Power: p[k], AboveDB: 10 * math.Log10(p[k]/floor)})
		}
	}

	slices.SortStableFunc(out, func(a, b Peak) int { return cmp.Compare(b.Power, a.Power) })

	return out[:min(5, len(out))]
}

func inspectTable(t *table.Table) *Table {
	out := &Table{Rows: t.Rows(), Metadata: t.Meta}
	for i := range t.Columns {
		c := &t.Columns[i]
		ic := Column{
			Name: c.Name, Unit: c.Unit, Description: c.Description, Min: numbers.Float(math.NaN()),
			Max: numbers.Float(math.NaN()), Mean: numbers.Float(math.NaN()),
		}

		var text func(int) string
		switch {
		case c.Strings != nil:
			ic.Type, text = "utf8", func(i int) string { return c.Strings[i] }
		case c.Bools != nil:
			ic.Type, text = "bool", func(i int) string { return fmt.Sprint(c.Bools[i]) }
		case c.Lists != nil:
			ic.Type, text = "list of float32", func(i int) string { return fmt.Sprintf("%d values", len(c.Lists[i])) }
		case c.Ints != nil:
			ic.Type, text = "int64", func(i int) string { return fmt.Sprint(c.Ints[i]) }
		default:
			ic.Type, text = "float64", func(i int) string { return fmt.Sprintf("%.6g", c.Floats[i]) }
		}

		floats := c.Floats
		for _, v := range c.Ints {
			floats = append(floats, float64(v))
		}

		lo, hi, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
		for _, v := range floats {
			if math.IsNaN(v) {
				ic.Missing++
				continue
			}

			lo, hi, sum, n = min(lo, v), max(hi, v), sum+v, n+1
		}

		if n > 0 {
			ic.Min, ic.Max, ic.Mean = numbers.Float(lo), numbers.Float(hi), numbers.Float(sum/float64(n))
		}

		seen := map[string]bool{}
		for k := range c.Len() {
			s := text(k)
			if k < previewRows {
				ic.First = append(ic.First, s)
			}

			if ic.Type == "float64" {
				s = fmt.Sprint(c.Floats[k])
			}

			if ic.Type != "list of float32" {
				seen[s] = true
			}
		}

		ic.Distinct = len(seen)
		out.Columns = append(out.Columns, ic)
	}

	return out
}
