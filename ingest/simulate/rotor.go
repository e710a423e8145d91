package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
)

// Encodings of rotor recordings.
const (
	EncodingPCM16   = "pcm16"   // 16-bit integer PCM, 32768 counts at full scale
	EncodingFloat32 = "float32" // IEEE float, 1.0 at full scale
)

// Rotor is a campaign of small rotors, recorded by far-field microphones on an
// arc. It has one WAV file for each number of blades and shaft speed, with one channel
// per polar angle. Start from DefaultRotor.
//
// A sample is the pressure over FullScaleV/SensitivityVPerPa, a part of full scale.
// The rms of broadband noise over the recorder's whole band is given, as in the Python
// reference. So its density falls as RateHz rises. Shaft orders at or above 0.495·RateHz
// are left out, as by a recorder's anti-aliasing filter.
type Rotor struct {
	Seed      uint64    `json:"seed" key:"seed"`
	RateHz    float64   `json:"rate_hz" key:"rate_hz"` // whole number
	DurationS float64   `json:"duration_s" key:"duration_s"`
	Encoding  string    `json:"encoding" key:"encoding"` // EncodingPCM16 or EncodingFloat32
	Blades    []int     `json:"blades" key:"blades"`
	RPM       []float64 `json:"rpm" key:"rpm"`
	ThetaDeg  []float64 `json:"theta_deg" key:"theta_deg"` // polar angle from the rotor plane, one channel each

	// Draws has a name for the random numbers of each speed; nil: the speeds themselves. Two campaigns with
	// the same Draws at different speeds have the same random numbers.
	Draws []string `json:"draws,omitempty"`

	// FullScaleV is the peak voltage of full scale. The default, 0.05 V, is the
	// voltage of 1 Pa. Nothing clips then: the loudest run of the default
	// campaign stays below 0.65 Pa even if all tones and 6.5 standard
	// deviations of noise coincide. Validate checks the same for other
	// campaigns. One 16-bit step is then 31 µPa, and its quantisation noise
	// 8.8 µPa rms: 13 dB below the microphone's own noise of 40 µPa, and much
	// further below the rotor's broadband noise.
	FullScaleV        float64 `json:"full_scale_v"`
	SensitivityVPerPa float64 `json:"sensitivity_v_per_pa"`

	// The next fields say how unsteady a run is. SpeedError is the standard deviation over runs of the relative set-point
	// error.
	SpeedError float64 `json:"speed_error"`
	// standard deviation over runs of the relative linear drift during a run
	SpeedDrift float64 `json:"speed_drift"`
	// rms relative speed fluctuation within a run, correlation time 1.5 s
	SpeedJitter float64 `json:"speed_jitter"`
	// rms relative amplitude fluctuation of each blade tone, correlation time 0.5 s
	ToneModulation float64 `json:"tone_modulation"`
}

// Correlation times of a run's unsteadiness.
const (
	jitterTauS     = 1.5
	modulationTauS = 0.5
)

var _ Campaign = Rotor{}

// DefaultRotor returns the campaign of a configuration without settings.
func DefaultRotor() Rotor {
	return Rotor{
		RateHz: 10240, DurationS: 8, Encoding: EncodingPCM16, Blades: []int{2, 3, 4, 5}, RPM: steps(2000, 9000, 500),
		ThetaDeg: steps(-60, 60, 10), FullScaleV: 0.05, SensitivityVPerPa: 0.05,
		SpeedError: 5e-4, SpeedDrift: 2e-4, SpeedJitter: 3e-4, ToneModulation: 0.08,
	}
}

// Kind returns "rotor".
func (r Rotor) Kind() string { return "rotor" }

// Validate implements Campaign.
func (r Rotor) Validate() error {
	if err := r.validateFields(); err != nil {
		return err
	}

	if r.Encoding != EncodingPCM16 {
		return nil
	}

	// The loudest run must not clip.
	loudest := 0.0
	name := ""
	for _, blades := range r.Blades {
		for _, rpm := range r.RPM {
			if peak := r.peakPa(blades, rpm); peak > loudest {
				loudest = peak
				name = rotorName(blades, rpm)
			}
		}
	}

	if full := r.fullScalePa(); loudest > full {
		return &FieldError{Kind: "rotor", Field: "FullScaleV", Text: fmt.Sprintf(
			"expected at least %s V, so that %s (up to %s Pa at %g V/Pa) does not clip, found %g V",
			fault.Digits(loudest*r.SensitivityVPerPa, 3), name, fault.Digits(loudest, 3), r.SensitivityVPerPa, r.FullScaleV)}
	}

	return nil
}

