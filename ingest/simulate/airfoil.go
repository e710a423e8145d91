package simulate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The simulated model: a NACA 0012 of 0.10 m chord and 0.25 m span.
const (
	chordM   = 0.10
	spanM    = 0.25
	areaM2   = chordM * spanM
	nuM2PerS = 1.51e-5
)

// Airfoil is a campaign of force-balance recordings of a NACA 0012 (chord
// 0.10 m, span 0.25 m, air of 1.204 kg/m³). It has one CSV file for each angle of attack
// and speed, with the columns time_s, Fx (drag, N) and Fz (lift, N) in wind axes. Start
// from DefaultAirfoil.
type Airfoil struct {
	Seed      uint64    `json:"seed" key:"seed"`
	RateHz    float64   `json:"rate_hz" key:"rate_hz"`
	DurationS float64   `json:"duration_s" key:"duration_s"`
	AlphaDeg  []float64 `json:"alpha_deg" key:"alpha_deg"`
	SpeedMS   []float64 `json:"speed_m_s" key:"u_inf_m_s"`
}

var _ Campaign = Airfoil{}

// DefaultAirfoil returns the campaign of a configuration without settings.
func DefaultAirfoil() Airfoil {
	return Airfoil{
		RateHz: 1000, DurationS: 10, AlphaDeg: steps(-11, 11, 0.5), SpeedMS: []float64{4.7, 7.3, 9.1, 11.9, 14.1},
	}
}

// Kind returns "airfoil".
func (a Airfoil) Kind() string { return "airfoil" }

// Validate implements Campaign.
func (a Airfoil) Validate() error {
	f := faults{kind: "airfoil"}

	f.need(a.RateHz >= 700 && a.RateHz <= 1e6, "RateHz", "700 to 1000000", a.RateHz) // shedding is up to 300 Hz

	fits := a.DurationS > 0 && a.DurationS <= 86400
	f.need(fits, "DurationS", "more than 0, at most 86400 s", a.DurationS)
	f.need(!fits || math.Round(a.RateHz*a.DurationS) >= 1, "DurationS", "at least 1 sample", a.DurationS)
	checkList(&f, "AlphaDeg", a.AlphaDeg, "angle", "−90 to 90",
		func(deg float64) bool { return deg >= -90 && deg <= 90 })
	checkList(&f, "SpeedMS", a.SpeedMS, "speed", "3 to 60",
		func(u float64) bool { return u >= minSpeedMS && u <= 60 })

	return errors.Join(f.list...)
}

// minSpeedMS is the least speed of the model: below it the corrections for low Reynolds numbers
// change their sign.
const minSpeedMS = 3

// condition returns the condition of file i. Angles vary fastest.
func (a Airfoil) condition(i int) (alphaDeg, speedMS float64) {
	return a.AlphaDeg[i%len(a.AlphaDeg)], a.SpeedMS[i/len(a.AlphaDeg)]
}

// airfoilName returns the name of the file for a condition.
func airfoilName(alphaDeg, speedMS float64) string {
	return "simulated_naca0012_a" + plain(alphaDeg) + "_u" + plain(speedMS) + ".csv"
}

// Files lists one file per speed and angle, angles varying fastest.
func (a Airfoil) Files() []File {
	files := make([]File, len(a.AlphaDeg)*len(a.SpeedMS))
	for i := range files {
		alphaDeg, speedMS := a.condition(i)
		files[i] = File{
			Name:       airfoilName(alphaDeg, speedMS),
			Conditions: map[string]float64{"alpha_deg": alphaDeg + 0, "u_inf_m_s": speedMS},
		}
	}

	return files
}

// Conditions returns a table with the columns file, alpha_deg and u_inf_m_s.
func (a Airfoil) Conditions() string {
	b := []byte("file,alpha_deg,u_inf_m_s\n")
	for _, f := range a.Files() {
		b = fmt.Appendf(b, "%s,%s,%s\n", f.Name, plain(f.Conditions["alpha_deg"]), plain(f.Conditions["u_inf_m_s"]))
	}

	return string(b)
}

