package dsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// Tachometer says which channel of a source counts the shaft's revolutions.
type Tachometer struct {
	Channel      int
	PulsesPerRev int
	Falling      bool    // the falling edges count, not the rising ones
	Threshold    float64 // level of an edge, in the channel's unit; NaN: midway between its extremes
}

// tachoBlock is how many samples are read at a time.
const tachoBlock = 1 << 14

// Pulses returns the times of a tachometer's edges in samples from start on,
// interpolated between samples. An edge counts once the signal has left the
// threshold by a fifth of its range to the other side, so that noise on an edge
// is no pulse. sharp counts the edges that rise within a sample: between which
// two samples they lie is all that is known of them (PulseLossDB). Samples are
// read twice, block by block. A channel without pulses is an *Error.
func Pulses(ctx context.Context, src Source, start, samples int64, t Tachometer) (times []float64, sharp int, err error) {
	buf := [][]float64{make([]float64, tachoBlock)}
	each := func(f func(at int64, x []float64)) error {
		for at := int64(0); at < samples; {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("read tachometer: %w", err)
			}
			buf[0] = buf[0][:min(tachoBlock, samples-at)]
			n, err := src.Read([]int{t.Channel}, start+at, buf)
			if n < len(buf[0]) && (err == nil || errors.Is(err, io.EOF)) {
				return &Error{Place: fmt.Sprintf("tachometer, sample %d", start+at+int64(n)), Want: "a sample", Found: "the end of the data"}
			} else if err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("read tachometer: %w", err)
			}
			f(at, buf[0])
			at += int64(n)
		}
		return nil
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	bad := int64(-1)
	err = each(func(at int64, x []float64) {
		for i, v := range x {
			if !finite(v) && bad < 0 {
				bad = start + at + int64(i)
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	switch {
	case bad >= 0:
		return nil, 0, &Error{Place: fmt.Sprintf("tachometer, sample %d", bad), Want: "a finite number", Found: "none"}
	case !(hi > lo):
		return nil, 0, &Error{Place: "tachometer", Want: "pulses", Found: fmt.Sprintf("a channel stuck at %g", lo), Hint: "was it connected?"}
	}
	level := t.Threshold
	if math.IsNaN(level) {
		level = (lo + hi) / 2
	}
	sign := 1.0
	if t.Falling {
		sign = -1
	}
	depth := 0.2 * (hi - lo)
	before, edge := math.NaN(), math.NaN()
	armed, steep := false, false
	err = each(func(at int64, x []float64) {
		for i, v := range x {
			v = sign * (v - level)
			if before < 0 && v >= 0 { // of the crossings on one edge the last counts
				edge = float64(at) + float64(i) - v/(v-before)
				steep = v-before > 0.9*(hi-lo)
			}
			switch {
			case v < -depth:
				armed = true
			case v > depth && armed && !math.IsNaN(edge):
				times = append(times, edge)
				armed = false
				if steep {
					sharp++
				}
			}
			before = v
		}
	})
	if err != nil {
		return nil, 0, err
	}
	if need := 2*t.PulsesPerRev + 1; len(times) < need {
		return nil, 0, &Error{Place: "tachometer", Want: fmt.Sprintf("at least %d pulses (2 revolutions)", need), Found: strconv.Itoa(len(times)), Hint: "check the channel, pulses_per_rev and threshold"}
	}
	return times, sharp, nil
}

// PulseLossDB is how much too low the synchronous average reads an order of the
// shaft whose pulses are sharp, at that many samples per revolution. A pulse's
// time is then off by an even ±½ sample, of variance 1/12, the angle between two
// pulses by a mean of the two, of variance 1/18 on average over the angle: an
// amplitude of exp(−(2π·order/samples)²/36) remains.
func PulseLossDB(order int, samplesPerRev float64) float64 {
	phi := 2 * math.Pi * float64(order) / samplesPerRev
	return 20 / math.Ln10 * phi * phi / 36
}

// CheckPulses returns a flag where the intervals of pulses one revolution apart are
// uneven by more than half their median: pulses were missed or doubled.
func CheckPulses(times []float64, pulsesPerRev int) []Flag {
	rev := make([]float64, 0, len(times))
	for i := pulsesPerRev; i < len(times); i++ {
		rev = append(rev, times[i]-times[i-pulsesPerRev])
	}
	if len(rev) == 0 {
		return nil
	}
	sorted := slices.Clone(rev)
	slices.Sort(sorted)
	med := sorted[len(sorted)/2]
	n := 0
	for _, r := range rev {
		if math.Abs(r-med) > 0.5*med/float64(pulsesPerRev) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []Flag{{
		Code: "tacho-pulses", Channel: -1, Statistic: float64(n),
		Text: fmt.Sprintf("%d of %d revolutions on the tachometer differ from their median by more than half a pulse: pulses were missed or doubled", n, len(rev)),
	}}
}

// ShaftSpeed is the mean speed in rev/s over the whole revolutions that lie
// between from and to (samples), 0 where there is none.
func ShaftSpeed(times []float64, pulsesPerRev int, rateHz, from, to float64) float64 {
	lo, hi := revolutions(times, pulsesPerRev, from, to)
	if hi <= lo {
		return 0
	}
	return float64((hi-lo)/pulsesPerRev) * rateHz / (times[hi] - times[lo])
}

// revolutions finds the first and last pulse of the whole revolutions in an
// interval.
func revolutions(times []float64, pulsesPerRev int, from, to float64) (lo, hi int) {
	lo, _ = slices.BinarySearch(times, from)
	hi, _ = slices.BinarySearch(times, to)
	hi--
	if hi < lo {
		return 0, 0
	}
	return lo, lo + (hi-lo)/pulsesPerRev*pulsesPerRev
}

// Synchronous returns the mean squares of shaft orders in a channel by the
// time-synchronous average (METHOD §1) over the whole revolutions between
// samples from and to (relative to start): the Fourier coefficients, over the
// shaft's angle, of what repeats with every revolution. The angle runs evenly
// from pulse to pulse. A line's power is |A_k|²/2 with
// A_k = (1/πR)·Σ p(t_n) e^(−ikθ_n) Δθ_n over R revolutions, so that nothing is
// interpolated but the angle. revs is R. Samples are multiplied with scale.
func Synchronous(ctx context.Context, src Source, start int64, channel int, scale float64, times []float64, pulsesPerRev int, from, to float64, orders []int) (power []float64, revs int, err error) {
	lo, hi := revolutions(times, pulsesPerRev, from, to)
	if hi <= lo {
		return nil, 0, &Error{Place: "tachometer", Want: "a whole revolution", Found: "none in the half"}
	}
	times = times[lo : hi+1]
	revs = (hi - lo) / pulsesPerRev
	sum := make([]complex128, len(orders))
	first := int64(math.Ceil(times[0]))
	last := int64(math.Floor(times[len(times)-1]))
	step := 2 * math.Pi / float64(pulsesPerRev)
	k := 0
	angle := func(t float64) float64 {
		for k+2 < len(times) && t >= times[k+1] {
			k++
		}
		return step * (float64(k) + (t-times[k])/(times[k+1]-times[k]))
	}
	total := step * float64(len(times)-1)
	buf := [][]float64{make([]float64, tachoBlock)}
	prev := 0.0 // angle halfway to the sample before
	for at := first; at <= last; {
		if err := ctx.Err(); err != nil {
			return nil, 0, fmt.Errorf("average synchronously: %w", err)
		}
		buf[0] = buf[0][:min(tachoBlock, last-at+1)]
		n, err := src.Read([]int{channel}, start+at, buf)
		if n < len(buf[0]) {
			if err == nil || errors.Is(err, io.EOF) {
				return nil, 0, &Error{Place: fmt.Sprintf("sample %d", start+at+int64(n)), Want: "a sample", Found: "the end of the data"}
			}
			return nil, 0, fmt.Errorf("read samples: %w", err)
		}
		for i, p := range buf[0] {
			t := float64(at + int64(i))
			theta := angle(t)
			next := total // the last sample stands for the rest
			if at+int64(i) < last {
				keep := k
				next = angle(t + 0.5)
				k = keep
			}
			d := next - prev
			prev = next
			for j, o := range orders {
				sin, cos := math.Sincos(float64(o) * theta)
				sum[j] += complex(p*d*cos, -p*d*sin)
			}
		}
		at += int64(n)
	}
	for _, s := range sum {
		a := scale / (math.Pi * float64(revs))
		re, im := real(s)*a, imag(s)*a
		power = append(power, (re*re+im*im)/2)
	}
	return power, revs, nil
}
