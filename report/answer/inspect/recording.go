package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/recording"
	"doubletake/ingest/stats"
	"doubletake/ingest/units"
	"doubletake/train/numbers"
)

// Recording describes a raw file.
type Recording struct {
	Format     string             `json:"format"`
	Encoding   string             `json:"encoding"`
	Attributes []ingest.Attribute `json:"attributes,omitempty"`
	Channels   []Channel          `json:"channels"`
	Unread     []ingest.Unread    `json:"unread,omitempty"` // parts of the file that are not channels
}

// Channel is a channel with its statistics, in the file's own unit.
type Channel struct {
	Name       string             `json:"name"`
	Unit       string             `json:"unit"`
	Converted  string             `json:"unit_conversion,omitempty"` // to the usual unit: "to N: × 1000"; "" if none
	RateHz     float64            `json:"rate_hz"`                   // 0: the file does not state it
	Samples    int64              `json:"samples"`
	DurationS  float64            `json:"duration_s"`      // 0: not known
	Clock      bool               `json:"clock,omitempty"` // the samples are times
	Role       string             `json:"role,omitempty"`  // time, coordinate or setting; "" for a measured channel
	Attributes []ingest.Attribute `json:"attributes,omitempty"`
	Min        numbers.Float      `json:"min"`
	Max        numbers.Float      `json:"max"`
	DC         numbers.Float      `json:"mean"`
	RMS        numbers.Float      `json:"rms"`
	Std        numbers.Float      `json:"std"`
	Clipped    int64              `json:"clipped"`          // samples at the ends of the range
	Constant   int64              `json:"longest_constant"` // samples in the longest run of equal values
	NaN        int64              `json:"not_finite"`       // samples that are not finite
	FirstNaN   int64              `json:"first_not_finite"` // −1: none
	First      []numbers.Float    `json:"first"`            // the first samples
	Spectrum   *Spectrum          `json:"spectrum,omitempty"`
}

// Spectrum is the mean power spectrum of segments spread over a channel (Welch's method with a Hann window). Its scale
// is such that a sine in the centre of a bin has its mean square there.
type Spectrum struct {
	BinHz    float64         `json:"bin_hz"`
	Segments int             `json:"segments"`
	Power    []numbers.Float `json:"power"` // one value per bin from 0 Hz, in unit²
	Peaks    []Peak          `json:"peaks"` // the strongest local maxima, strongest first
}

// Peak is a line of a spectrum.
type Peak struct {
	Hz      float64 `json:"hz"`
	Power   float64 `json:"power"`          // of its strongest bin, in unit²
	AboveDB float64 `json:"above_floor_db"` // level above the median of the bins around it, in dB
}

// mostSpectra bounds the channels that get a spectrum: a file may have thousands.
const mostSpectra = 64

// inspectRecording describes the open recording, and returns the warnings of its reader and of its samples.
func inspectRecording(ctx context.Context, reader ingest.Reader) (*Recording, []ingest.Warning, error) {
	info := reader.Info()
	statistics, warnings, err := stats.Describe(ctx, reader)
	if err != nil {
		return nil, nil, err
	}

	described := &Recording{
		Format: info.Format, Encoding: info.Encoding, Attributes: info.Attributes,
		Unread: info.Unread, Channels: make([]Channel, 0, len(info.Channels)),
	}

	heads := readHeads(reader)
	for i, c := range info.Channels {
		s := statistics[i]
		channel := Channel{
			Name: c.Name, Unit: c.Unit, RateHz: c.RateHz, Samples: c.Samples, Clock: c.IsTime(), Role: c.Role(),
			Attributes: c.Attributes,
			Min:        numbers.Float(s.Min), Max: numbers.Float(s.Max), DC: numbers.Float(s.Mean), RMS: numbers.Float(s.RMS),
			Std:     numbers.Float(s.Std),
			Clipped: s.Clipped, Constant: s.Constant, NaN: s.NaN, FirstNaN: s.FirstNaN,
			First: floats(heads[i]),
		}

		if c.Unit == "full-scale" {
			warnings = append(warnings, recording.WarnFullScale(info, i, s)...)
		}

		if n, ok := units.Coherent(c.Unit); ok {
			channel.Converted = "to " + n.Unit + ": " + n.Formula()
		}

		if c.RateHz > 0 {
			channel.DurationS = float64(c.Samples) / c.RateHz
		}

		described.Channels = append(described.Channels, channel)
	}

	if err := addSpectra(ctx, reader, described.Channels); err != nil {
		return nil, nil, err
	}

	return described, slices.Concat(info.Warnings, warnings, warnSweep(reader)), nil
}

// warnSweep returns a warning if a setting takes several values in the file.
func warnSweep(reader ingest.Reader) []ingest.Warning {
	info := reader.Info()
	first := slices.IndexFunc(info.Channels, func(c ingest.Channel) bool { return c.Role() == "" && c.Samples > 1 })
	if first < 0 {
		return nil
	}

	whole := ingest.Run{ID: info.Path, Path: info.Path, Recordings: []ingest.Recording{{Channels: []int{first}}}}
	run := recording.Run{Run: whole}

	return run.WarnSweep(reader, false)
}

