package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
)

// A recording is cut short if it has less than shortShare of the usual length. A campaign has a usual length if
// usualShare of its recordings, and at least fewestUsual, have it within usualTolerance.
const (
	shortShare     = 0.9
	usualShare     = 0.75
	fewestUsual    = 4
	usualTolerance = 0.01
)

// Length is the length of a recording.
type Length struct {
	File    string
	Samples int64
	RateHz  float64 // 0: not known
}

// amount returns the length as a number with its unit: seconds, or samples if the rate is not known.
func (l Length) amount() string {
	if l.RateHz > 0 {
		return fault.Digits(l.inUnit(), 4) + " s"
	}

	return fmt.Sprintf("%d samples", l.Samples)
}

// inUnit returns the length in seconds, or in samples if the rate is not known.
func (l Length) inUnit() float64 {
	if l.RateHz > 0 {
		return float64(l.Samples) / l.RateHz
	}

	return float64(l.Samples)
}

// WarnCutShort returns a warning that names the recordings that are shorter than the others, which have one length. It
// returns nil if the recordings have no usual length, or if only some rates are known, because seconds and samples
// cannot be compared.
func WarnCutShort(lengths []Length) []ingest.Warning {
	if len(lengths) == 0 {
		return nil
	}

	isInSeconds := lengths[0].RateHz > 0
	hasOtherUnit := slices.ContainsFunc(lengths, func(l Length) bool { return (l.RateHz > 0) != isInSeconds })
	if hasOtherUnit {
		return nil
	}

	sorted := slices.Clone(lengths)
	slices.SortStableFunc(sorted, func(a, b Length) int { return cmp.Compare(a.inUnit(), b.inUnit()) })
	usual := sorted[len(sorted)/2]
	alike := 0
	var short []Length
	for _, length := range lengths {
		ratio := length.inUnit() / usual.inUnit()
		if ratio >= 1-usualTolerance && ratio <= 1+usualTolerance {
			alike++
		}

		if ratio < shortShare {
			short = append(short, length)
		}
	}

	isUsual := alike >= fewestUsual && float64(alike) >= usualShare*float64(len(lengths))
	if !isUsual || len(short) == 0 {
		return nil
	}

	text := fmt.Sprintf("it has %s, and %d of %d recordings have %s: was it cut short?", short[0].amount(), alike,
		len(lengths), usual.amount())
	if len(short) > 1 {
		var others []string
		for _, length := range short[1:] {
			others = append(others, length.File+" ("+length.amount()+")")
		}

		text += " Also " + fault.Some(others)
	}

	return []ingest.Warning{ingest.Warn(short[0].File, "cut-short", "%s", text)}
}

// WarnShortFiles returns a warning about files that are shorter than their siblings. If a recording is a part of a
// file, lengths say nothing, and it returns nil.
func WarnShortFiles(files []*recording.File) []ingest.Warning {
	var lengths []Length
	for _, file := range files {
		run := file.Runs[0].Run
		isPart := run.ID != run.Path
		if isPart {
			return nil
		}

		channel := file.Info.Channels[run.Recordings[0].Channels[0]]
		lengths = append(lengths, Length{File: file.Path, Samples: channel.Samples, RateHz: channel.RateHz})
	}

	return WarnCutShort(lengths)
}
