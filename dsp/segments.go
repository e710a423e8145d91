package dsp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
)

// Segments describes how a run is cut into segments for its spectra
// (docs/method.md#split-half-spectra). Each half of the samples is cut by itself; samples left at
// its end are not used. Segments of one half may overlap. The two halves have no sample in common,
// so that they stay independent.
type Segments struct {
	run     *Run
	perHalf int // number of segments in each half
	samples int // samples in each segment
	hop     int // samples from the start of one segment to the start of the next
	keep    int // bins of each segment's own spectrum that the Analyser keeps, from 0 Hz on
}

// segments cuts the halves of the run. It returns a *fault.Error if the segments would have fewer than
// least samples. because gives the reason for least, for the message; it may be empty.
func (r *Run) segments(least int, because string) (*Segments, error) {
	if len(r.Microphones) == 0 {
		return nil, errors.New("cut segments: expected at least one microphone, found none")
	}

	rate, err := r.rate()
	if err != nil {
		return nil, err
	}

	if n := r.Settings.segLen(rate); n > 0 {
		return r.segmentsOfLength(n, least, because)
	}

	return r.segmentsByNumber(least, because)
}

// segmentsOfLength cuts each half into as many segments of n samples as fit. segments explains least
// and because.
func (r *Run) segmentsOfLength(n, least int, because string) (*Segments, error) {
	if because != "" {
		because = ", " + because
	}

	if n < least {
		return nil, wrong("", fmt.Sprintf("segments of at least %d samples%s", least, because), strconv.Itoa(n),
			"ask for longer segments")
	}

	if int64(n) > r.Samples/4 { // each half needs two segments
		return nil, wrong("", fmt.Sprintf("at least %d samples (2 halves of 2 segments of %d)", 4*int64(n), n),
			strconv.FormatInt(r.Samples, 10), "record longer or ask for shorter segments")
	}

	half := r.Samples / 2
	hop := n - r.Settings.shared(n)

	return &Segments{run: r, perHalf: 1 + int((half-int64(n))/int64(hop)), samples: n, hop: hop, keep: 1}, nil
}

// segmentsByNumber cuts each half into Settings.Segments segments of the greatest length that fits.
// segments explains least and because.
func (r *Run) segmentsByNumber(least int, because string) (*Segments, error) {
	set := r.Settings
	count := set.Segments
	half := r.Samples / 2

	n := int(float64(half) / (1 + float64(count-1)*(1-set.Overlap)))
	for n > 0 && int64(n)+int64(count-1)*int64(n-set.shared(n)) > half {
		n-- // shared rounds down, so that the first n may be too long
	}

	if n < least {
		if because != "" {
			because = ", each " + because
		}

		return nil, &fault.Error{
			Want: fmt.Sprintf("at least %d samples (2 halves of %d segments%s)",
				2*(least+(count-1)*(least-set.shared(least))), count, because),
			Found: strconv.FormatInt(r.Samples, 10), Hint: "record longer or ask for fewer segments",
		}
	}

	return &Segments{run: r, perHalf: count, samples: n, hop: n - set.shared(n), keep: 1}, nil
}

// shared returns how many samples two neighbouring segments of n samples have in common.
func (s *Settings) shared(n int) int { return int(s.Overlap * float64(n)) }

// binHz returns the distance of two bins of the spectra.
func (s *Segments) binHz() float64 { return s.run.RateHz / float64(s.samples) }

// bins returns the number of bins of the spectra.
func (s *Segments) bins() int { return s.samples/2 + 1 }

// disjoint returns the smallest d for which segments g and g+d do not overlap.
func (s *Segments) disjoint() int { return (s.samples + s.hop - 1) / s.hop }

// power returns the factor from the power spectrum of one segment of microphone c to its part of the
// mean over the half, in the physical unit squared. The kept spectra of single segments have the same
// factor: only their ratios matter.
func (s *Segments) power(c int) float64 {
	scale := s.run.Microphones[c].Scale
	return 1 / float64(s.perHalf) * (scale * scale)
}

// equal reports whether s and o have the same spectra.
func (s *Segments) equal(o *Segments) bool {
	sameCuts := s.perHalf == o.perHalf && s.samples == o.samples && s.hop == o.hop && s.keep == o.keep
	sameSamples := s.run.RateHz == o.run.RateHz && s.run.Start == o.run.Start && s.run.Samples == o.run.Samples
	sameWindow := s.run.Settings.Window == o.run.Settings.Window

	return sameCuts && sameSamples && sameWindow && slices.EqualFunc(s.run.Microphones, o.run.Microphones, sameSignal)
}

// sameSignal reports whether two microphones deliver the same signal.
func sameSignal(a, b Microphone) bool { return a.Channel == b.Channel && a.Scale == b.Scale }
