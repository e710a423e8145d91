package scaffold

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decision is a simulated folder on which init once decided wrongly without a word, or a sibling of one. Why each text
// is expected follows from the folder: the person who made it knows which rows are two measurements of one condition.
type decision struct {
	name  string
	make  func(rng *rand.Rand, f folder)
	wants []string // parts of the configuration, or of the notes
	not   []string
	err   string // part of what check says; "": the configuration is valid
}

// decide runs init on the folder of each decision, and compares its configuration and its messages.
func decide(t *testing.T, decisions []decision) {
	t.Helper()

	for k, c := range decisions {
		t.Run(c.name, func(t *testing.T) {
			f := folder{}
			c.make(rand.New(rand.NewPCG(68, uint64(k))), f)
			dir := t.TempDir()
			for name, b := range f {
				write(t, dir, name, string(b))
			}

			r, err := Look(dir)
			require.NoError(t, err)

			said := r.YAML + r.Conditions + strings.Join(r.Notes, "\n")
			contains(t, said, c.wants...)
			for _, text := range c.not {
				assert.NotContains(t, said, text)
			}

			_, err = checked(t, dir, r, r.YAML)
			if c.err == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.err)
			}
		})
	}
}

// results adds a table of results: rows of a run number, an angle, further cells, and two outcomes. cells has the
// further cells of each row of one run and angle.
func results(rng *rand.Rand, f folder, head string, runs int, cells ...string) {
	f.text("results.csv", "%s,CL,CD\n", head)
	for run := range runs {
		for alpha := range 6 {
			for _, cell := range cells {
				row := strings.NewReplacer("RUN", fmt.Sprint(run+1), "ALPHA", fmt.Sprint(2*alpha)).Replace(cell)
				lift := 0.1*float64(alpha) + 0.01*rng.NormFloat64()
				f.text("results.csv", "%s,%.4f,%.4f\n", row, lift, 0.02+0.001*rng.NormFloat64())
			}
		}
	}
}

// polars adds a table of results with six angles for each name, separated by blanks.
func polars(rng *rand.Rand, f folder, names string) {
	for _, name := range strings.Fields(names) {
		f.text(name, "alpha,CL\n")
		for alpha := range 6 {
			f.text(name, "%d,%.4f\n", 2*alpha, 0.1*float64(alpha)+0.01*rng.NormFloat64())
		}
	}
}

// noPairs is the end of what check says of a table in which no row has a repeat.
const noPairs = "found none among"

// toFillIn is a part of what check says if init asks people for a setting. Rows at several angles that no column tells
// apart are not samples in time either: init cannot configure them until people decide.
const toFillIn = "is to be filled in"

