package simulate

import (
	"math"
	"slices"
)

// blockLen is how many samples of all channels are generated at a time. It is even, because stream.fill
// only continues a sequence after an even number.
const blockLen = 2048

// run generates one recording, block by block: tones prepares the waves of a block that all channels share, and
// channel returns the pressure of each channel. φ is the angle of the shaft.
type run struct {
	rate    float64 // sampling rate, Hz
	revs    float64 // nominal revolutions per second
	samples int64   // N, of the whole recording
	blades  int
	top     int // highest shaft order generated

	// The shaft. Sample i has the relative speed error offset + drift·(i/(N−1) − ½) + jitter·speed.
	phase, offset, drift float64 // phase in revolutions
	jitter               float64
	speed                *slow
	relative             []float64 // of the block: offset + jitter·speed

	// Waves of the block. z is exp(iφ), and p its current power, as real and imaginary parts.
	zr, zi, pr, pi []float32

	// The tones at multiples of the number of blades: tone m has the wave mod_m·exp(i·m·blades·φ).
	mods []*slow     // modulation of each tone
	am   float64     // rms of the modulation
	mod  []float64   // modulation of the current tone in the block
	bank [][]float32 // real and imaginary part of the wave of each tone in the block
	coef [][]float32 // [channel]: factors of these parts

	// All other shaft orders come from the imbalance. They are one wave, scaled for each channel.
	imb    orderPa
	common []float32 // the wave in the block
	scale  []float32 // [channel]

	noise []noise      // [channel]
	white [3][]float32 // buffers for noise.add
}

// noise generates the broadband noise of one channel.
type noise struct {
	hump, rumble, floor *stream
	humpPa              float64 // rms of the hump before its filter
	band                bandPass
	low                 lowPass
	bandState           struct{ x1, x2, y1, y2 float64 } // the latest two inputs and outputs of band
	lowState            struct{ x, y float64 }           // the latest input and output of low
}

// newRun returns the generator of the recording of a rotor at a nominal speed on rig g. rpm must be in r.RPM.
func newRun(r Rotor, g rig, blades int, rpm float64) *run {
	draw := plain(rpm) // names the random numbers
	if len(r.Draws) > 0 {
		draw = r.Draws[slices.Index(r.RPM, rpm)]
	}

	key := func(purpose string, more ...any) *stream {
		return newStream(r.Seed, append([]any{"rotor", "run", blades, draw, purpose}, more...)...)
	}

	shaft := key("shaft")
	q := &run{
		rate: r.RateHz, revs: rpm / 60, samples: r.samples(), blades: blades,
		offset: r.SpeedError * shaft.norm(),
		drift:  r.SpeedDrift * shaft.norm(),
		phase:  shaft.uniform(),
		jitter: r.SpeedJitter,
		am:     r.ToneModulation,
		speed:  newSlow(key("jitter"), jitterTauS, r.RateHz),
		top:    topOrder(rpm, r.RateHz),
		imb:    g.imbalance[blades],
	}

	block := func() []float32 { return make([]float32, blockLen) }
	q.relative = make([]float64, blockLen)
	q.mod = make([]float64, blockLen)
	q.zr = block()
	q.zi = block()
	q.pr = block()
	q.pi = block()
	q.common = block()
	for m := 1; m*blades <= q.top; m++ {
		q.mods = append(q.mods, newSlow(key("modulation", m), modulationTauS, r.RateHz))
		q.bank = append(q.bank, block(), block())
	}

	for i := range q.white {
		q.white[i] = block()
	}

	q.addChannels(r, g, rpm, key)

	return q
}

// addChannels appends the factors and the noise of each channel to q, and starts the filters of the noise. key returns
// the random numbers for a purpose.
func (q *run) addChannels(r Rotor, g rig, rpm float64, key func(purpose string, more ...any) *stream) {
	blades := q.blades
	hump := newHump(blades, rpm, r.RateHz)
	for _, theta := range r.ThetaDeg {
		pa := g.orders(blades, rpm, theta)

		var coef []float32
		for mn := blades; mn <= q.top; mn += blades {
			coef = append(coef, float32(real(pa[mn])), float32(-imag(pa[mn])))
		}

		q.coef = append(q.coef, coef)
		q.scale = append(q.scale, float32(math.Cos(theta*math.Pi/180)*(rpm/6000)*(rpm/6000)))
		q.noise = append(q.noise, noise{
			hump: key("hump", plain(theta)), rumble: key("rumble", plain(theta)), floor: key("floor", plain(theta)),
			humpPa: hump.rmsPa * directivity(theta), band: newBandPass(hump.lowHz, hump.highHz, r.RateHz),
			low: newLowPass(rumbleHz, r.RateHz),
		})
	}

	// Generate and discard noise for ten times the slowest time constant of the filters, an even number of
	// samples: the recording then starts with stationary noise.
	const timeConstants = 10
	warm := int(timeConstants/(2*math.Pi*min(hump.lowHz, rumbleHz))*r.RateHz)&^1 + 2
	scratch := make([]float32, blockLen)
	for c := range q.noise {
		for left := warm; left > 0; left -= blockLen {
			q.noise[c].add(scratch[:min(left, blockLen)], &q.white)
		}
	}
}