// validateFields returns the joined errors of all fields outside their limits. Validate also checks that nothing
// clips.
func (r Rotor) validateFields() error {
	f := faults{kind: "rotor"}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	inRange := r.RateHz >= 1000 && r.RateHz <= 1e6
	f.need(inRange && r.RateHz == math.Trunc(r.RateHz), "RateHz",
		"a whole number from 1000 to 1000000", r.RateHz)
	f.need(len(r.Draws) == 0 || len(r.Draws) == len(r.RPM), "Draws", "none, or one for each speed", len(r.Draws))
	f.need(positive(r.DurationS), "DurationS", "more than 0 s", r.DurationS)
	f.need(r.Encoding == EncodingPCM16 || r.Encoding == EncodingFloat32, "Encoding",
		EncodingPCM16+" or "+EncodingFloat32, strconv.Quote(r.Encoding))
	checkList(&f, "Blades", r.Blades, "number", fmt.Sprintf("1 to %d", maxOrder),
		func(n int) bool { return n >= 1 && n <= maxOrder })
	checkList(&f, "RPM", r.RPM, "speed", "more than 0, at most 30000",
		func(rpm float64) bool { return rpm > 0 && rpm <= 30000 }) // tip Mach number 0.8
	checkList(&f, "ThetaDeg", r.ThetaDeg, "angle", "−180 to 180",
		func(deg float64) bool { return deg >= -180 && deg <= 180 })
	f.need(len(r.ThetaDeg) <= 1000, "ThetaDeg", "at most 1000 channels", len(r.ThetaDeg))
	f.need(positive(r.FullScaleV), "FullScaleV", "more than 0 V", r.FullScaleV)
	f.need(positive(r.SensitivityVPerPa), "SensitivityVPerPa", "more than 0 V/Pa", r.SensitivityVPerPa)

	for _, u := range []struct {
		field string
		value float64
	}{
		{"SpeedError", r.SpeedError},
		{"SpeedDrift", r.SpeedDrift},
		{"SpeedJitter", r.SpeedJitter},
		{"ToneModulation", r.ToneModulation},
	} {
		f.need(u.value >= 0 && u.value <= 0.5, u.field, "0 to 0.5", u.value)
	}

	if len(f.list) == 0 {
		samples := math.Round(r.RateHz * r.DurationS)
		f.need(samples >= 2, "DurationS", "at least 2 samples", r.DurationS)

		const mostBytes = math.MaxUint32 - 65536 // of the samples in a WAV file
		frame := float64(len(r.ThetaDeg) * r.sampleBytes())
		longest := math.Floor(mostBytes / frame / r.RateHz)
		f.need(samples*frame <= mostBytes, "DurationS",
			fmt.Sprintf("at most %g s, because a WAV file has less than 4 GiB", longest), r.DurationS)
	}

	return errors.Join(f.list...)
}

// fullScalePa returns the peak pressure of full scale in Pa.
func (r Rotor) fullScalePa() float64 { return r.FullScaleV / r.SensitivityVPerPa }

// samples returns the number of samples per channel.
func (r Rotor) samples() int64 { return int64(math.Round(r.RateHz * r.DurationS)) }

// sampleBytes returns the size of an encoded sample.
func (r Rotor) sampleBytes() int {
	if r.Encoding == EncodingFloat32 {
		return 4
	}
	return 2
}

// rotorName returns the name of the file for a condition.
func rotorName(blades int, rpm float64) string {
	return fmt.Sprintf("simulated_rotor_n%d_rpm%s.wav", blades, plain(rpm))
}

// condition returns the condition of file i. Speeds vary fastest.
func (r Rotor) condition(i int) (blades int, rpm float64) {
	return r.Blades[i/len(r.RPM)], r.RPM[i%len(r.RPM)]
}

// Files lists one file per blade number and speed, speeds varying fastest.
func (r Rotor) Files() []File {
	files := make([]File, len(r.Blades)*len(r.RPM))
	for i := range files {
		blades, rpm := r.condition(i)
		files[i] = File{
			Name:       rotorName(blades, rpm),
			Conditions: map[string]float64{"blades": float64(blades), "rpm": rpm},
			ThetaDeg:   slices.Clone(r.ThetaDeg),
		}
	}

	return files
}

// Conditions returns a table with the columns file, channel (from 1), blades, rpm and theta_deg.
func (r Rotor) Conditions() string {
	b := []byte("file,channel,blades,rpm,theta_deg\n")

	for _, f := range r.Files() {
		blades := plain(f.Conditions["blades"])
		rpm := plain(f.Conditions["rpm"])
		for c, theta := range f.ThetaDeg {
			b = fmt.Appendf(b, "%s,%d,%s,%s,%s\n", f.Name, c+1, blades, rpm, plain(theta))
		}
	}

	return string(b)
}

