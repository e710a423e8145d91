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
// 0.10 m, span 0.25 m, air of 1.204 kg/m³): one CSV file per (angle of attack,
// speed) with the columns time_s, Fx, Fz in wind axes: drag is Fx, lift is Fz,
// both in N. Start from DefaultAirfoil.
type Airfoil struct {
	Seed      uint64    `json:"seed" key:"seed"`
	RateHz    float64   `json:"rate_hz" key:"rate_hz"`
	DurationS float64   `json:"duration_s" key:"duration_s"`
	AlphaDeg  []float64 `json:"alpha_deg" key:"alpha_deg"`
	SpeedMS   []float64 `json:"speed_m_s" key:"u_inf_m_s"`
}

var _ Campaign = Airfoil{}

// DefaultAirfoil is the campaign where nothing else is stated.
func DefaultAirfoil() Airfoil {
	return Airfoil{
		RateHz: 1000, DurationS: 10, AlphaDeg: steps(-11, 11, 0.5), SpeedMS: []float64{4.7, 7.3, 9.1, 11.9, 14.1},
	}
}

// Kind returns "airfoil".
func (a Airfoil) Kind() string { return "airfoil" }

// Validate returns every unusable field with the expected range.
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

// minSpeedMS is where the model's low-Reynolds-number corrections still have
// their sign.
const minSpeedMS = 3

func (a Airfoil) condition(i int) (alphaDeg, speedMS float64) {
	return a.AlphaDeg[i%len(a.AlphaDeg)], a.SpeedMS[i/len(a.AlphaDeg)]
}

func airfoilName(alphaDeg, speedMS float64) string {
	return "simulated_naca0012_a" + plain(alphaDeg) + "_u" + plain(speedMS) + ".csv"
}

// Files lists one file per speed and angle, angles varying fastest.
func (a Airfoil) Files() []File {
	files := make([]File, len(a.AlphaDeg)*len(a.SpeedMS))
	for i := range files {
		al, u := a.condition(i)
		files[i] = File{Name: airfoilName(al, u), Conditions: map[string]float64{"alpha_deg": al + 0, "u_inf_m_s": u}}
	}

	return files
}

// Conditions writes "file,alpha_deg,u_inf_m_s".
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

// AirfoilMean returns the mean lift and drag coefficients at a condition and
// the attached part of the flow (1 attached, 0 separated): thin-airfoil lift
// with a low-Reynolds-number softening, blended into a stall whose angle and
// width depend on the speed; a mounting offset of 0.15° breaks the symmetry.
// Meant for 3 to 60 m/s.
func AirfoilMean(alphaDeg, speedMS float64) (cl, cd, attached float64) {
	deg := alphaDeg + 0.15
	a := deg * math.Pi / 180
	r := 4.7 / speedMS
	r15 := r * math.Sqrt(r)
	stall := 11.3 - 4*r15 // 7.3° at 4.7 m/s … 10.5° at 14.1 m/s
	width := 0.45 + 0.35*r
	f := 1 / (1 + math.Exp((math.Abs(deg)-stall)/width))
	slope := 2 * math.Pi * 0.90 * (1 - 0.12*r15)
	soft := 1 - 0.45*r15*math.Exp(-(deg/2.5)*(deg/2.5))
	att := slope * a * soft
	kirchhoff := (1 + math.Sqrt(f)) / 2
	cl = att*kirchhoff*kirchhoff*f + (1-f)*(0.30*att+0.9*math.Sin(2*a))
	re := speedMS * chordM / nuM2PerS
	cd0 := 0.022 * math.Sqrt(6e4/re)
	sin := math.Sin(a)
	cd = cd0 + 0.035*att*att + (1-f)*(0.02+2.2*sin*sin)

	return cl, cd, f
}

// airfoilState holds the amplitudes, in coefficients, of the independent
// unit-variance processes that make a recording.
type airfoilState struct {
	qS                     float64 // dynamic pressure × area, N
	cl, cd                 float64
	clU, clW, cdU, cdW     float64 // longitudinal and vertical turbulence
	clBuf, cdBuf           float64 // buffeting: (1−f)·(0.6·AR(3 Hz) + 0.8·resonator), shared
	cdSep                  float64 // separated drag, AR(5 Hz)
	clRing, cdRing         float64 // balance resonances
	clDrift, cdDrift       float64
	clWhite, cdWhite       float64
	turbulenceHz, bufferHz float64
}

