package pipeline_test

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/pipelinetest"
	"doubletake/pipeline/table"
)

// smallRotor is a rotor campaign that is made, trained and drawn in a second.
const smallRotor = `version: 1
workdir: runs
kernels: portable
experiments:
  drone:
    ingest: {simulate: {campaign: rotor, seed: 3, blades: [2, 3, 4], rpm: [4000, 5000], theta_deg: [-30, 0, 30],
      duration_s: 2}}
    dsp: {triplets: split-half-spectrum, harmonics: 2}
    train:
      inputs: [blades, rpm, theta_deg]
      model: {hidden: [8]}
      optimizer: {epochs: 4}
      seeds: 2
      splits: {3-blades: {test: {blades: 3}}}
`

// mark is one series as a reader of the SVG finds it.
type mark struct {
	panel, series string
	num           map[string][]float64
}

func marks(t *testing.T, path string) []mark {
	t.Helper()

	raw := contents(t, path)

	var out []mark
	panel := ""

	d := xml.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}

		if err != nil {
			t.Fatal(err)
		}

		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}

		at := map[string]string{}
		for _, a := range e.Attr {
			at[a.Name.Local] = a.Value
		}

		switch at["class"] {
		case "panel":
			panel = at["data-panel"]

		case "mark":
			m := mark{panel: panel, series: at["data-series"], num: map[string][]float64{}}
			for _, q := range []string{"x", "y", "z", "lo", "hi"} {
				for _, s := range strings.Fields(at["data-"+q]) {
					v, err := strconv.ParseFloat(s, 64)
					if err != nil {
						v = math.NaN()
					}

					m.num[q] = append(m.num[q], v)
				}
			}

			out = append(out, m)
		}
	}
}

// TestFiguresAreTheTables runs a small campaign and reads the numbers of its
// directivity back from the SVG: they must be those of predictions.arrow, which
// is read on its own here. It runs it again elsewhere with two tasks at a time:
// page and figures must be the same bytes.
func TestFiguresAreTheTables(t *testing.T) {
	dirA, read, col := runDrone(t, smallRotor, 1)
	dirB, _, _ := runDrone(t, smallRotor, 2)
	a, b := filepath.Join(dirA, "runs"), filepath.Join(dirB, "runs")
	files, err := filepath.Glob(filepath.Join(a, "drone/report/figures/*"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of figures, %v", len(files), err)
	}

	for _, f := range append(files, filepath.Join(a, "report.html"), filepath.Join(a, "report.md")) {
		rel, _ := filepath.Rel(a, f)
		x, err1 := os.ReadFile(f)

		y, err2 := os.ReadFile(filepath.Join(b, rel))
		if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs between one task at a time and two: %v, %v", rel, err1, err2)
		}
	}

	pred := []*table.Table{
		read("splits/3-blades/seed-0/predictions.arrow"),
		read("splits/3-blades/seed-1/predictions.arrow"),
	}

	// The row of a condition; every condition is measured once.
	row := func(blades, theta float64) int {
		for i := range pred[0].Rows() {
			// Of two speeds the figure shows the upper one, the middle of the list.
			if col(pred[0], "blades")[i] == blades && col(pred[0], "rpm")[i] == 5000 && col(pred[0], "theta_deg")[i] == theta {
				return i
			}
		}

		t.Fatalf("no row for %v blades at %v°", blades, theta)

		return -1
	}

	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) } // sums in another order

	values, crosses := 0, 0
	for _, m := range marks(t, filepath.Join(a, "drone/report/figures/3-blades-directivity-bpf2_db-rpm-5000.svg")) {
		blades, err := strconv.ParseFloat(m.panel[:1], 64)
		if err != nil {
			t.Fatalf("panel %q", m.panel)
		}

		for i, theta := range m.num["x"] {
			r := row(blades, theta)
			mu := (col(pred[0], "bpf2_db_mu")[r] + col(pred[1], "bpf2_db_mu")[r]) / 2
			sd := math.Sqrt((col(pred[0], "bpf2_db_var")[r] + col(pred[1], "bpf2_db_var")[r]) / 2)
			c := (col(pred[0], "bpf2_db_cov")[r] + col(pred[1], "bpf2_db_cov")[r]) / 2

			values++
			switch m.series {
			case "mean μ":
				if !near(m.num["y"][i], mu) {
					t.Errorf("%v° %s: mean %v, table %v", theta, m.panel, m.num["y"][i], mu)
				}

			case "mean ± 2σ, total":
				if !near(m.num["lo"][i], mu-2*sd) || !near(m.num["hi"][i], mu+2*sd) {
					t.Errorf("%v° %s: band %v to %v, table %v ± 2·%v", theta, m.panel, m.num["lo"][i], m.num["hi"][i], mu, sd)
				}

			case "mean ± 2√C, epistemic":
				if c <= 0 {
					crosses--
					if !math.IsNaN(m.num["lo"][i]) {
						t.Errorf("%v° %s: a band though C is %v", theta, m.panel, c)
					}
				} else if !near(m.num["hi"][i], mu+2*math.Sqrt(c)) {
					t.Errorf("%v° %s: epistemic band to %v, table %v", theta, m.panel, m.num["hi"][i], mu+2*math.Sqrt(c))
				}

			case "C ≤ 0: no band":
				values--
				crosses++

				if c > 0 {
					t.Errorf("%v° %s: a cross though C is %v", theta, m.panel, c)
				}

			case "pairs, trained on", "pairs, held out":
				if y := m.num["y"][i]; y != col(pred[0], "bpf2_db_1")[r] && y != col(pred[0], "bpf2_db_2")[r] {
					t.Errorf("%v° %s: measured %v, not in the table", theta, m.panel, y)
				}

				if set := pred[0].Column("set").Strings[r]; (set == "test") != (m.series == "pairs, held out") {
					t.Errorf("%v° %s: %s, in the table %s", theta, m.panel, m.series, set)
				}

			default:
				t.Errorf("unknown series %q", m.series)
			}
		}
	}

	// Three panels of three angles: two bands, the mean, three pairs; a cross for each
	// missing band.
	if values != 3*(3*3+6) || crosses != 0 {
		t.Errorf("%d values compared, %d more crosses than missing bands", values, crosses)
	}
}