// Readme describes the campaign.
func (a Airfoil) Readme() string {
	var b strings.Builder
	fmt.Fprintf(&b, "simulated airfoil campaign: no measurement\n\n")
	fmt.Fprintf(&b, "generator version  %s\n", Version)
	fmt.Fprintf(&b, "seed               %d\n", a.Seed)
	fmt.Fprintf(&b, "files              %d CSV files, one per angle of attack and speed\n", len(a.AlphaDeg)*len(a.SpeedMS))
	fmt.Fprintf(&b, "lines              a comment, column names, units, then one sample a line\n")
	fmt.Fprintf(&b, "columns            time_s [s], Fx [N] drag, Fz [N] lift, wind axes\n")
	fmt.Fprintf(&b, "conditions         conditions.csv: file, alpha_deg, u_inf_m_s (also in the file names)\n")
	fmt.Fprintf(&b, "rate               %s Hz\n", plain(a.RateHz))
	fmt.Fprintf(&b, "duration           %s s\n", plain(a.DurationS))
	fmt.Fprintf(&b, "model              NACA 0012, chord %s m, span %s m, air density %s kg/m3\n", plain(chordM),
		plain(spanM), plain(densityKgM3))
	fmt.Fprintf(&b, "full scale         does not apply: forces in N, resolution 0.000001 N\n")

	return b.String()
}

// AirfoilMean returns the mean lift and drag coefficients at a condition, and the attached part of the
// flow (1 attached, 0 separated). The lift of a thin airfoil is softened at low Reynolds numbers, and
// blended into a stall whose angle and width depend on the speed. A mounting offset of
// 0.15° breaks the symmetry. The numbers of the model are the Python reference's. They are meant for
// 3 to 60 m/s.
func AirfoilMean(alphaDeg, speedMS float64) (cl, cd, attached float64) {
	deg := alphaDeg + 0.15
	alpha := deg * math.Pi / 180
	r := 4.7 / speedMS // of the lowest default speed to this speed
	r15 := r * math.Sqrt(r)
	stall := 11.3 - 4*r15 // 7.3° at 4.7 m/s … 10.5° at 14.1 m/s
	width := 0.45 + 0.35*r
	attached = 1 / (1 + math.Exp((math.Abs(deg)-stall)/width))
	slope := 2 * math.Pi * 0.90 * (1 - 0.12*r15)
	soft := 1 - 0.45*r15*math.Exp(-(deg/2.5)*(deg/2.5))
	attachedCl := slope * alpha * soft
	kirchhoff := (1 + math.Sqrt(attached)) / 2
	cl = attachedCl*kirchhoff*kirchhoff*attached + (1-attached)*(0.30*attachedCl+0.9*math.Sin(2*alpha))
	re := speedMS * chordM / nuM2PerS
	cd0 := 0.022 * math.Sqrt(6e4/re)
	sin := math.Sin(alpha)
	cd = cd0 + 0.035*attachedCl*attachedCl + (1-attached)*(0.02+2.2*sin*sin)

	return cl, cd, attached
}

// airfoilState has the numbers of a recording. The lift coefficient is cl plus the sum of the amplitudes cl… times
// independent processes of unit variance, and the drag coefficient likewise.
type airfoilState struct {
	qS                 float64 // dynamic pressure × area, N: force per coefficient
	cl, cd             float64 // means
	clU, clW, cdU, cdW float64 // turbulence: longitudinal (U) and vertical (W)
	clBuf, cdBuf       float64 // buffeting, the same process for lift and drag
	cdSep              float64 // separated drag
	clRing, cdRing     float64 // resonances of the balance
	clDrift, cdDrift   float64
	clWhite, cdWhite   float64 // noise of the sensors

	turbulenceHz float64 // corner frequency of the turbulence
	bufferHz     float64 // frequency of the vortex shedding in the buffeting
}

// airfoilAmplitudes returns the numbers of a recording at a condition.
func airfoilAmplitudes(alphaDeg, speedMS float64) airfoilState {
	cl, cd, attached := AirfoilMean(alphaDeg, speedMS)
	separated := 1 - attached
	const stepDeg = 0.05
	cl1, cd1, _ := AirfoilMean(alphaDeg+stepDeg, speedMS)
	cl0, cd0, _ := AirfoilMean(alphaDeg-stepDeg, speedMS)
	perRad := 1 / (2 * stepDeg * math.Pi / 180)
	qS := 0.5 * densityKgM3 * speedMS * speedMS * areaM2
	tu := 0.003 + 0.003*(4.7/speedMS) // turbulence intensity, worse at low speed

	sign := 1.0
	if alphaDeg < 0 {
		sign = -1
	}

	return airfoilState{
		qS: qS, cl: cl, cd: cd,
		clU: tu * 2 * cl, clW: tu * (cl1 - cl0) * perRad,
		cdU: tu * 2 * cd, cdW: tu * (cd1 - cd0) * perRad,
		clBuf: 0.060 * separated, cdBuf: 0.006 * separated * sign, cdSep: 0.012 * separated,
		clRing: (0.0030 + 0.006*qS) / qS, cdRing: (0.0010 + 0.0012*qS) / qS,
		clDrift: 0.0020 / qS, cdDrift: 0.0007 / qS,
		clWhite: 0.0040 / qS, cdWhite: 0.0015 / qS,
		turbulenceHz: speedMS / (2 * math.Pi * 0.15),
		bufferHz:     math.Min(0.17*speedMS/(chordM*math.Max(math.Abs(math.Sin(alphaDeg*math.Pi/180)), 0.05)), 300),
	}
}