func airfoilAmplitudes(alphaDeg, u float64) airfoilState {
	cl, cd, f := AirfoilMean(alphaDeg, u)
	const d = 0.05
	cl1, cd1, _ := AirfoilMean(alphaDeg+d, u)
	cl0, cd0, _ := AirfoilMean(alphaDeg-d, u)
	per := 1 / (2 * d * math.Pi / 180)
	qS := 0.5 * densityKgM3 * u * u * areaM2
	tu := 0.003 + 0.003*(4.7/u) // turbulence intensity, worse at low speed

	sign := 1.0
	if alphaDeg < 0 {
		sign = -1
	}

	return airfoilState{
		qS: qS, cl: cl, cd: cd,
		clU: tu * 2 * cl, clW: tu * (cl1 - cl0) * per,
		cdU: tu * 2 * cd, cdW: tu * (cd1 - cd0) * per,
		clBuf: 0.060 * (1 - f), cdBuf: 0.006 * (1 - f) * sign, cdSep: 0.012 * (1 - f),
		clRing: (0.0030 + 0.006*qS) / qS, cdRing: (0.0010 + 0.0012*qS) / qS,
		clDrift: 0.0020 / qS, cdDrift: 0.0007 / qS,
		clWhite: 0.0040 / qS, cdWhite: 0.0015 / qS,
		turbulenceHz: u / (2 * math.Pi * 0.15),
		bufferHz:     math.Min(0.17*u/(chordM*math.Max(math.Abs(math.Sin(alphaDeg*math.Pi/180)), 0.05)), 300),
	}
}

// Write makes the recording of file i. Forces have 6 decimals: a resolution of
// 1 µN against sensor noise of 1500 µN and more.
func (a Airfoil) Write(ctx context.Context, w io.Writer, i int) error {
	if err := a.Validate(); err != nil {
		return err
	}

	al, u := a.condition(i)
	digits := timeDigits(a.RateHz)
	timeScale := math.Pow10(digits)
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(b, "# simulated balance recording, not measured: NACA 0012 chord %s m span %s m alpha_deg=%s "+
		"u_inf_m_s=%s seed %d, wind axes (Fx drag, Fz lift)\n",
		plain(chordM), plain(spanM), plain(al), plain(u), a.Seed)
	b.WriteString("time_s,Fx,Fz\ns,N,N\n")

	balance := newBalance(a.Seed, a.RateHz, al, u)
	for t := range int64(math.Round(a.RateHz * a.DurationS)) {
		if t%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}

		lift, drag := balance.next()
		seconds := math.Round(float64(t)/a.RateHz*timeScale) / timeScale
		line := strconv.AppendFloat(b.AvailableBuffer(), seconds, 'f', digits, 64)
		line = strconv.AppendFloat(append(line, ','), math.Round(drag*1e6)/1e6+0, 'f', 6, 64)
		line = strconv.AppendFloat(append(line, ','), math.Round(lift*1e6)/1e6+0, 'f', 6, 64)
		b.Write(append(line, '\n'))
	}

	return b.Flush()
}

// timeDigits is the number of decimals that states multiples of 1/rateHz
// exactly, 9 where none does.
func timeDigits(rateHz float64) int {
	for d := range 9 {
		if v := math.Pow10(d) / rateHz; v >= 1 && v == math.Trunc(v) {
			return d
		}
	}

	return 9
}

// balance is one airfoil recording in the making.
type balance struct {
	airfoilState
	u, w, buf, sep, liftDrift, dragDrift *ar1
	shed, liftRing, dragRing             *resonator
	liftWhite, dragWhite                 *stream
}

func newBalance(seed uint64, rateHz, alphaDeg, speedMS float64) *balance {
	s := airfoilAmplitudes(alphaDeg, speedMS)
	key := func(purpose string) *stream {
		return newStream(seed, "airfoil", "run", plain(alphaDeg), plain(speedMS), purpose)
	}

	return &balance{
		airfoilState: s,
		u:            newAR1(key("u"), s.turbulenceHz, rateHz),
		w:            newAR1(key("w"), s.turbulenceHz, rateHz),
		buf:          newAR1(key("buffeting"), 3, rateHz),
		shed:         newResonator(key("shedding"), s.bufferHz, 6, rateHz),
		sep:          newAR1(key("separation"), 5, rateHz),
		liftRing:     newResonator(key("lift resonance"), 34, 15, rateHz),
		dragRing:     newResonator(key("drag resonance"), 52, 20, rateHz),
		liftDrift:    newAR1(key("lift drift"), 0.04, rateHz),
		dragDrift:    newAR1(key("drag drift"), 0.04, rateHz),
		liftWhite:    key("lift sensor"),
		dragWhite:    key("drag sensor"),
	}
}

// next returns the next sample in N.
func (b *balance) next() (lift, drag float64) {
	u, w := b.u.next(), b.w.next()
	buf := 0.6*b.buf.next() + 0.8*b.shed.next()
	cl := b.cl + b.clU*u + b.clW*w + b.clBuf*buf +
		b.clRing*b.liftRing.next() + b.clDrift*b.liftDrift.next() + b.clWhite*b.liftWhite.norm()
	cd := b.cd + b.cdU*u + b.cdW*w + b.cdBuf*buf + b.cdSep*b.sep.next() +
		b.cdRing*b.dragRing.next() + b.cdDrift*b.dragDrift.next() + b.cdWhite*b.dragWhite.norm()

	return b.qS * cl, b.qS * cd
}
