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
func (r *reader) fits(run ingest.Run) error {
	n := length(r.info, run)
	if n == 0 || r.src.In.Tachometer != nil {
		return nil // reported when samples are read, or only pulses give the speed
	}

	described := NewRun(r.src, r.info, run, n, make([]float64, len(run.Recordings)), make([]string, len(run.Recordings)))
	var err error
	switch c := r.src.Construction.(type) {
	case dsp.OfSpectra:
		_, err = c.Spectra(described)

	case dsp.Drawer:
		_, _, err = c.Draw(described, int(n))
	}

	var data *fault.Error
	hint := rateHint(described.RateHz, r.src.In.RateHz)
	if errors.As(err, &data) && hint != "" && len(described.Microphones) > 0 {
		data.Hint = hint + "; else " + data.Hint
	}

	return Placed(err, r.info.Path, func(at string) string { return place(run, at) })
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

// scan is stats.Scan; of a check it reads the first and the last second of files of integers, and of those
// that are too many to be read whole, and finds samples that are no numbers or cannot be read.
func (r *reader) scan(ctx context.Context, run ingest.Run) (sums []stats.Summary, warnings []ingest.Warning,
	err error,
) {
	ends := r.ends
	if q, ok := r.rd.(ingest.Quantized); ok && r.check {
		step, _, _ := q.Quantum()
		ends = ends || step > 0
	}

	c := r.info.Channels[run.Recordings[0].Channels[0]]
	from, to := run.Interval(c.Samples)
	second := max(1, int64(c.RateHz))
	if !ends || from+second >= to {
		return stats.Scan(ctx, r.rd, run)
	}

	for _, row := range []int64{from, max(from, to-second)} {
		run.Row0, run.Row1 = row, min(to, row+second)

		var found []ingest.Warning
		if sums, found, err = stats.Scan(ctx, r.rd, run); err != nil {
			return nil, nil, err
		}

		warnings = append(warnings, found...)
	}

	return sums, warnings, nil
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