// Write writes the recording of file i. Forces have 6 decimals: the resolution is 1 µN, and the
// noise of the sensors at least 1500 µN.
func (a Airfoil) Write(ctx context.Context, w io.Writer, i int) error {
	if err := a.Validate(); err != nil {
		return err
	}

	if err := checkFile(a.Kind(), i, len(a.AlphaDeg)*len(a.SpeedMS)); err != nil {
		return err
	}

	alphaDeg, speedMS := a.condition(i)
	digits := timeDigits(a.RateHz)
	timeScale := math.Pow10(digits)
	buffer := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(buffer, "# simulated balance recording, not measured: NACA 0012 chord %s m span %s m alpha_deg=%s "+
		"u_inf_m_s=%s seed %d, wind axes (Fx drag, Fz lift)\n",
		plain(chordM), plain(spanM), plain(alphaDeg), plain(speedMS), a.Seed)
	buffer.WriteString("time_s,Fx,Fz\ns,N,N\n")

	balance := newBalance(a.Seed, a.RateHz, alphaDeg, speedMS)
	for t := range int64(math.Round(a.RateHz * a.DurationS)) {
		if t%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}

		lift, drag := balance.next()
		seconds := math.Round(float64(t)/a.RateHz*timeScale) / timeScale
		line := strconv.AppendFloat(buffer.AvailableBuffer(), seconds, 'f', digits, 64)
		line = append(line, ',')
		line = strconv.AppendFloat(line, math.Round(drag*1e6)/1e6+0, 'f', 6, 64)
		line = append(line, ',')
		line = strconv.AppendFloat(line, math.Round(lift*1e6)/1e6+0, 'f', 6, 64)
		line = append(line, '\n')
		buffer.Write(line) // Flush returns an error of Write
	}

	return buffer.Flush()
}

// timeDigits returns the number of decimals that multiples of 1/rateHz need, or 9 if no number is exact.
func timeDigits(rateHz float64) int {
	for d := range 9 {
		if v := math.Pow10(d) / rateHz; v >= 1 && v == math.Trunc(v) {
			return d
		}
	}

	return 9
}

// balance generates the samples of one airfoil recording. Each process has unit variance.
type balance struct {
	airfoilState
	u, w, buf, sep, liftDrift, dragDrift *ar1
	shed, liftRing, dragRing             *resonator
	liftWhite, dragWhite                 *stream
}

// newBalance returns the generator of the recording at a condition.
func newBalance(seed uint64, rateHz, alphaDeg, speedMS float64) *balance {
	state := airfoilAmplitudes(alphaDeg, speedMS)
	key := func(purpose string) *stream {
		return newStream(seed, "airfoil", "run", plain(alphaDeg), plain(speedMS), purpose)
	}

	return &balance{
		airfoilState: state,
		u:            newAR1(key("u"), state.turbulenceHz, rateHz),
		w:            newAR1(key("w"), state.turbulenceHz, rateHz),
		buf:          newAR1(key("buffeting"), 3, rateHz),
		shed:         newResonator(key("shedding"), state.bufferHz, 6, rateHz),
		sep:          newAR1(key("separation"), 5, rateHz),
		liftRing:     newResonator(key("lift resonance"), 34, 15, rateHz),
		dragRing:     newResonator(key("drag resonance"), 52, 20, rateHz),
		liftDrift:    newAR1(key("lift drift"), 0.04, rateHz),
		dragDrift:    newAR1(key("drag drift"), 0.04, rateHz),
		liftWhite:    key("lift sensor"),
		dragWhite:    key("drag sensor"),
	}
}

// next returns the next sample of lift and drag in N.
func (b *balance) next() (lift, drag float64) {
	u := b.u.next()
	w := b.w.next()
	buf := 0.6*b.buf.next() + 0.8*b.shed.next()
	cl := b.cl + b.clU*u + b.clW*w + b.clBuf*buf +
		b.clRing*b.liftRing.next() + b.clDrift*b.liftDrift.next() + b.clWhite*b.liftWhite.norm()
	cd := b.cd + b.cdU*u + b.cdW*w + b.cdBuf*buf + b.cdSep*b.sep.next() +
		b.cdRing*b.dragRing.next() + b.cdDrift*b.dragDrift.next() + b.cdWhite*b.dragWhite.norm()

	return b.qS * cl, b.qS * cd
}