// Rows of one run before and after a correction are not two measurements: no pair has one of each. The
// configuration has the column of the run that the message of init names.
func TestCorrectedRowsAreNoRepeats(t *testing.T) {
	asThing := func(head, first, second string) decision {
		return decision{
			name: fmt.Sprintf("two runs, %s %s and %s", head, first, second),
			make: func(rng *rand.Rand, f folder) {
				results(rng, f, "run,alpha,"+head, 2, "RUN,ALPHA,"+first, "RUN,ALPHA,"+second)
			},
			wants: []string{
				`things: ["` + head + `"]`, `run: "run"`, "results.csv: run (it numbers the rows): run", "exclude one kind",
			},
		}
	}

	// besideOthers is files of one run at each speed: some names have a word of a correction, and the others none.
	besideOthers := func(names string) decision {
		return decision{
			name: names, make: func(rng *rand.Rand, f folder) { polars(rng, f, names) },
			wants: []string{`things: ["thing"]`, "no row has a repeat", ",other\n"}, not: []string{"variant"}, err: noPairs,
		}
	}

	decide(t, []decision{
		asThing("correction", "corrected", "uncorrected"), asThing("type", "raw", "corr"), asThing("corrected", "0", "1"),
		asThing("corrected", "yes", "no"), asThing("state", "roh", "korrigiert"), asThing("data", "brut", "corrigé"),
		asThing("kind", "RAW", "CORR"), asThing("data", "grezzo", "corretto"), asThing("wall corr", "1", "0"),
		asThing("signal", "raw", "filtered"), asThing("type", "uncorr", "corr"), asThing("rows", "raw", "processed"),
		{
			name: "a column whose name the program's tables have",
			make: func(rng *rand.Rand, f folder) {
				results(rng, f, "run,alpha,set", 2, "RUN,ALPHA,raw", "RUN,ALPHA,processed")
			},
			wants: []string{"set: the program's tables have a column of that name: rename it"}, not: []string{"repeats: ["},
			err: toFillIn,
		},
		{
			name: "one run, a raw and a corrected row of each angle",
			make: func(rng *rand.Rand, f folder) {
				results(rng, f, "run,alpha,state", 1, "RUN,ALPHA,raw", "RUN,ALPHA,corr")
			},
			wants: []string{`things: ["state"]`, "no row has a repeat"}, not: []string{"across"}, err: noPairs,
		},
		{
			name: "one run, a flag of the correction",
			make: func(rng *rand.Rand, f folder) {
				results(rng, f, "alpha,corrected", 1, "ALPHA,0", "ALPHA,1")
			},
			wants: []string{`things: ["corrected"]`, "no row has a repeat"}, err: noPairs,
		},
		{
			name:  "no column tells the two rows of a run apart",
			make:  func(rng *rand.Rand, f folder) { results(rng, f, "run,alpha", 2, "RUN,ALPHA", "RUN,ALPHA") },
			wants: []string{`run: "run"`, "run (some runs have several rows of equal inputs, which are no repeats"},
		},
		{
			name:  "the same in German, one run",
			make:  func(rng *rand.Rand, f folder) { results(rng, f, "Versuch,alpha", 1, "ALPHA,ALPHA", "ALPHA,ALPHA") },
			wants: []string{`run: "Versuch"`, "no row has a repeat"}, err: noPairs,
		},
		{
			name:  "names of runs with and without an ending",
			make:  func(rng *rand.Rand, f folder) { results(rng, f, "run,alpha", 1, "RALPHA,ALPHA", "RALPHA_corr,ALPHA") },
			wants: []string{"run: values of one run before and after a correction are no repeats"}, not: []string{"repeats: ["},
			err: toFillIn,
		},
		{
			name: "names of runs with two endings",
			make: func(rng *rand.Rand, f folder) {
				results(rng, f, "id,alpha", 1, "RALPHA-raw,ALPHA", "RALPHA-corr,ALPHA")
			},
			wants: []string{"id: values of one run before and after a correction are no repeats"}, not: []string{"repeats: ["},
			err: toFillIn,
		},
		{
			name: "files of two runs",
			make: func(rng *rand.Rand, f folder) {
				polars(rng, f, "run1_raw.csv run1_corr.csv run2_raw.csv run2_corr.csv")
			},
			wants: []string{`things: ["thing"]`, `run: "file"`, "exclude one kind"},
		},
		{
			name: "folders of two runs",
			make: func(rng *rand.Rand, f folder) {
				polars(rng, f, "corrected/run1.csv corrected/run2.csv uncorrected/run1.csv uncorrected/run2.csv")
			},
			wants: []string{`things: ["thing"]`, `run: "file"`, "exclude one kind"},
		},
		{
			name:  "files of one run",
			make:  func(rng *rand.Rand, f folder) { polars(rng, f, "polar_raw.csv polar_corr.csv") },
			wants: []string{`things: ["thing"]`, "no row has a repeat"}, err: noPairs,
		},
		besideOthers("u10.csv u10_corr.csv u20.csv u20_corr.csv"), besideOthers("u10_raw.csv u10.csv u20.csv u20_raw.csv"),
		besideOthers("a5.csv a5_uncorrected.csv a10.csv a10_uncorrected.csv"), besideOthers("polar.csv polar_corr.csv"),
		besideOthers("uncorr/u10.csv u10.csv uncorr/u20.csv u20.csv"), besideOthers("u10.csv u10-filtered.csv"),
		{
			name: "files of two runs at two speeds, of which one kind has no word",
			make: func(rng *rand.Rand, f folder) {
				polars(rng, f, "u10_1.csv u10_1_corr.csv u10_2.csv u10_2_corr.csv")
				polars(rng, f, "u20_1.csv u20_1_corr.csv u20_2.csv u20_2_corr.csv")
			},
			wants: []string{`things: ["thing"]`, `run: "file"`, "u20_2.csv,20,other", "u20_2_corr.csv,20,corr"},
			not:   []string{"variant"},
		},
		{
			name: "a column beside the outcome is an outcome",
			make: func(rng *rand.Rand, f folder) {
				results(rng, f, "run,alpha,CL_corr", 2, "RUN,ALPHA,0.ALPHA1")
			},
			wants: []string{`run: "run"`, `inputs: ["alpha"]`}, not: []string{"things: ["},
		},
		{
			name: "points of runs are no runs",
			make: func(rng *rand.Rand, f folder) {
				results(rng, f, "point,alpha", 2, "ALPHA,ALPHA")
			},
			wants: []string{`inputs: ["alpha"]`}, not: []string{"run: \"", "no row has a repeat"},
		},
		{
			name: "a log of recordings",
			make: func(rng *rand.Rand, f folder) {
				f.text("log.csv", "file,run,alpha\n")
				for i := range 8 {
					f[fmt.Sprintf("x%d.wav", i)] = wav(rng, second, 2*second)
					f.text("log.csv", "x%d.wav,%d,%d\n", i, i/2, 5*(i/2))
				}
			},
			wants: []string{"run (some runs have several rows of equal inputs"}, not: []string{"triplets: repeats"},
			err: toFillIn,
		},
	})
}

