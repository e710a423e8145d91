package stats

import (
	"math"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// An amplifier that is overdriven in front of the converter cuts off the tops of the signal, and adds its own noise to
// them: the tops are flat, but no two samples are equal. This file finds such tops.
//
// The top band is the upper half percent of the range between the extremes. The tops of a smooth signal are round:
// its samples in the band are 1/(√2 − 1) = 2.4 times as many as those in the next half percent below. Flat tops have
// fewer samples there. If tops have few samples, this ratio depends on where the samples lie in a period. Then the
// shape decides too: from its edges to its middle a round top rises by at least a third of its flanks, and a flat top
// does not rise. Tops of one or two samples have no shape, so that white noise is not judged.
const (
	flatBand     = 0.005   // width of the band, relative to the range
	flatSamples  = 1000    // fewest samples of a channel whose tops are looked at
	flatFirst    = 1 << 15 // number of samples at the beginning of a channel that are looked at
	flatHeld     = 1 << 21 // most samples of all channels together that are held for this
	flatCrest    = 3.2     // tops are looked at if an extreme is nearer to the mean, in standard deviations
	flatTops     = 10      // fewest flat tops of a clipped channel
	flatRatio    = 3       // least ratio of samples in the band to samples in the next half percent; round tops: 2.4
	flatRise     = 0.1     // greatest rise from the edges of a flat top to its middle, relative to its flanks
	flatFlank    = 0.5     // least flank of a flat top, in widths of the band
	flatLong     = 20      // mean number of samples of a top from which flatRatio decides alone
	flatDistinct = 3       // fewest different samples in the band; channels of coarse steps have one
	flatMostIn   = 0.8     // greatest share of samples in both bands: a switch has two levels, and is not clipped
)

// mayHaveFlatTops reports whether a channel may be clipped with flat tops, by the statistics of all its samples.
func mayHaveFlatTops(s Summary) bool {
	if s.Samples < flatSamples || s.Min == s.Max || s.NaN > 0 {
		return false
	}

	return min(s.Max-s.Mean, s.Mean-s.Min) < flatCrest*s.Std
}

// flatTop follows the samples of a channel near one of its extremes. For the minimum it is given the negated samples.
type flatTop struct {
	extreme float64 // the greatest sample
	band    float64 // width of the band below it

	inBand    int64            // samples in the band
	belowBand int64            // samples in the next band
	distinct  map[float64]bool // different samples in the band, at most flatDistinct

	before      float64 // the sample before the latest one
	top         []float64
	beforeTop   float64 // the sample before the top that goes on
	tops        int64   // complete tops of minPlateau samples or more
	topSamples  int64   // their samples
	rises       float64 // sum of the rises from the edges of a top to its middle
	flanks      float64 // sum of the mean flanks of a top
	hasPrevious bool    // before is known
}

// newFlatTop returns a flatTop for samples of a range, whose greatest sample is extreme.
func newFlatTop(extreme, width float64) *flatTop {
	return &flatTop{extreme: extreme, band: flatBand * width, distinct: map[float64]bool{}}
}

// add adds the next sample.
func (f *flatTop) add(v float64) {
	depth := f.extreme - v
	switch {
	case depth <= f.band:
		f.inBand++
		if len(f.distinct) < flatDistinct {
			f.distinct[v] = true
		}

		if len(f.top) == 0 {
			f.beforeTop = math.NaN()
			if f.hasPrevious {
				f.beforeTop = f.before
			}
		}

		f.top = append(f.top, v)
	case depth <= 2*f.band:
		f.belowBand++
		f.endTop(v)
	default:
		f.endTop(v)
	}

	f.before = v
	f.hasPrevious = true
}

// endTop counts the top that ends before the sample next. It drops short tops, and a top at the very beginning, whose
// first flank is not known.
func (f *flatTop) endTop(next float64) {
	n := len(f.top)
	if n >= minPlateau && !math.IsNaN(f.beforeTop) {
		first := f.top[0]
		last := f.top[n-1]
		middle := 0.0
		for _, v := range f.top[1 : n-1] {
			middle += v / float64(n-2)
		}

		f.tops++
		f.topSamples += int64(n)
		f.rises += middle - (first+last)/2
		f.flanks += (first - f.beforeTop + last - next) / 2
	}

	f.top = f.top[:0]
}

// isClipped reports whether the tops are flat.
func (f *flatTop) isClipped() bool {
	if f.tops < flatTops || len(f.distinct) < flatDistinct {
		return false
	}

	if f.inBand < flatRatio*f.belowBand {
		return false
	}

	areLong := f.topSamples >= flatLong*f.tops
	areSteep := f.flanks >= flatFlank*f.band*float64(f.tops)
	areLevel := f.rises < flatRise*f.flanks

	return areLong || areSteep && areLevel
}

// keepFirst appends samples of a channel to its first samples, which flatTops looks at.
func keepFirst[T floats](s *scan, channel int, block []T) {
	if !s.used[channel] {
		return
	}

	for _, v := range block[:min(len(block), s.keep-len(s.first[channel]))] {
		s.first[channel] = append(s.first[channel], float64(v))
	}
}

// flatTops returns a warning and true if the first samples of a channel are clipped although the greatest of them
// differ.
func (s *scan) flatTops(channel int) (ingest.Warning, bool) {
	samples := s.first[channel]
	if len(samples) == 0 {
		return ingest.Warning{}, false
	}

	low := slices.Min(samples)
	high := slices.Max(samples)
	upper := newFlatTop(high, high-low)
	lower := newFlatTop(-low, high-low)
	for _, v := range samples {
		upper.add(v)
		lower.add(-v)
	}

	inBands := upper.inBand + lower.inBand
	isSwitch := float64(inBands) > flatMostIn*float64(len(samples))
	isClipped := upper.isClipped() || lower.isClipped()
	if isSwitch || !isClipped {
		return ingest.Warning{}, false
	}

	clipped := upper
	side := "maximum"
	extreme := high
	if !upper.isClipped() {
		clipped = lower
		side = "minimum"
		extreme = low
	}

	return s.warn("clipping", "%s %s is clipped before it was recorded: its tops are flat, %d of the first %s lie within "+
		"%s of the %s %s, in %d tops: %s", s.noun(), s.info.Channels[channel].Name, clipped.inBand,
		fault.Plural(int64(len(samples)), s.rowNoun()), fault.Digits(clipped.band, 3), side,
		fault.Digits(extreme, 6), clipped.tops,
		s.clippingRemedy(channel)), true
}