// topOrder returns the highest shaft order below 0.495 of the sampling rate, at most maxOrder.
func topOrder(rpm, rateHz float64) int {
	k := math.Ceil(0.495*rateHz/(rpm/60)) - 1
	return int(min(max(k, 0), maxOrder))
}

// tones prepares the waves that all channels share, for n samples from sample start on. It fills common and bank.
func (q *run) tones(start int64, n int) {
	rel := q.relative[:n]
	q.speed.fill(rel, start, q.offset, q.jitter)
	zr := q.zr[:n]
	zi := q.zi[:n]
	pr := q.pr[:n]
	pi := q.pi[:n]
	common := q.common[:n]
	step := q.revs / q.rate

	drift := q.drift / float64(q.samples-1)
	for t := range rel {
		relative := rel[t] + drift*float64(start+int64(t)) - 0.5*q.drift
		q.phase += step * (1 + relative)
		if q.phase >= 1 {
			q.phase -= math.Floor(q.phase)
		}

		sin, cos := math.Sincos(2 * math.Pi * q.phase)
		zr[t] = float32(cos)
		zi[t] = float32(sin)
		pr[t] = zr[t]
		pi[t] = zi[t]
		common[t] = 0
	}

	for k := 1; k <= q.top; k++ {
		if k > 1 { // multiply p by z: it becomes exp(ikφ)
			for t, a := range pr {
				b := pi[t]
				cos := zr[t]
				sin := zi[t]
				pr[t] = a*cos - b*sin
				pi[t] = a*sin + b*cos
			}
		}

		if k%q.blades != 0 {
			re := float32(real(q.imb[k]))
			im := float32(imag(q.imb[k]))
			for t, a := range pr {
				common[t] += re*a - im*pi[t]
			}

			continue
		}

		m := k/q.blades - 1
		mod := q.mod[:n]
		q.mods[m].fill(mod, start, 1, q.am)

		br := q.bank[2*m][:n]
		bi := q.bank[2*m+1][:n]
		for t, amplitude := range mod {
			f := float32(amplitude)
			br[t] = f * pr[t]
			bi[t] = f * pi[t]
		}
	}
}

// channel fills dst with the pressure of channel c in Pa, for the samples that tones has prepared.
func (q *run) channel(dst []float32, c int) {
	n := len(dst)
	scale := q.scale[c]

	common := q.common[:n]
	for t := range dst {
		dst[t] = scale * common[t]
	}

	coef := q.coef[c]
	bank := q.bank
	for len(bank) >= 4 {
		b0, b1, b2, b3 := bank[0][:n], bank[1][:n], bank[2][:n], bank[3][:n]

		c0, c1, c2, c3 := coef[0], coef[1], coef[2], coef[3]
		for t := range dst {
			dst[t] += (c0*b0[t] + c1*b1[t]) + (c2*b2[t] + c3*b3[t])
		}

		bank = bank[4:]
		coef = coef[4:]
	}

	if len(bank) == 2 {
		b0, b1 := bank[0][:n], bank[1][:n]
		c0, c1 := coef[0], coef[1]
		for t := range dst {
			dst[t] += c0*b0[t] + c1*b1[t]
		}
	}

	q.noise[c].add(dst, &q.white)
}

// add adds the next len(dst) samples of the noise to dst. white are buffers that it overwrites.
func (n *noise) add(dst []float32, white *[3][]float32) {
	hump := white[0][:len(dst)]
	rumble := white[1][:len(dst)]
	floor := white[2][:len(dst)]
	n.hump.fill(hump)
	n.rumble.fill(rumble)
	n.floor.fill(floor)

	b := n.band.b * n.humpPa
	a1, a2 := n.band.a1, n.band.a2
	lowB := n.low.b * rumblePa
	lowA := n.low.a1
	bandState := n.bandState // local copies, which stay in registers
	lowState := n.lowState
	for t := range dst {
		x := b * float64(hump[t])
		y := (x - bandState.x2 - a2*bandState.y2) - a1*bandState.y1
		bandState.x2 = bandState.x1
		bandState.x1 = x
		bandState.y2 = bandState.y1
		bandState.y1 = y

		v := lowB * float64(rumble[t])
		lowState.y = (v + lowState.x) - lowA*lowState.y
		lowState.x = v
		dst[t] += float32(y + lowState.y + microphonePa*float64(floor[t]))
	}

	n.bandState = bandState
	n.lowState = lowState
}
