package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"os"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/stats"
)

// maxScanned bounds the bytes of an experiment whose samples CheckFiles reads to find those that
// are no numbers.
const maxScanned = 256 << 20

// fits reports a run that the construction cannot analyse, by its header: a recording that is too
// short, a harmonic above the Nyquist frequency.
func (f *reader) fits(info ingest.Info, run ingest.Run) error {
	n := length(info, run)
	if n == 0 || f.src.In.Tachometer != nil {
		return nil // reported when samples are read, or only pulses give the speed
	}

	r := NewRun(f.src, info, run, n, make([]float64, len(run.Recordings)), make([]string, len(run.Recordings)))
	var err error
	switch c := f.src.Construction.(type) {
	case dsp.OfSpectra:
		_, err = c.Spectra(r)

	case dsp.Drawer:
		_, _, err = c.Draw(r, int(n))
	}

	var data *fault.Error
	if !errors.As(err, &data) {
		return err
	}

	if hint := rateHint(r.RateHz, f.src.In.RateHz); hint != "" && len(r.Microphones) > 0 {
		data.Hint = hint + "; else " + data.Hint
	}

	if data.Path == "" {
		data.Path, data.Place = info.Path, place(run, data.Place)
	}

	return err
}

// place puts the interval of a run before the place of a fault in it.
func place(run ingest.Run, at string) string {
	if run.Row0 == 0 && run.Row1 < 0 {
		return at
	}

	text := fmt.Sprintf("samples %d to %d", run.Row0, run.Row1)
	if at != "" {
		text += ", " + at
	}

	return text
}

// The sampling rates of microphones that are probably in another unit.
const lowRateHz, highRateHz = 500, 5e6

// rateHint asks for the rate in another unit where it is no microphone's; "" where it may be.
func rateHint(rate, stated float64) string {
	from := "in the file"
	if stated > 0 {
		from = "rate_hz"
	}

	switch {
	case rate > 0 && rate < lowRateHz:
		return fmt.Sprintf("a sampling rate of %g Hz (%s) may be meant in kHz: write rate_hz: %g", rate, from, 1000*rate)
	case rate > highRateHz:
		return fmt.Sprintf("a sampling rate of %g Hz (%s) may be meant in mHz: write rate_hz: %g", rate, from, rate/1000)
	}

	return ""
}

// finite reports the first sample that is no number, of a file whose samples may be none.
func (f *reader) finite(ctx context.Context, rd ingest.Reader, run ingest.Run) error {
	if q, ok := rd.(ingest.Quantized); ok {
		if step, _, _ := q.Quantum(); step > 0 {
			return nil // integers
		}
	}

	_, _, err := stats.Scan(ctx, rd, run)

	return f.named(err)
}

// scanned is how many of the first files have their samples read.
func (r *Recordings) scanned() int {
	total := int64(0)
	for i, f := range r.Files {
		if fi, err := os.Stat(f.File.Open); err == nil {
			total += fi.Size()
		}

		if total > maxScanned {
			return i
		}
	}

	return len(r.Files)
}
