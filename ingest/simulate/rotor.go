package simulate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// Encodings of rotor recordings.
const (
	EncodingPCM16   = "pcm16"   // 16-bit integer PCM, 32768 counts at full scale
	EncodingFloat32 = "float32" // IEEE float, 1.0 at full scale: the same calibration chain
)

// Rotor is a campaign of small rotors recorded by far-field microphones on an
// arc: one WAV file per (blade number, shaft speed), one channel per polar
// angle. Start from DefaultRotor.
//
// A sample is pressure/(FullScaleV/SensitivityVPerPa), in parts of full scale.
// Broadband noise is set by its rms over the recorder's whole band, as in the
// Python reference; its density therefore falls as RateHz rises.
// Shaft orders at or above 0.495·RateHz are left out, as a recorder's
// anti-aliasing filter would.
type Rotor struct {
	Seed      uint64    `json:"seed" key:"seed"`
	RateHz    float64   `json:"rate_hz" key:"rate_hz"` // whole number
	DurationS float64   `json:"duration_s" key:"duration_s"`
	Encoding  string    `json:"encoding" key:"encoding"` // EncodingPCM16 or EncodingFloat32
	Blades    []int     `json:"blades" key:"blades"`
	RPM       []float64 `json:"rpm" key:"rpm"`
	ThetaDeg  []float64 `json:"theta_deg" key:"theta_deg"` // polar angle from the rotor plane, one channel each

	// Draws name the random numbers of each speed's runs; nil: the speeds. Campaigns of equal
	// draws at other speeds differ by the speeds alone.
	Draws []string `json:"draws,omitempty"`

	// FullScaleV is the voltage of full scale, peak. By default it is what 1 Pa
	// gives, 1 Pa·SensitivityVPerPa (0.05 V). The loudest run of the default
	// campaign stays below 0.65 Pa even if all tones and 6.5 standard
	// deviations of noise meet, so nothing clips (Validate checks this for any
	// other campaign); and one 16-bit step is then 31 µPa, its quantisation
	// noise 8.8 µPa rms, 13 dB below the microphone's own floor of 40 µPa and
	// much further below the rotor's broadband noise.
	FullScaleV        float64 `json:"full_scale_v"`
	SensitivityVPerPa float64 `json:"sensitivity_v_per_pa"`

	// How unsteady a run is.
	// standard deviation over runs of the relative set-point error
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

// DefaultRotor is the campaign where nothing else is stated.
func DefaultRotor() Rotor {
	return Rotor{
		RateHz: 10240, DurationS: 8, Encoding: EncodingPCM16, Blades: []int{2, 3, 4, 5}, RPM: steps(2000, 9000, 500),
		ThetaDeg: steps(-60, 60, 10), FullScaleV: 0.05, SensitivityVPerPa: 0.05,
		SpeedError: 5e-4, SpeedDrift: 2e-4, SpeedJitter: 3e-4, ToneModulation: 0.08,
	}
}

// steps lists lo, lo+by, … hi.
func steps(lo, hi, by float64) []float64 {
	n := int(math.Round((hi-lo)/by)) + 1
	return lists.Make(n, func(i int) float64 { return lo + float64(i)*by })
}

// plain writes a number without exponent and without more digits than needed.
func plain(v float64) string { return strconv.FormatFloat(v+0, 'f', -1, 64) }

// Kind returns "rotor".
func (r Rotor) Kind() string { return "rotor" }

// Validate returns every unusable field with the expected range.
func (r Rotor) Validate() error {
	if err := r.validateFields(); err != nil {
		return err
	}

	if r.Encoding != EncodingPCM16 {
		return nil
	}

	// Nothing may clip: the most any run can reach against full scale.
	loudest, name := 0.0, ""
	for _, n := range r.Blades {
		for _, rpm := range r.RPM {
			if p := r.peakPa(n, rpm); p > loudest {
				loudest, name = p, rotorName(n, rpm)
			}
		}
	}

	if full := r.fullScalePa(); loudest > full {
		return &FieldError{Kind: "rotor", Field: "FullScaleV", Text: fmt.Sprintf(
			"expected at least %.3g V, so that %s (up to %.3g Pa at %g V/Pa) does not clip, found %g V",
			loudest*r.SensitivityVPerPa, name, loudest, r.SensitivityVPerPa, r.FullScaleV)}
	}

	return nil
}

// validateFields checks the fields one by one.
func (r Rotor) validateFields() error {
	f := faults{kind: "rotor"}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	f.need(r.RateHz >= 1000 && r.RateHz <= 1e6 && r.RateHz == math.Trunc(r.RateHz), "RateHz",
		"a whole number from 1000 to 1000000", r.RateHz)
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

	unsteady := func(field string, v float64) { f.need(v >= 0 && v <= 0.5, field, "0 to 0.5", v) }
	unsteady("SpeedError", r.SpeedError)
	unsteady("SpeedDrift", r.SpeedDrift)
	unsteady("SpeedJitter", r.SpeedJitter)
	unsteady("ToneModulation", r.ToneModulation)

	if len(f.list) == 0 {
		n := math.Round(r.RateHz * r.DurationS)
		f.need(n >= 2, "DurationS", "at least 2 samples", r.DurationS)
		f.need(n*float64(len(r.ThetaDeg)*r.sampleBytes()) <= math.MaxUint32-65536, "DurationS",
			"a recording below 4 GiB, the limit of a WAV file", r.DurationS)
	}

	return errors.Join(f.list...)
}

func (r Rotor) fullScalePa() float64 { return r.FullScaleV / r.SensitivityVPerPa }

func (r Rotor) samples() int64 { return int64(math.Round(r.RateHz * r.DurationS)) }

func (r Rotor) sampleBytes() int {
	if r.Encoding == EncodingFloat32 {
		return 4
	}
	return 2
}

func rotorName(blades int, rpm float64) string {
	return fmt.Sprintf("simulated_rotor_n%d_rpm%s.wav", blades, plain(rpm))
}

// condition of file i: speeds vary fastest.
func (r Rotor) condition(i int) (blades int, rpm float64) {
	return r.Blades[i/len(r.RPM)], r.RPM[i%len(r.RPM)]
}

// Files lists one file per blade number and speed, speeds varying fastest.
func (r Rotor) Files() []File {
	files := make([]File, len(r.Blades)*len(r.RPM))
	for i := range files {
		n, rpm := r.condition(i)
		files[i] = File{
			Name:       rotorName(n, rpm),
			Conditions: map[string]float64{"blades": float64(n), "rpm": rpm},
			ThetaDeg:   slices.Clone(r.ThetaDeg),
		}
	}

	return files
}

// Conditions writes "file,channel,blades,rpm,theta_deg", channels from 1.
func (r Rotor) Conditions() string {
	b := []byte("file,channel,blades,rpm,theta_deg\n")

	for _, f := range r.Files() {
		blades, rpm := plain(f.Conditions["blades"]), plain(f.Conditions["rpm"])
		for c, th := range f.ThetaDeg {
			b = fmt.Appendf(b, "%s,%d,%s,%s,%s\n", f.Name, c+1, blades, rpm, plain(th))
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

func (r Rotor) dataBytes() int64 {
	return r.samples() * int64(len(r.ThetaDeg)*r.sampleBytes())
}

// header is everything before the samples: RIFF with a WAVE_FORMAT_EXTENSIBLE
// fmt chunk (required above two channels), LIST/INFO, and for float data fact.
func (r Rotor) header(blades int, rpm float64) []byte {
	le := binary.LittleEndian
	chunk := func(b []byte, id string, body []byte) []byte {
		b = append(b, id...)
		b = le.AppendUint32(b, uint32(len(body)))
		b = append(b, body...)
		if len(body)%2 != 0 {
			b = append(b, 0)
		}

		return b
	}

	channels, size, tag := len(r.ThetaDeg), r.sampleBytes(), uint16(1)
	if r.Encoding == EncodingFloat32 {
		tag = 3
	}

	var f []byte
	f = le.AppendUint16(f, 0xFFFE)
	f = le.AppendUint16(f, uint16(channels))
	f = le.AppendUint32(f, uint32(r.RateHz))
	f = le.AppendUint32(f, uint32(r.RateHz)*uint32(channels*size))
	f = le.AppendUint16(f, uint16(channels*size))
	f = le.AppendUint16(f, uint16(8*size))
	f = le.AppendUint16(f, 22)
	f = le.AppendUint16(f, uint16(8*size))
	f = le.AppendUint32(f, 0) // no loudspeaker positions
	f = le.AppendUint16(f, tag)
	f = append(f, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"...)

	comment := fmt.Sprintf("simulated rotor recording, not measured: blades=%d rpm=%s; one channel per polar angle "+
		"theta_deg=%s; full scale %s V peak, sensitivity %s V/Pa; seed %d",
		blades, plain(rpm), joinPlain(r.ThetaDeg), plain(r.FullScaleV), plain(r.SensitivityVPerPa), r.Seed)
	info := []byte("INFO")
	info = chunk(info, "INAM", []byte("simulated rotor\x00"))
	info = chunk(info, "ISFT", []byte("doubletake simulate "+Version+"\x00"))
	info = chunk(info, "ICMT", []byte(comment+"\x00"))

	b := []byte("WAVE")
	b = chunk(b, "fmt ", f)
	b = chunk(b, "LIST", info)
	if tag == 3 {
		b = chunk(b, "fact", le.AppendUint32(nil, uint32(r.samples())))
	}

	// An odd data chunk cannot happen: samples have 2 or 4 bytes.
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(r.dataBytes()))
	head := append([]byte("RIFF"), le.AppendUint32(nil, uint32(int64(len(b))+r.dataBytes()))...)

	return append(head, b...)
}

func joinPlain(v []float64) string {
	return strings.Join(lists.Each(v, plain), ",")
}

// blockLen samples of all channels are made at a time. Even, because a noise
// stream goes on seamlessly only from even places.
const blockLen = 2048

// Write makes the recording of file i. Integer samples beyond full scale are
// an error, not a clipped file; Validate excludes them.
func (r Rotor) Write(ctx context.Context, w io.Writer, i int) error {
	if err := r.validateFields(); err != nil {
		return err
	}

	n, rpm := r.condition(i)

	return r.write(ctx, w, newRig(r.Seed), n, rpm)
}

// write streams one recording made on rig g.
func (r Rotor) write(ctx context.Context, w io.Writer, g rig, blades int, rpm float64) error {
	if _, err := w.Write(r.header(blades, rpm)); err != nil {
		return err
	}

	run := newRun(r, g, blades, rpm)
	channels, size := len(r.ThetaDeg), r.sampleBytes()
	pcm := r.Encoding != EncodingFloat32

	counts := float32(1 / r.fullScalePa())
	if pcm {
		counts = float32(32768 / r.fullScalePa())
	}

	p := make([]float32, blockLen)

	out := make([]byte, blockLen*channels*size)
	for start, total := int64(0), r.samples(); start < total; start += blockLen {
		if err := ctx.Err(); err != nil {
			return err
		}

		p := p[:min(blockLen, total-start)]
		run.tones(start, len(p))

		for c := range channels {
			run.channel(p, c)

			if pcm {
				if t := putPCM16(out[2*c:], 2*channels, p, counts); t >= 0 {
					return fmt.Errorf("channel %d, sample %d: %.3g Pa is beyond full scale, %.3g Pa: raise FullScaleV",
						c+1, start+int64(t), p[t], r.fullScalePa())
				}
			} else {
				putFloat32(out[4*c:], 4*channels, p, counts)
			}
		}

		if _, err := w.Write(out[:len(p)*channels*size]); err != nil {
			return err
		}
	}

	return nil
}

// putPCM16 rounds scale·p to the nearest integer, little-endian, one every
// stride bytes. It returns the index of the first value that does not fit, −1
// if all do.
func putPCM16(out []byte, stride int, p []float32, scale float32) int {
	at := 0
	for t, v := range p {
		v *= scale
		if !(v > -32768.5 && v < 32767.5) {
			return t
		}

		q := int32(float64(v)+32768.5) - 32768
		out[at] = byte(q)
		out[at+1] = byte(q >> 8)
		at += stride
	}

	return -1
}

func putFloat32(out []byte, stride int, p []float32, scale float32) {
	at := 0
	for _, v := range p {
		binary.LittleEndian.PutUint32(out[at:], math.Float32bits(v*scale))
		at += stride
	}
}

// run is the state of one recording in the making.
type run struct {
	rate, revs float64 // sampling rate; nominal revolutions per second

	// Shaft: phase in revolutions, relative speed = offset + drift·(i/(N−1) − ½) + jitter.
	phase, offset, drift float64
	jitter               float64
	samples              int64
	speed                *slow
	relative             []float64
	zr, zi, pr, pi       []float32 // exp(iφ) and its current power

	// Blade tones: real and imaginary parts of mod_m·exp(i·m·n·φ), and their
	// coefficients per channel; all other orders are one common wave, scaled
	// per channel.
	mods   []*slow
	am     float64
	mod    []float64
	bank   [][]float32
	coef   [][]float32
	common []float32
	scale  []float32
	blades int
	top    int // highest order made
	imb    [maxOrder + 1]complex128

	noise []noise
	white [3][]float32
}

// noise is one channel's broadband noise.
type noise struct {
	hump, rumble, floor    *stream
	humpPa                 float64
	band                   bandPass
	low                    lowPass
	x1, x2, y1, y2, rx, ry float64
}

func newRun(r Rotor, g rig, blades int, rpm float64) *run {
	draw := plain(rpm)
	if len(r.Draws) > 0 {
		draw = r.Draws[slices.Index(r.RPM, rpm)]
	}

	key := func(purpose string, more ...any) *stream {
		return newStream(r.Seed, append([]any{"rotor", "run", blades, draw, purpose}, more...)...)
	}
	s := key("shaft")
	q := &run{
		rate: r.RateHz, revs: rpm / 60, samples: r.samples(), blades: blades,
		offset: r.SpeedError * s.norm(),
		drift:  r.SpeedDrift * s.norm(),
		phase:  s.uniform(),
		jitter: r.SpeedJitter,
		am:     r.ToneModulation,
		speed:  newSlow(key("jitter"), jitterTauS, r.RateHz),
		top:    topOrder(rpm, r.RateHz),
		imb:    g.imbalance(blades),
	}

	block := func() []float32 { return make([]float32, blockLen) }
	q.relative, q.mod = make([]float64, blockLen), make([]float64, blockLen)
	q.zr, q.zi, q.pr, q.pi, q.common = block(), block(), block(), block(), block()
	for m := 1; m*blades <= q.top; m++ {
		q.mods = append(q.mods, newSlow(key("modulation", m), modulationTauS, r.RateHz))
		q.bank = append(q.bank, block(), block())
	}

	for i := range q.white {
		q.white[i] = block()
	}

	f1, f2, rms := hump(blades, rpm, r.RateHz)

	// The filters start with the memory of a past long against their slowest
	// response.
	warm := int(10/(2*math.Pi*min(f1, rumbleHz))*r.RateHz)&^1 + 2

	for _, th := range r.ThetaDeg {
		a := g.orders(blades, rpm, th)

		var coef []float32
		for mn := blades; mn <= q.top; mn += blades {
			coef = append(coef, float32(real(a[mn])), float32(-imag(a[mn])))
		}

		q.coef = append(q.coef, coef)
		q.scale = append(q.scale, float32(math.Cos(th*math.Pi/180)*(rpm/6000)*(rpm/6000)))
		n := noise{
			hump: key("hump", plain(th)), rumble: key("rumble", plain(th)), floor: key("floor", plain(th)),
			humpPa: rms * directivity(th), band: newBandPass(f1, f2, r.RateHz), low: newLowPass(rumbleHz, r.RateHz),
		}

		q.noise = append(q.noise, n)
	}

	scratch := block()
	for c := range q.noise {
		for left := warm; left > 0; left -= blockLen {
			b := scratch[:min(left, blockLen)]
			q.noise[c].add(b, &q.white)
		}
	}

	return q
}

// topOrder is the highest shaft order a recorder of that rate passes.
func topOrder(rpm, rateHz float64) int {
	k := math.Ceil(0.495*rateHz/(rpm/60)) - 1
	return int(min(max(k, 0), maxOrder))
}

// tones prepares what all channels share for n samples from sample start on.
func (q *run) tones(start int64, n int) {
	rel := q.relative[:n]
	q.speed.fill(rel, start, q.offset, q.jitter)
	zr, zi, pr, pi, common := q.zr[:n], q.zi[:n], q.pr[:n], q.pi[:n], q.common[:n]
	step := q.revs / q.rate

	drift := q.drift / float64(q.samples-1)
	for t := range rel {
		r := rel[t] + drift*float64(start+int64(t)) - 0.5*q.drift
		q.phase += step * (1 + r)
		if q.phase >= 1 {
			q.phase -= math.Floor(q.phase)
		}

		s, c := math.Sincos(2 * math.Pi * q.phase)
		zr[t], zi[t] = float32(c), float32(s)
		pr[t], pi[t] = float32(c), float32(s)
		common[t] = 0
	}

	for k := 1; k <= q.top; k++ {
		if k > 1 {
			for t, a := range pr {
				b, c, s := pi[t], zr[t], zi[t]
				pr[t], pi[t] = a*c-b*s, a*s+b*c
			}
		}

		if k%q.blades != 0 {
			re, im := float32(real(q.imb[k])), float32(imag(q.imb[k]))
			for t, a := range pr {
				common[t] += re*a - im*pi[t]
			}

			continue
		}

		m := k/q.blades - 1
		mod := q.mod[:n]
		q.mods[m].fill(mod, start, 1, q.am)

		br, bi := q.bank[2*m][:n], q.bank[2*m+1][:n]
		for t, a := range mod {
			f := float32(a)
			br[t], bi[t] = f*pr[t], f*pi[t]
		}
	}
}

// channel makes dst the pressure in Pa at channel c, for the samples tones has
// prepared.
func (q *run) channel(dst []float32, c int) {
	n := len(dst)
	scale := q.scale[c]

	common := q.common[:n]
	for t := range dst {
		dst[t] = scale * common[t]
	}

	coef, bank := q.coef[c], q.bank
	for len(bank) >= 4 {
		b0, b1, b2, b3 := bank[0][:n], bank[1][:n], bank[2][:n], bank[3][:n]

		c0, c1, c2, c3 := coef[0], coef[1], coef[2], coef[3]
		for t := range dst {
			dst[t] += (c0*b0[t] + c1*b1[t]) + (c2*b2[t] + c3*b3[t])
		}

		bank, coef = bank[4:], coef[4:]
	}

	if len(bank) == 2 {
		b0, b1, c0, c1 := bank[0][:n], bank[1][:n], coef[0], coef[1]
		for t := range dst {
			dst[t] += c0*b0[t] + c1*b1[t]
		}
	}

	q.noise[c].add(dst, &q.white)
}

// add adds the next len(dst) samples of broadband noise.
func (n *noise) add(dst []float32, white *[3][]float32) {
	h, r, f := white[0][:len(dst)], white[1][:len(dst)], white[2][:len(dst)]
	n.hump.fill(h)
	n.rumble.fill(r)
	n.floor.fill(f)
	b, a1, a2 := n.band.b*n.humpPa, n.band.a1, n.band.a2
	lb, la := n.low.b*rumblePa, n.low.a1

	x1, x2, y1, y2, rx, ry := n.x1, n.x2, n.y1, n.y2, n.rx, n.ry
	for t := range dst {
		x := b * float64(h[t])
		y := (x - x2 - a2*y2) - a1*y1
		x2, x1 = x1, x
		y2, y1 = y1, y
		v := lb * float64(r[t])
		ry = (v + rx) - la*ry
		rx = v
		dst[t] += float32(y + ry + microphonePa*float64(f[t]))
	}

	n.x1, n.x2, n.y1, n.y2, n.rx, n.ry = x1, x2, y1, y2, rx, ry
}

// AmplitudesPa is the law of the tones: the peak amplitude of each shaft order at polar angle θ, from order 0.
func (r Rotor) AmplitudesPa(blades int, rpm, thetaDeg float64) []float64 {
	of := newRig(r.Seed).orders(blades, rpm, thetaDeg)
	return lists.Each(of[:], cmplx.Abs)
}

// peakPa bounds the pressure of a run: all tones in phase, blade tones 5
// standard deviations of their modulation up, noise at 6.5.
func (r Rotor) peakPa(blades int, rpm float64) float64 {
	peak := 0.0

	top := topOrder(rpm, r.RateHz)
	for _, th := range r.ThetaDeg {
		sum := 6.5 * math.Sqrt(r.noisePower(blades, rpm, th))

		for k, amp := range r.AmplitudesPa(blades, rpm, th)[:top+1] {
			if k%blades == 0 {
				amp *= 1 + 5*r.ToneModulation
			}

			sum += amp
		}

		peak = max(peak, sum)
	}

	return peak
}

func (r Rotor) noisePower(blades int, rpm, thetaDeg float64) float64 {
	f1, f2, rms := hump(blades, rpm, r.RateHz)
	h := rms * directivity(thetaDeg)

	return h*h*newBandPass(f1, f2, r.RateHz).variance() +
		rumblePa*rumblePa*newLowPass(rumbleHz, r.RateHz).variance() +
		microphonePa*microphonePa
}