// TestEveryFigureReadsBack takes the numbers of the other figures back from
// their SVG and works them out again from the published Arrow tables, by the
// definitions of docs/method.md written out here.
func TestEveryFigureReadsBack(t *testing.T) {
	dir, read, col := runDrone(t, smallRotor, 2)
	figure := func(name string) []mark {
		t.Helper()
		return marks(t, filepath.Join(dir, "runs/drone/report/figures", name+".svg"))
	}

	near := func(a, b, tol float64) bool { return math.Abs(a-b) <= tol }

	spectra, trip := read("spectra.arrow"), read("triplets.arrow")
	if u := spectra.Column("power").Unit; u != "Pa²" {
		t.Fatalf("the simulated rotor gives %s", u)
	}

	const ref = 20e-6
	level := func(p float64) float64 { return 10 * math.Log10(p/(ref*ref)) }
	power := spectra.Column("power").Lists
	bin := col(spectra, "bin_hz")[0]

	t.Run("spectrum", func(t *testing.T) {
		got := map[string]mark{}
		for _, m := range figure("spectrum") {
			got[m.series] = m
		}

		first := got["first half"].num

		row := -1
		for i := 0; i < len(power); i += 2 {
			if near(first["y"][4], level(float64(power[i][5])), 1e-9) { // the figure begins with bin 1
				row = i
			}
		}

		if row < 0 {
			t.Fatal("the spectrum is that of no recording")
		}

		for h, series := range []string{"first half", "second half"} {
			m := got[series].num
			for i := range m["x"] {
				k := int(math.Round(m["x"][i] / bin))
				if !near(m["x"][i], float64(k)*bin, 1e-9) || !near(m["y"][i], level(float64(power[row+h][k])), 1e-9) {
					t.Fatalf("%s: (%v, %v), the table has %v", series, m["x"][i], m["y"][i], level(float64(power[row+h][k])))
				}
			}

			if len(m["x"]) < 50 {
				t.Errorf("%d bins", len(m["x"]))
			}
		}

		list := func(name string) []float32 { return spectra.Column(name).Lists[row+1] }
		for i, y := range got["floor"].num["y"] {
			mid := (got["floor"].num["lo"][i] + got["floor"].num["hi"][i]) / 2
			if !near(y, level(float64(list("floor")[i])), 1e-9) || !near(mid, float64(list("line_hz")[i]), 1e-6) {
				t.Errorf("floor %d: %v dB at %v Hz", i, y, mid)
			}
		}

		orders := got["shaft orders that are no harmonic"].num
		if len(orders["x"]) != len(list("shaft_order")) || len(orders["x"]) == 0 {
			t.Errorf("%d shaft orders, the table has %d", len(orders["x"]), len(list("shaft_order")))
		}

		for i := range orders["x"] {
			if !near(orders["x"][i], float64(list("shaft_order_hz")[i]), 1e-6) ||
				!near(orders["y"][i], level(float64(list("shaft_order_power")[i])), 1e-9) {
				t.Errorf("shaft order %d: (%v, %v)", i, orders["x"][i], orders["y"][i])
			}
		}

		search := got["searched for a harmonic"].num
		for i := range search["lo"] {
			lo, hi := float64(spectra.Column("search_lo").Lists[row][i]), float64(spectra.Column("search_hi").Lists[row][i])
			if !near(search["lo"][i], (lo-0.5)*bin, 1e-9) || !near(search["hi"][i], (hi+0.5)*bin, 1e-9) {
				t.Errorf("search band %d: %v to %v", i, search["lo"][i], search["hi"][i])
			}
		}

		// One third of an octave: the bins' power shared out over bands between
		// 10^((k∓½)/10); the bins of a Hann window hold 1.5 times the power.
		bands := 0
		for _, m := range figure("levels") {
			if m.series != "one-third-octave level" {
				continue
			}

			for i, y := range m.num["y"] {
				bands++

				sum := 0.0
				for k := 1; k < len(power[row]); k++ {
					a, b := math.Max(m.num["lo"][i], (float64(k)-0.5)*bin), math.Min(m.num["hi"][i], (float64(k)+0.5)*bin)
					if b > a {
						sum += (float64(power[row][k]) + float64(power[row+1][k])) / 3 * (b - a) / bin
					}
				}

				if !near(y, level(sum), 1e-9) || !near(m.num["hi"][i]/m.num["lo"][i], math.Pow(10, 0.1), 1e-9) {
					t.Errorf("band %v to %v Hz: %v dB, want %v", m.num["lo"][i], m.num["hi"][i], y, level(sum))
				}
			}
		}

		if bands < 10 {
			t.Errorf("%d bands", bands)
		}
	})

	t.Run("overall level", func(t *testing.T) {
		points := 0
		for _, m := range figure("levels") {
			if len(m.series) < 8 || m.series[1:] != " blades" {
				continue
			}

			for i, theta := range m.num["x"] {
				points++

				found := false
				for r := range trip.Rows() {
					if col(trip, "theta_deg")[r] != theta || col(trip, "blades")[r] != float64(m.series[0]-'0') ||
						col(trip, "rpm")[r] != 5000 {
						continue
					}

					k := slices.Index(spectra.Column("recording").Strings, trip.Column("recording").Strings[r])

					sum := 0.0
					for j := 1; j < len(power[k]); j++ {
						sum += (float64(power[k][j]) + float64(power[k+1][j])) / 3
					}

					found = near(m.num["y"][i], level(sum), 1e-9)
				}

				if !found {
					t.Errorf("%s at %v°: %v dB is not in the spectra", m.series, theta, m.num["y"][i])
				}
			}
		}

		if points != 2*9 { // a line and its points; three blade counts, three angles
			t.Errorf("%d points", points)
		}
	})

	t.Run("drift", func(t *testing.T) {
		runs := slices.Compact(slices.Clone(trip.Column("run").Strings)) // rows of a run lie together
		compared := 0

		outcome := 0
		for _, m := range figure("drift") {
			if m.series == "" {
				continue // the line at zero
			}

			outcome++
			name := "bpf" + strconv.Itoa(outcome) + "_db"
			for i, x := range m.num["x"] {
				var v []float64
				for r, run := range trip.Column("run").Strings {
					if run == runs[int(x)-1] {
						v = append(v, col(trip, name+"_2")[r]-col(trip, name+"_1")[r])
					}
				}

				mean, square := 0.0, 0.0
				for _, d := range v {
					mean += d / float64(len(v))
				}

				for _, d := range v {
					square += (d - mean) * (d - mean)
				}

				se := math.Sqrt(square/float64(len(v)-1)) / math.Sqrt(float64(len(v)))
				compared++

				if !near(m.num["y"][i], mean, 1e-9) || !near(m.num["hi"][i]-m.num["y"][i], se, 1e-6) {
					t.Errorf("%s of run %v: %v ± %v, want %v ± %v", name, x, m.num["y"][i], m.num["hi"][i]-m.num["y"][i], mean, se)
				}
			}
		}

		if compared != 2*6 {
			t.Errorf("%d runs compared", compared)
		}
	})

	var pred []*table.Table
	for _, seed := range []string{"seed-0", "seed-1"} {
		pred = append(pred, read("splits/3-blades/"+seed+"/predictions.arrow"))
	}

	t.Run("parity", func(t *testing.T) {
		compared, outcome := 0, ""
		for _, m := range figure("3-blades-parity") {
			held := strings.HasPrefix(m.series, "held out, RMSE ")
			if m.series != "trained on" && !held {
				continue
			}

			outcome = "bpf" + m.panel[len(m.panel)-1:] + "_db"
			for i, mu := range m.num["x"] {
				compared++

				found := false
				for r := range trip.Rows() {
					want := (col(pred[0], outcome+"_mu")[r] + col(pred[1], outcome+"_mu")[r]) / 2
					y := (col(trip, outcome+"_1")[r] + col(trip, outcome+"_2")[r]) / 2
					test := pred[0].Column("set").Strings[r] == "test"
					found = found || near(mu, want, 1e-9) && near(m.num["y"][i], y, 1e-9) && held == test
				}

				if !found {
					t.Errorf("%s, %s: (%v, %v) is no row of predictions.arrow", outcome, m.series, mu, m.num["y"][i])
				}
			}
		}

		if compared != 2*18 {
			t.Errorf("%d points compared", compared)
		}
	})

	t.Run("calibration", func(t *testing.T) {
		compared := 0
		for _, m := range figure("3-blades-calibration") {
			set := map[string]string{
				"training pairs, mean and range over seeds": "train",
				"held-out pairs, mean and range over seeds": "test",
			}[m.series]

			for i, nominal := range m.num["x"] {
				if set == "" {
					break
				}

				var of []float64
				for _, p := range pred {
					in, all := 0.0, 0.0
					for _, o := range []string{"bpf1_db", "bpf2_db"} {
						for r := range p.Rows() {
							if p.Column("set").Strings[r] != set {
								continue
							}

							limit := math.Sqrt2 * math.Erfinv(nominal) * math.Sqrt(col(p, o+"_var")[r])
							for _, h := range []string{"_1", "_2"} {
								all++
								if math.Abs(col(p, o+h)[r]-col(p, o+"_mu")[r]) <= limit {
									in++
								}
							}
						}
					}

					of = append(of, in/all)
				}

				compared++

				if !near(m.num["y"][i], (of[0]+of[1])/2, 1e-12) || m.num["lo"][i] != min(of[0], of[1]) ||
					m.num["hi"][i] != max(of[0], of[1]) {
					t.Errorf("%s within %v: %v from %v to %v, want the mean of %v", set, nominal, m.num["y"][i], m.num["lo"][i],
						m.num["hi"][i], of)
				}
			}
		}

		if compared < 2*20 {
			t.Errorf("%d compared", compared)
		}
	})

	t.Run("map", func(t *testing.T) {
		compared := 0
		for _, m := range figure("3-blades-map") {
			if m.series == "√C" || m.series == "error" {
				continue
			}

			for i := range m.num["x"] {
				compared++

				found := false
				for r := range trip.Rows() {
					held := pred[0].Column("set").Strings[r] == "test"
					if held != (m.series == "simulated, held out") {
						continue
					}

					v := []float64{col(trip, "blades")[r], col(trip, "rpm")[r], col(trip, "theta_deg")[r]}
					found = found || slices.Contains(v, m.num["x"][i]) && slices.Contains(v, m.num["y"][i])
				}

				if !found {
					t.Errorf("%s, %s: nothing was measured at (%v, %v)", m.panel, m.series, m.num["x"][i], m.num["y"][i])
				}
			}
		}

		if compared < 6 {
			t.Errorf("%d conditions are drawn in", compared)
		}
	})
}