// tapRows adds a table of pressures at 30 taps, in steps of 0.05, at the given angles, which scatter by ± scatter.
func tapRows(rng *rand.Rand, f folder, head string, scatter float64, angles ...float64) {
	f.text("taps.csv", "%s", head)
	for k := range 30 {
		f.text("taps.csv", ",P%03d", k+1)
	}

	for _, angle := range angles {
		f.text("taps.csv", "\n%.3f", angle+scatter*(2*rng.Float64()-1))
		for k := range 30 {
			f.text("taps.csv", ",%.2f", 0.05*float64(k+int(angle/4)+rng.IntN(2)))
		}
	}
}

// sweep returns n angles in even steps from a first one.
func sweep(first, step float64, n int) (angles []float64) {
	for i := range n {
		angles = append(angles, first+step*float64(i))
	}

	return angles
}

// Taps whose coarse values repeat are measured, and angles that scatter about round numbers have set points even if
// few are repeated. Without that, a tap would be the only input of the table.
func TestTapsAreNoInputs(t *testing.T) {
	table := func(name, within string, make func(rng *rand.Rand, f folder), more ...string) decision {
		return decision{
			name: name, make: make, not: []string{`inputs: ["P`, `, "P001"] #`},
			wants: append(more, `repeats: ["P001", "P002", "P003"`, `within: {`+within+`}`),
		}
	}

	decide(t, []decision{
		table("few angles are repeated", `"Alpha": 0.01`, func(rng *rand.Rand, f folder) {
			tapRows(rng, f, "Alpha", 0.006, append(sweep(-10, 1, 36), 0, 5, 10)...)
		}),
		table("all angles are repeated", `"Alpha": 0.01`, func(rng *rand.Rand, f folder) {
			tapRows(rng, f, "Alpha", 0.006, append(sweep(-10, 1, 36), sweep(-10, 1, 36)...)...)
		}),
		table("steps of a half", `"AoA": 0.01`, func(rng *rand.Rand, f folder) {
			tapRows(rng, f, "AoA", 0.006, append(sweep(-4, 0.5, 40), 1, 2)...)
		}),
		table("two steps", `"alpha": 0.02`, func(rng *rand.Rand, f folder) {
			tapRows(rng, f, "alpha", 0.015, append(append(sweep(-10, 5, 5), sweep(12, 1, 9)...), 0, 5)...)
		}),
		table("speeds", `"U_m_s": 0.2`, func(rng *rand.Rand, f folder) {
			tapRows(rng, f, "U_m_s", 0.15, append(sweep(5, 5, 10), 10, 20)...)
		}),
		{
			name: "no angle is repeated",
			make: func(rng *rand.Rand, f folder) { tapRows(rng, f, "Alpha", 0.006, sweep(-10, 1, 36)...) },
			wants: []string{
				`inputs: ["Alpha"]`, "no row has a repeat", "36 set points, within 0.01",
			},
			err: noPairs,
		},
		{
			name: "angles about no round number",
			make: func(rng *rand.Rand, f folder) { tapRows(rng, f, "Alpha", 0.3, sweep(-4, 2, 18)...) },
			wants: []string{
				"too few rows that repeat Alpha", `inputs: ["Alpha"]`, "no row has a repeat",
			},
			err: noPairs,
		},
		{
			name: "in a log of recordings",
			make: func(rng *rand.Rand, f folder) {
				f.text("log.csv", "file,Alpha,P001,P002,P003,P004\n")
				for i := range 24 {
					f[fmt.Sprintf("x%d.wav", i)] = wav(rng, second, 2*second)
					f.text("log.csv", "x%d.wav,%.3f,%d,%d,%d,%d\n", i, float64(i%12)+0.01*rng.Float64(), i%6, i%7, i%8, i%5)
				}
			},
			wants: []string{"inputs: [alpha_deg]"}, err: toFillIn,
		},
	})
}