// Readme describes the campaign.
func (r Rotor) Readme() string {
	var b strings.Builder
	fmt.Fprintf(&b, "simulated rotor campaign: no measurement\n\n")
	fmt.Fprintf(&b, "generator version  %s\n", Version)
	fmt.Fprintf(&b, "seed               %d\n", r.Seed)
	fmt.Fprintf(&b, "files              %d WAV files, one per blade number and shaft speed; %d channels, one per polar "+
		"angle\n", len(r.Blades)*len(r.RPM), len(r.ThetaDeg))
	fmt.Fprintf(&b, "conditions         conditions.csv: file, channel (from 1), blades, rpm, theta_deg (polar angle "+
		"from the rotor plane)\n")
	fmt.Fprintf(&b, "rate               %s Hz\n", plain(r.RateHz))
	fmt.Fprintf(&b, "duration           %s s\n", plain(r.DurationS))
	fmt.Fprintf(&b, "encoding           %s\n", r.Encoding)
	fmt.Fprintf(&b, "full scale         %s V peak\n", plain(r.FullScaleV))
	fmt.Fprintf(&b, "sensitivity        %s V/Pa, so full scale is %s Pa peak\n", plain(r.SensitivityVPerPa),
		plain(r.fullScalePa()))
	fmt.Fprintf(&b, "unsteadiness       speed error %g, drift %g, jitter %g (relative, rms); tone modulation %g\n",
		r.SpeedError, r.SpeedDrift, r.SpeedJitter, r.ToneModulation)

	return b.String()
}

// Write writes the recording of file i. If an integer sample would be beyond full scale, Write returns an
// error. That cannot happen if Validate returns nil.
func (r Rotor) Write(ctx context.Context, w io.Writer, i int) error {
	if err := r.validateFields(); err != nil {
		return err
	}

	if err := checkFile(r.Kind(), i, len(r.Blades)*len(r.RPM)); err != nil {
		return err
	}

	blades, rpm := r.condition(i)

	return r.write(ctx, w, newRig(r.Seed, blades), blades, rpm)
}

// write writes the recording of a rotor at a nominal speed on rig g.
func (r Rotor) write(ctx context.Context, w io.Writer, g rig, blades int, rpm float64) error {
	if _, err := w.Write(r.header(blades, rpm)); err != nil {
		return err
	}

	run := newRun(r, g, blades, rpm)
	frame := len(r.ThetaDeg) * r.sampleBytes()
	pressures := make([]float32, blockLen)
	bytes := make([]byte, blockLen*frame)
	total := r.samples()
	for start := int64(0); start < total; start += blockLen {
		if err := ctx.Err(); err != nil {
			return err
		}

		block := pressures[:min(blockLen, total-start)]
		run.tones(start, len(block))

		for c := range r.ThetaDeg {
			run.channel(block, c)

			if err := r.put(bytes, block, c, start); err != nil {
				return err
			}
		}

		if _, err := w.Write(bytes[:len(block)*frame]); err != nil {
			return err
		}
	}

	return nil
}

// AmplitudesPa returns the peak amplitude in Pa of each shaft order at a polar angle, from order 0 on.
func (r Rotor) AmplitudesPa(blades int, rpm, thetaDeg float64) []float64 {
	orders := newRig(r.Seed, blades).orders(blades, rpm, thetaDeg)
	amplitudes := make([]float64, len(orders))
	for k, pa := range orders {
		amplitudes[k] = cmplx.Abs(pa)
	}

	return amplitudes
}

// peakPa returns a pressure in Pa that no sample of a run exceeds in practice: all tones in phase, the blade tones
// raised by 5 standard deviations of their modulation, and 6.5 standard deviations of noise.
func (r Rotor) peakPa(blades int, rpm float64) float64 {
	const noiseSDs, modulationSDs = 6.5, 5
	peak := 0.0

	top := topOrder(rpm, r.RateHz)
	for _, theta := range r.ThetaDeg {
		sum := noiseSDs * math.Sqrt(r.noisePower(blades, rpm, theta))

		for k, amp := range r.AmplitudesPa(blades, rpm, theta)[:top+1] {
			if k%blades == 0 {
				amp *= 1 + modulationSDs*r.ToneModulation
			}

			sum += amp
		}

		peak = max(peak, sum)
	}

	return peak
}

// noisePower returns the variance of the broadband noise at a polar angle in Pa².
func (r Rotor) noisePower(blades int, rpm, thetaDeg float64) float64 {
	hump := newHump(blades, rpm, r.RateHz)
	humpPa := hump.rmsPa * directivity(thetaDeg)

	return humpPa*humpPa*newBandPass(hump.lowHz, hump.highHz, r.RateHz).variance() +
		rumblePa*rumblePa*newLowPass(rumbleHz, r.RateHz).variance() +
		microphonePa*microphonePa
}