// closeRotor is a campaign whose conditions lie so close together that the grid
// of the uncertainty map (whole numbers, where there are few of them) is the
// list of measured conditions: every cell has its rows in predictions.arrow.
const closeRotor = `version: 1
workdir: runs
kernels: portable
experiments:
  drone:
    ingest: {simulate: {campaign: rotor, seed: 5, blades: [2, 3, 4], rpm: [5000, 5001, 5002],
      theta_deg: [-2, -1, 0, 1, 2], duration_s: 1}}
    dsp: {triplets: split-half-spectrum, harmonics: 2}
    train:
      inputs: [blades, rpm, theta_deg]
      model: {hidden: [8]}
      optimizer: {epochs: 12}
      seeds: 2
      splits: {3-blades: {test: {blades: 3}}}
`

// TestMapAndBinsReadBack works out every cell of the uncertainty map and every
// bin of the covariance against the measured error, with its error bar, from
// predictions.arrow and triplets.arrow alone, and compares them with the SVG. The
// definitions are written out here: √C of the mean of C over
// seeds; e = (y1 − μ)(y2 − μ) in units of the training pairs' deviation; bins of
// equal count by C; the standard error of a bin's mean clustered by run,
// se² = G/(G − 1)·Σ(S_g − n_g·mean)²/N².
func TestMapAndBinsReadBack(t *testing.T) {
	dir, read, col := runDrone(t, closeRotor, 2)
	trip := read("triplets.arrow")
	pred := []*table.Table{
		read("splits/3-blades/seed-0/predictions.arrow"),
		read("splits/3-blades/seed-1/predictions.arrow"),
	}

	// Sums in another order; C of the map is worked out in batches of another size.
	near := func(a, b float64) bool {
		return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-5*math.Abs(b)
	}

	t.Run("map", func(t *testing.T) {
		blades, rpm, theta := col(trip, "blades"), col(trip, "rpm"), col(trip, "theta_deg")
		cells, positive, errors := 0, 0, 0

		panels := map[string]bool{}
		for _, m := range marks(t, filepath.Join(dir, "runs/drone/report/figures/3-blades-map.svg")) {
			found := m.series == "error"
			if m.series != "√C" && !found {
				continue
			}

			panels[m.panel] = true
			byBlades := slices.Max(m.num["y"]) < 10 // else the second axis is the speed
			for i, z := range m.num["z"] {
				// The third condition is in the middle of the held-out ones.
				at := [3]float64{3, m.num["y"][i], m.num["x"][i]}
				if byBlades {
					at = [3]float64{m.num["y"][i], 5001, m.num["x"][i]}
				}

				rows, c, distance := 0, 0.0, 0.0
				for r := range trip.Rows() {
					if [3]float64{blades[r], rpm[r], theta[r]} == at {
						rows++
						c += (col(pred[0], "bpf1_db_cov")[r] + col(pred[1], "bpf1_db_cov")[r]) / 2
						mu := (col(pred[0], "bpf1_db_mu")[r] + col(pred[1], "bpf1_db_mu")[r]) / 2
						distance = math.Abs((col(trip, "bpf1_db_1")[r]+col(trip, "bpf1_db_2")[r])/2 - mu)
					}
				}

				if rows != 1 {
					t.Fatalf("%d rows at %v", rows, at)
				}

				if found {
					if errors++; !near(z, distance) {
						t.Errorf("%s at %v: error %v, the table's %v", m.panel, at, z, distance)
					}
					continue
				}

				cells++

				want := math.NaN() // C ≤ 0: no interval
				if c > 0 {
					positive++
					want = math.Sqrt(c)
				}

				if !near(z, want) {
					t.Errorf("%s at %v: √C is %v, the table's %v", m.panel, at, z, want)
				}
			}
		}

		if len(panels) != 4 || cells != 30 || errors != 30 || positive < 10 {
			t.Errorf("%d panels, %d cells, %d of them with C > 0, %d errors", len(panels), cells, positive, errors)
		}
	})

	t.Run("bins", func(t *testing.T) {
		type value struct {
			c, e float64
			run  string
		}

		type bin struct{ c, e, se float64 }
		outcomes := []string{"bpf1_db", "bpf2_db"}

		var want []bin
		for _, p := range pred {
			set := p.Column("set").Strings

			var all []value
			for _, o := range outcomes {
				y1, y2, mu, cov := col(trip, o+"_1"), col(trip, o+"_2"), col(p, o+"_mu"), col(p, o+"_cov")

				// The deviation of the training pairs' values, both of every pair.
				n, mean, square := 0.0, 0.0, 0.0
				for r := range trip.Rows() {
					if set[r] == "train" {
						n, mean = n+2, mean+y1[r]+y2[r]
					}
				}

				mean /= n
				for r := range trip.Rows() {
					if set[r] == "train" {
						square += (y1[r]-mean)*(y1[r]-mean) + (y2[r]-mean)*(y2[r]-mean)
					}
				}

				for r := range trip.Rows() {
					if set[r] == "test" {
						all = append(all, value{
							cov[r] * n / square, (y1[r] - mu[r]) * (y2[r] - mu[r]) * n / square,
							trip.Column("run").Strings[r],
						})
					}
				}
			}

			if len(all) != 30 {
				t.Fatalf("%d held-out values", len(all))
			}

			// Six bins of five; no two values of C are equal.
			slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.c, b.c) })

			for k := 0; k < 30; k += 5 {
				var b bin
				for _, v := range all[k : k+5] {
					b.c, b.e = b.c+v.c/5, b.e+v.e/5
				}

				residual := map[string]float64{} // S_g − n_g·mean
				for _, v := range all[k : k+5] {
					residual[v.run] += v.e - b.e
				}

				for _, s := range residual {
					b.se += s * s
				}

				g := float64(len(residual))
				b.se = math.Sqrt(b.se*g/(g-1)) / 5
				if g < 2 {
					b.se = 0 // unknown, no bar
				}

				want = append(want, b)
			}
		}

		var got mark
		for _, m := range marks(t, filepath.Join(dir, "runs/drone/report/figures/3-blades-calibration.svg")) {
			if strings.HasPrefix(m.series, "bins of C") {
				got = m
			}
		}

		if len(got.num["x"]) != len(want) {
			t.Fatalf("%d bins, want %d", len(got.num["x"]), len(want))
		}

		bars, low := 0, math.Inf(1)
		for _, b := range want {
			for _, v := range []float64{b.c, b.e} {
				if v > 0 {
					low = math.Min(low, v)
				}
			}
		}

		for i, b := range want {
			lo, hi := got.num["lo"][i], got.num["hi"][i]
			if !near(got.num["x"][i], b.c) || !near(got.num["y"][i], b.e) || !near(hi, b.e+2*b.se) {
				t.Errorf("bin %d: C %v, e %v up to %v, want %v, %v up to %v", i, got.num["x"][i], got.num["y"][i], hi, b.c, b.e,
					b.e+2*b.se)
			}

			// A bar that reaches zero or below leaves a logarithmic panel downwards.
			if d := b.e - 2*b.se; !near(lo, d) && (d > 0 || lo <= 0 || lo >= low) {
				t.Errorf("bin %d: the bar begins at %v, want %v", i, lo, d)
			}

			if hi > got.num["y"][i] {
				bars++
			}
		}

		if bars < len(want)/2 {
			t.Errorf("%d bars", bars)
		}
	})
}

// runConfig runs a configuration in a folder.
func runConfig(t *testing.T, dir, yaml string, o engine.Options) {
	t.Helper()

	if err := pipelinetest.Run(dir, map[string]string{"pipeline.yaml": yaml}, o); err != nil {
		t.Fatal(err)
	}
}

// runDrone runs a configuration with one experiment, drone, in a folder of its
// own. read opens a table of the results, col takes a column of numbers from it.
func runDrone(t *testing.T, yaml string, jobs int) (dir string, read func(name string) *table.Table,
	col func(tab *table.Table, name string) []float64,
) {
	t.Helper()
	dir = t.TempDir()
	runConfig(t, dir, yaml, engine.Options{Jobs: jobs})
	read = func(name string) *table.Table { return readTable(t, dir, "runs/drone", name) }
	col = func(tab *table.Table, name string) []float64 { return column(t, tab, name) }

	return dir, read, col
}