// Rows without a repeat make no pair. The network does not take an input that only they vary, and no split holds out
// their values.
func TestHeldOutValuesHaveRepeats(t *testing.T) {
	// grid adds a table with rows of each speed, and the given repeats at each of 8 angles, or at one angle.
	grid := func(head string, repeatsAt map[int]int) func(rng *rand.Rand, f folder) {
		return func(rng *rand.Rand, f folder) {
			f.text("results.csv", "%s,alpha,CL\n", head)
			for _, u := range []int{10, 15, 20, 25, 30} {
				for alpha := range 8 {
					if repeatsAt[u] == 0 && alpha != 4 {
						continue
					}

					for range max(repeatsAt[u], 1) {
						f.text("results.csv", "%d,%d,%.4f\n", u, 2*alpha, 0.1*float64(alpha)+0.01*rng.NormFloat64())
					}
				}
			}
		}
	}

	fixed := func(head string) []string {
		return []string{
			head + ": no input of the network", "inputs: [alpha]", `inputs: ["` + head, "held-out: {test: {alpha: ",
		}
	}

	decide(t, []decision{
		{name: "one speed is repeated", make: grid("U", map[int]int{20: 3}), wants: fixed("U")},
		{name: "one shaft speed is repeated", make: grid("rpm", map[int]int{30: 2}), wants: fixed("rpm")},
		{name: "one flap is repeated", make: grid("flap", map[int]int{10: 4}), wants: fixed("flap")},
		{
			name: "two speeds are repeated", make: grid("U", map[int]int{10: 2, 30: 2}),
			wants: []string{"inputs: [U, alpha]", "held-out: {test: {alpha: "}, not: []string{"no input of the network"},
		},
		{
			name: "three speeds are repeated", make: grid("U", map[int]int{10: 2, 20: 2, 30: 2}),
			wants: []string{"inputs: [U, alpha]", "held-out: {test: {U: 20}}"},
		},
		{
			name: "days, and one speed on both", make: func(rng *rand.Rand, f folder) {
				f.text("results.csv", "day,U,alpha,CL\n")
				for i := range 16 {
					f.text("results.csv", "2024-05-0%d,20,%d,%.4f\n", 1+i/8, 2*(i%8), rng.NormFloat64())
				}

				f.text("results.csv", "2024-05-01,10,4,0.2\n2024-05-02,30,4,0.2\n")
			},
			wants: append(fixed("U"), `across: "day"`),
		},
		{
			name: "a log, and one speed is repeated", make: func(rng *rand.Rand, f folder) {
				f.text("log.csv", "file,U_m_s,alpha\n")
				for i := range 14 {
					f.text(fmt.Sprintf("r%02d.txt", i), "time,Fx_N,Fz_N\n")
					for k := range 60 {
						f.text(fmt.Sprintf("r%02d.txt", i), "%.2f,%.4f,%.4f\n", 0.02*float64(k), rng.NormFloat64(), rng.NormFloat64())
					}

					f.text("log.csv", "r%02d.txt,%d,%d\n", i, []int{20, 20, 20, 20, 20, 20, 10}[i%7]+20*(i/13), 2*(i%7))
				}
			},
			wants: []string{"U_m_s: no input of the network", "inputs: [alpha_deg]"},
		},
	})
}