// addSpectra sets the spectra of the first channels that vary.
func addSpectra(ctx context.Context, reader ingest.Reader, channels []Channel) error {
	count := 0
	for i := range channels {
		c := &channels[i]
		steady := c.NaN > 0 || c.Min == c.Max
		if c.Clock || c.RateHz <= 0 || steady {
			continue
		}

		if err := ctx.Err(); err != nil {
			return err
		}

		s, err := spectrum(reader, i, c.Samples, c.RateHz)
		if err != nil {
			return err
		}

		c.Spectrum = s
		if count++; count == mostSpectra {
			break
		}
	}

	return nil
}

// floats returns numbers as they are written in JSON; nil if there are none.
func floats(v []float64) []numbers.Float {
	var list []numbers.Float
	for _, x := range v {
		list = append(list, numbers.Float(x))
	}

	return list
}

// readHeads reads the first previewRows samples of every channel, or all samples of a channel that has fewer. Channels
// of the same length are read together, because their samples may lie interleaved. A cell that is not a number is NaN;
// the head of a channel that cannot be read is nil.
func readHeads(reader ingest.Reader) [][]float64 {
	info := reader.Info()
	if t, ok := reader.(ingest.Tolerant); ok {
		t.Tolerate(slices.Repeat([]bool{true}, len(info.Channels)))
		defer t.Tolerate(nil)
	}

	heads := make([][]float64, len(info.Channels))
	groups := map[int64][]int{} // channels by the number of samples that are read
	var order []int64           // keys of groups, in the order of the first channel
	for i, channel := range info.Channels {
		n := min(channel.Samples, previewRows)
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

		_, err := reader.Read(channels, 0, dst)
		if err == nil || errors.Is(err, io.EOF) {
			continue
		}

		// One of them cannot be read: find out which, and read the others.
		for _, c := range channels {
			if _, err := reader.Read([]int{c}, 0, heads[c:c+1]); err != nil && !errors.Is(err, io.EOF) {
				heads[c] = nil
			}
		}
	}

	return heads
}

// Sizes of a spectrum. A segment has a power of 2 of samples, at most longSegment, and is halved down to shortSegment
// until sideBySide segments fit into the channel without overlap.
const (
	longSegment  = 4096
	shortSegment = 64
	sideBySide   = 16
	mostSegments = 64 // segments that are read, spread evenly over the channel
)

// spectrum returns the spectrum of a channel with the given number of samples and sampling rate in Hz. It returns nil
// and no error if the channel is shorter than a segment.
func spectrum(reader ingest.Reader, channel int, samples int64, rate float64) (*Spectrum, error) {
	length := longSegment
	for length > shortSegment && int64(sideBySide*length) > samples {
		length /= 2
	}

	segments := int(min(mostSegments, samples/int64(length)))
	if segments < 1 {
		return nil, nil
	}

	welch := dsp.NewWelch(length)
	mean := make([]float64, welch.Bins())
	one := make([]float64, welch.Bins()) // power of one segment
	x := make([]float64, length)
	for segment := range segments {
		start := int64(0)
		if segments > 1 {
			start = int64(segment) * (samples - int64(length)) / int64(segments-1)
		}

		if got, err := reader.Read([]int{channel}, start, [][]float64{x}); got < length {
			return nil, fmt.Errorf("read %s: %w", reader.Info().Path, cmp.Or(err, io.ErrUnexpectedEOF))
		}

		welch.SegmentPower(one, x)

		for k, power := range one {
			mean[k] += power / float64(segments)
		}
	}

	bin := rate / float64(length)
	return &Spectrum{BinHz: bin, Segments: segments, Power: floats(mean), Peaks: peaks(mean, bin)}, nil
}

// Limits of peaks.
const (
	mostPeaks     = 5
	peakWindow    = 24 // bins on each side of a peak whose median is the floor
	peakOverFloor = 10 // least ratio of a peak's power to the floor: 10 dB
)

// peaks lists the strongest local maxima of a spectrum that rise above the median of the bins around them. power has
// one value per bin of the given width in Hz. A peak is higher than the two bins on each side.
func peaks(power []float64, bin float64) []Peak {
	list := []Peak{}
	for k := 2; k+2 < len(power); k++ {
		p := power[k]
		isBelowNext := p < power[k-1] || p <= power[k+1] // of two equal bins the second is the peak
		isBelowSecond := p < power[k-2] || p < power[k+2]
		if isBelowNext || isBelowSecond || math.IsInf(p, 0) { // samples near the largest float64 have infinite powers
			continue
		}

		around := slices.Clone(power[max(1, k-peakWindow):min(len(power), k+peakWindow+1)])
		slices.Sort(around)

		if floor := around[len(around)/2]; p > peakOverFloor*floor && floor > 0 {
			list = append(list, Peak{Hz: float64(k) * bin, Power: p, AboveDB: 10 * math.Log10(p/floor)})
		}
	}

	slices.SortStableFunc(list, func(a, b Peak) int { return cmp.Compare(b.Power, a.Power) })

	return list[:min(mostPeaks, len(list))]
}
