package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/inspect"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
)

// A sine of amplitude 0.5 that fills a bin reads its mean square 0.125 there
// (docs/method.md#split-half-spectra), its mean is the offset, its rms √(0.125 + offset²); a NaN is
// counted, not an error, and takes the channel's spectrum away.
func TestInspectText(t *testing.T) {
	var b strings.Builder
	b.WriteString("t (s),mic (Pa),bad\n")

	const rate, n = 1024, 16384
	for i := range n {
		bad := "1"
		if i == 7 || i == 9 {
			bad = "nan"
		}

		fmt.Fprintf(&b, "%.17g,%.17g,%s\n", float64(i)/rate, 0.25+0.5*math.Sin(2*math.Pi*128*float64(i)/rate), bad)
	}

	path := filepath.Join(t.TempDir(), "run.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}

	in, err := inspect.File(context.Background(), path, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if in.Kind != "recording" || len(in.Recording.Channels) != 3 {
		t.Fatalf("%+v", in)
	}

	mic, bad := in.Recording.Channels[1], in.Recording.Channels[2]
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	near("mean", float64(mic.DC), 0.25)
	near("rms", float64(mic.RMS), math.Sqrt(0.125+0.0625))
	near("duration", mic.DurationS, 16)

	if mic.Unit != "Pa" || mic.RateHz != rate || !in.Recording.Channels[0].Clock ||
		in.Recording.Channels[0].Spectrum != nil {
		t.Errorf("%+v", in.Recording.Channels)
	}

	if mic.Spectrum == nil || mic.Spectrum.BinHz != 1 || len(mic.Spectrum.Peaks) == 0 || mic.Spectrum.Peaks[0].Hz != 128 {
		t.Fatalf("%+v", mic.Spectrum.Peaks)
	}

	near("power", mic.Spectrum.Peaks[0].Power, 0.125)

	if bad.NaN != 2 || bad.FirstNaN != 7 || bad.Spectrum != nil || float64(bad.DC) != 1 {
		t.Errorf("%+v", bad)
	}

	if w := strings.Join(in.Warnings, "\n"); !strings.Contains(w,
		"channel bad: 2 values no finite numbers, the first is sample 7") {
		t.Errorf("warnings:\n%s", w)
	}

	if _, err := json.Marshal(in); err != nil {
		t.Error(err)
	}
}

// Two microphones' recording of a calibrator of 114 dB at 1 kHz, of which one
// hears it: expected are the sensitivities it was made with, in units per Pa, and
// the spread of a level that rises by 0.5 dB from end to end, 0.45 dB from the
// first of ten blocks to the last. A run uses the same numbers
// (TestCalibratorChain).
func TestInspectCalibrator(t *testing.T) {
	const rate, gain, level = 12800.0, 0.0125, 114.0
	tone := func(fade float64) []float64 {
		a := gain * math.Sqrt2 * 20e-6 * math.Pow(10, level/20)

		x := make([]float64, 10*int(rate))
		for i := range x {
			f := float64(i) / float64(len(x))
			x[i] = a * math.Pow(10, fade*f/20) * math.Sin(2*math.Pi*1000*float64(i)/rate)
		}

		return x
	}

	hiss := make([]float64, 10*int(rate))
	for i := range hiss {
		hiss[i] = 1e-3 * math.Sin(float64(i)*float64(i))
	}

	path := filepath.Join(t.TempDir(), "cal.npy")
	ask := func(c config.Calibrator, channel int, columns ...[]float64) []inspect.Channel {
		t.Helper()
		if err := os.WriteFile(path, ingesttest.Columns(true, columns...), 0o644); err != nil {
			t.Fatal(err)
		}
		o := ingest.Options{RateHz: rate}
		in, err := inspect.File(context.Background(), path, o)
		if err != nil {
			t.Fatal(err)
		}

		if err := inspect.MeasureCalibrator(context.Background(), in, o, channel, c); err != nil {
			t.Fatal(err)
		}

		return in.Recording.Channels
	}

	c := config.DefaultCalibrator(level)
	got := ask(c, -1, tone(0), hiss)
	if k := got[0].Calibrator; !k.Accepted || k.Fault != "" || math.Abs(k.UnitPerPa/gain-1) > 1e-4 ||
		math.Abs(k.PaPerUnit*gain-1) > 1e-4 ||
		math.Abs(k.FrequencyHz-1000) > 0.1 || !(k.SpreadDB >= 0 && k.SpreadDB < 0.01) || k.Blocks != 10 || k.BlockS != 1 ||
		k.AllowedDB != 0.2 {
		t.Errorf("a steady tone: %+v", *k)
	}

	if k := got[1].Calibrator; k.Accepted || k.PaPerUnit != 0 ||
		!strings.Contains(k.Fault, "cal.npy: channel 2: expected a calibrator's tone") {
		t.Errorf("a channel that does not hear it: %+v", *k)
	}

	got = ask(c, 0, tone(0.5), hiss)
	if k := got[0].Calibrator; k.Accepted || math.Abs(k.SpreadDB-0.45) > 0.01 ||
		math.Abs(20*math.Log10(k.UnitPerPa/gain)-0.25) > 0.02 ||
		!strings.Contains(k.Fault, "expected a calibrator's level that is steady within 0.2 dB, found a spread of 0.45 dB") {
		t.Errorf("a tone that rises: %+v", *k)
	}

	if got[1].Calibrator != nil {
		t.Error("the channel that was not asked for is measured")
	}

	c.ToS = 2 // 0.09 dB
	if k := ask(c, 0, tone(0.5), hiss)[0].Calibrator; !k.Accepted || math.Abs(k.SpreadDB-0.09) > 0.01 {
		t.Errorf("its first two seconds: %+v", *k)
	}

	table := &inspect.Description{Path: "t.arrow", Kind: "table"}
	if err := inspect.MeasureCalibrator(context.Background(), table, ingest.Options{}, -1, c); !errors.As(err,
		new(*fault.Error)) {
		t.Errorf("a table: %v", err)
	}
}

func TestInspectTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.arrow")
	tab := &table.Table{
		Columns: []table.Column{
			{Name: "run", Strings: []string{"a", "b", "a"}},
			{Name: "rpm", Unit: "1/min", Floats: []float64{3, math.NaN(), 5}},
			{Name: "n", Ints: []int64{1, 2, 3}},
		},
		Meta: []kv.Pair{{Key: "program", Value: "x"}},
	}

	if _, err := tab.WriteFile(path); err != nil {
		t.Fatal(err)
	}

	in, err := inspect.File(context.Background(), path, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}

	c := in.Table.Columns
	if in.Kind != "table" || in.Table.Rows != 3 || c[0].Distinct != 2 || c[1].Missing != 1 || c[1].Mean != 4 ||
		c[1].Unit != "1/min" || c[2].Max != 3 {
		t.Errorf("%+v", in.Table)
	}

	if b, err := json.Marshal(in); err != nil || !strings.Contains(string(b), `"min":null`) {
		t.Errorf("%s, %v", b, err)
	}

	if err := os.WriteFile(path, []byte("ARROW1\x00\x00nothing"), 0o644); err != nil {
		t.Fatal(err)
	}

	_, err = inspect.File(context.Background(), path, ingest.Options{})
	if !errors.As(err, new(*fault.Error)) {
		t.Errorf("a broken table: %v", err)
	}
}