// Files whose names differ in a letter or a word are of different things: they are named, or no row has a repeat. A
// letter behind a word of runs counts runs.
func TestLettersAreThings(t *testing.T) {
	apart := func(names string) decision { // each name has its angles once
		return decision{
			name: names, make: func(rng *rand.Rand, f folder) { polars(rng, f, names) },
			wants: []string{`things: ["thing"`, "no row has a repeat"}, err: noPairs,
		}
	}

	repeated := func(names string) decision { // the numbers at the end count runs
		return decision{
			name: names, make: func(rng *rand.Rand, f folder) { polars(rng, f, names) },
			wants: []string{`things: ["thing"`, `run: "file"`},
		}
	}

	ofRuns := func(names string) decision {
		return decision{
			name: names, make: func(rng *rand.Rand, f folder) { polars(rng, f, names) },
			wants: []string{`run: "file"`}, not: []string{"things: ["},
		}
	}

	// hidden is a folder in which only some names state something, so that its rows are not results.
	hidden := func(names string) decision {
		return decision{
			name: names, make: func(rng *rand.Rand, f folder) { polars(rng, f, names) },
			wants: []string{"too few rows that repeat"}, not: []string{"repeats: ["}, err: toFillIn,
		}
	}

	decide(t, []decision{
		apart("A_10deg_1.csv B_10deg_1.csv"), apart("A_10deg.csv B_10deg.csv"), apart("A10deg.csv B10deg.csv"),
		apart("10deg_A.csv 10deg_B.csv"), apart("A_10.csv B_10.csv"), apart("A10.csv B10.csv"), apart("N_10.csv W_10.csv"),
		apart("A_u10.csv B_u10.csv A_u20.csv B_u20.csv"), apart("u10_A.csv u10_B.csv u20_A.csv u20_B.csv"),
		apart("m3u_u10.csv m3_u10.csv m3u_u20.csv m3_u20.csv"), apart("u10_m3u.csv u10_m3.csv u20_m3u.csv u20_m3.csv"),
		apart("A-u10.csv B-u10.csv A-u20.csv B-u20.csv"), apart("W1_u10.csv W1b_u10.csv W1_u20.csv W1b_u20.csv"),
		apart("U10.csv U20.csv V10.csv V20.csv"), apart("a_10.csv b_10.csv"), apart("C_10deg.csv D_10deg.csv"),
		apart("u10L.csv u10R.csv"), apart("APC_x.csv GWS_y.csv"), apart("wing_up.csv wing_down.csv"),
		repeated("A_u10_1.csv A_u10_2.csv A_u20_1.csv A_u20_2.csv B_u10_1.csv B_u10_2.csv B_u20_1.csv B_u20_2.csv"),
		repeated("m3u_u5_1.csv m3u_u5_2.csv m3u_u9_1.csv m3u_u9_2.csv m3_u5_1.csv m3_u5_2.csv m3_u9_1.csv m3_u9_2.csv"),
		ofRuns("sweep_a.csv sweep_b.csv"), ofRuns("sweep5a.csv sweep5b.csv"), ofRuns("run_A.csv run_B.csv"),
		ofRuns("1.csv 2.csv"),
		hidden("10deg.csv u10deg.csv"), hidden("5.csv 10.csv"),
	})
}
