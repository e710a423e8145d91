package scaffold

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/pipeline"
	"doubletake/pipeline/config"
)

// answers are what a person fills in, by key: facts that no file of the folders states.
var answers = []struct {
	key   *regexp.Regexp
	value string
}{
	{regexp.MustCompile(`(blades: )` + config.FillIn), "5"},
	{regexp.MustCompile(`(rate_hz: )` + config.FillIn), "48000"},
	{regexp.MustCompile(`(calibration: )` + config.FillIn), "{unit: full-scale}"},
	{regexp.MustCompile(`(level_db: )` + config.FillIn), "94"},
	{regexp.MustCompile(`(full_scale_v: )` + config.FillIn), "10"},
	{regexp.MustCompile(`(range_hz: )` + config.FillIn), "[40, 70]"},
}

// fillIn answers what a configuration asks for, and counts the edits.
func fillIn(yaml string) (_ string, edits int) {
	for _, a := range answers {
		edits += len(a.key.FindAllString(yaml, -1))
		yaml = a.key.ReplaceAllString(yaml, "${1}"+a.value)
	}

	return yaml, edits
}

// wav returns a recording of noise with random numbers of rng, or of a tone if rng is nil.
func wav(rng *rand.Rand, rate, samples int) []byte {
	x := make([]int16, samples)
	for i := range x {
		if rng == nil {
			x[i] = int16(9000 * math.Sin(0.77*float64(i)))
		} else {
			x[i] = int16(3000 * rng.NormFloat64())
		}
	}

	w := ingesttest.PCM16(1, x...)
	w.Rate, w.RIFF = uint32(rate), uint32(36+len(w.Data))

	return w.Bytes()
}

// folder is what a generator writes: file names and contents.
type folder map[string][]byte

// text appends a text to a file.
func (f folder) text(name, format string, args ...any) {
	f[name] = append(f[name], fmt.Sprintf(format, args...)...)
}

// utf16LE returns a text in UTF-16 with its mark, as Windows writes it.
func utf16LE(s []byte) []byte {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(string(s))) {
		b = append(b, byte(u), byte(u>>8))
	}

	return b
}

// comma writes a number with a decimal comma.
func comma(v float64, digits int) string {
	return strings.Replace(fmt.Sprintf("%.*f", digits, v), ".", ",", 1)
}

// jitter returns a speed as a motor keeps it: within 0.3 % of its set point v.
func jitter(rng *rand.Rand, v float64) float64 { return v * (1 + 0.003*(2*rng.Float64()-1)) }

const second = 8192 // samples of the recordings

// logged writes 12 recordings, whose names have their numbers from 1 in place of the verb of name. It calls row for
// each with its index and its speed in 1/min.
func logged(rng *rand.Rand, f folder, name string, row func(i int, rpm float64)) {
	for i := range 12 {
		f[fmt.Sprintf(name, i+1)] = wav(rng, second, 4*second)
		row(i, 1800+600*float64(i%4))
	}
}

// Folders in the shapes of real ones, all simulated.
var folders = []struct {
	name  string
	edits int // values that the configuration asks people for
	make  func(rng *rand.Rand, f folder)
	wants []string // parts of the configuration
	not   []string // texts that no setting of the configuration has
}{
	{
		name: "fan rig with a German log", edits: 2,
		make: func(rng *rand.Rand, f folder) {
			f.text("Protokoll.csv", "Messprotokoll L\xfcfter;;;;\r\n;;;;\r\n"+
				"Nr.;Aufnahme;Drehzahl [1/min];Temperatur [\xb0C];Bemerkung\r\n")
			logged(rng, f, "lauf_%02d.wav", func(i int, rpm float64) {
				f.text("Protokoll.csv", "%d;lauf_%02d;%s;%s;\r\n", i+1, i+1, comma(jitter(rng, rpm), 1), comma(20+rng.Float64(), 2))
			})
		},
		wants: []string{
			`conditions: "Protokoll.csv"`, `log: {columns: {rpm: "Drehzahl"}, ignore: ["Nr.", "Temperatur"]}`,
			"inputs: [rpm]", "triplets: repeats",
			`within: {"rpm": 0.5 %} # rpm: 4 set points, ± 0.`, "blades: FILL_IN",
		},
	},
	{
		name: "English log of Excel", edits: 1,
		make: func(rng *rand.Rand, f folder) {
			f.text("mics.csv", "channel,sensitivity_v_per_pa\n1,0.05\n")
			f.text("log.csv", "Fan test 7,,,,\r\nRun,Date,Recording,RPM (set),No. of blades,Power [W]\r\n")
			logged(rng, f, "Rec%d.wav", func(i int, rpm float64) {
				f.text("log.csv", "%d,2026-11-%02d,REC%d.WAV,\"%.0f,%03.0f\",%d,%.2f\r\n", i+1, i+1, i+1, math.Floor(rpm/1000),
					math.Mod(rpm, 1000), 4+i%3, 100*rng.Float64())
			})
		},
		wants: []string{`rpm: "RPM (set)", blades: "No. of blades"`, "inputs: [rpm, blades]", "{full_scale_v: FILL_IN, "},
		not:   []string{"inputs: [rpm, blades, "},
	},
	{
		name: "LabVIEW text with a log as text", edits: 0,
		make: func(rng *rand.Rand, f folder) {
			f.text("log.txt", "File\tDate\tSpeed\tAngle of attack\tRemark\n\t\tm/s\tdeg\t\n")
			for i := range 10 {
				name := fmt.Sprintf("run_%02d.txt", i+1)
				f.text(name, "Time (s)\tFx (N)\tFz (N)\n")
				for k := range 200 {
					f.text(name, "%.3f\t%.4f\t%.4f\n", 0.01*float64(k), rng.NormFloat64(), 5+rng.NormFloat64())
				}

				f.text("log.txt", "%s\t11/%02d/2026\t%d\t%d\t\n", name, i+1, 10+5*(i/5), 2*(i%5))
			}
		},
		wants: []string{
			`log: {columns: {u_inf_m_s: "Speed", alpha_deg: "Angle of attack"}}`, "inputs: [u_inf_m_s, alpha_deg]",
		},
	},
	{
		name: "log in UTF-16 of Notepad, more rows than files", edits: 2,
		make: func(rng *rand.Rand, f folder) {
			f.text("notes.txt", "Datei\tDrehzahl (1/min)\tθ (°)\r\n")
			logged(rng, f, "a%02d.wav", func(i int, rpm float64) {
				f.text("notes.txt", "a%02d\t%s\t%d\r\n", i+1, comma(rpm, 1), 30*(i/4))
			})
			f.text("notes.txt", "a13\t3000\t-\r\n")
			f["notes.txt"] = utf16LE(f["notes.txt"])
		},
		wants: []string{`conditions: "notes.txt"`, `rpm: "Drehzahl"`, "theta_deg", "inputs: [rpm, theta_deg]"},
	},
	{
		name: "five blade counts in the names", edits: 1,
		make: func(rng *rand.Rand, f folder) {
			for i := range 15 {
				f[fmt.Sprintf("B%d_%drpm_rep1.wav", 2+i%5, 2000+1000*(i/5))] = wav(rng, second, 4*second)
			}
		},
		wants: []string{`pattern: "B{blades}_{rpm}rpm_rep1.wav"`, "inputs: [blades, rpm]"},
	},
	{
		name: "balance with a row a run, decimal commas", edits: 0,
		make: func(rng *rand.Rand, f folder) {
			f.text("Ergebnisse.csv", "Versuch;Datum;U [m/s];alpha [deg];Auftrieb [N];Widerstand [N]\r\n")
			for i := range 24 {
				f.text("Ergebnisse.csv", "%d;%02d.11.2026;%s;%s;%s;%s\r\n", i+1, 1+i/4, comma(10+5*float64(i%3), 1),
					comma(2.5*float64(i/3%4), 1), comma(float64(i%12)+0.1*rng.NormFloat64(), 3), comma(1+0.1*rng.NormFloat64(), 4))
			}
		},
		wants: []string{
			`file: ["Ergebnisse.csv"]`, `inputs: ["U", "alpha"]`, `repeats: ["Auftrieb", "Widerstand"]`, `run: "Versuch"`,
			`pairs: {across: "Datum"}`, `each: Datum`,
		},
		not: []string{`"Versuch",`},
	},
	{
		name: "results in Parquet", edits: 0,
		make: func(rng *rand.Rand, f folder) {
			type row struct {
				Run    int64   `parquet:"run"`
				Speed  float64 `parquet:"rpm"`
				Pitch  float64 `parquet:"pitch_deg"`
				Thrust float64 `parquet:"thrust_n"`
			}

			var rows []row
			for i := range 24 {
				rows = append(rows, row{int64(i + 1), 1000 + 500*float64(i%4), 5 * float64(i/4%3), 3 + rng.NormFloat64()})
			}

			var b bytes.Buffer
			_ = parquet.Write(&b, rows)
			f["results.parquet"] = b.Bytes()
		},
		wants: []string{`inputs: ["rpm", "pitch_deg"]`, `repeats: ["thrust_n"]`, `run: "run"`},
		not:   []string{`["run`},
	},
	{
		name: "LabVIEW measurement files", edits: 2,
		make: func(rng *rand.Rand, f folder) {
			for i := range 8 {
				name := fmt.Sprintf("take%d.lvm", i+1)
				f.text(name, "LabVIEW Measurement\nWriter_Version\t2\nReader_Version\t2\nSeparator\tTab\nDecimal_Separator\t.\n"+
					"Multi_Headings\tNo\nX_Columns\tNo\nTime_Pref\tRelative\n***End_of_Header***\t\nChannels\t1\t\nSamples\t%d\t\n"+
					"Delta_X\t%g\t\n***End_of_Header***\t\nX_Value\tmic\tComment\n", second, 1.0/second)
				for range second {
					f.text(name, "\t%.3f\n", rng.NormFloat64())
				}
			}

			f.text("conditions.csv", "file,rpm,date\n") // a spreadsheet's days
			for i := range 8 {
				f.text("conditions.csv", "take%d.lvm,%d,%d\n", i+1, 2000+500*(i%4), 45323+i/4)
			}
		},
		wants: []string{
			`files: ["*.lvm"]`, "inputs: [rpm]", "triplets: repeats", `across: "date"`, `occasions: ["date"]`,
		},
	},
	{
		name: "files that state speeds, which scatter, angles and temperatures", edits: 0,
		make: func(rng *rand.Rand, f folder) {
			for i := range 12 {
				var b bytes.Buffer
				z := zip.NewWriter(&b)
				array := func(name string, v float64, shape ...int) {
					var data []byte
					for range append(shape, 1)[0] {
						data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v+rng.NormFloat64()/100))
					}

					w, _ := z.Create(name + ".npy")
					_, _ = w.Write(ingesttest.NPY("<f8", false, data, shape...))
				}
				array("lift", 1, 300)
				array("U", 10*float64(1+i%3))
				array("alpha", 4*float64(i/3%2))
				array("Tair", 20+float64(i)/10)
				_ = z.Close()
				f[fmt.Sprintf("r%02d.npz", i+1)] = b.Bytes()
			}
		},
		wants: []string{
			`attributes: {U: "U", alpha_deg: "alpha"}`, "inputs: [U, alpha_deg]", `within: {"U": `, `columns: {lift: "lift"}`,
			"#   Tair: remark, by its name a state of the air",
		},
		not: []string{"conditions.csv\" # columns"},
	},
	{
		name: "parts of recordings of a balance, types that begin with numbers, a copy", edits: 0,
		make: func(rng *rand.Rand, f folder) {
			f.text("protocol.txt", "recording\tbegin (s)\tend (s)\tpropeller\trpm_set\trpm_meas\n")
			for i := range 24 {
				f.text("protocol.txt", "sweep%d\t%d\t%d\t%s\t%d\t%.1f\n", i/12, i%12, i%12+1, []string{"1045", "8x4.5"}[i/12],
					2000+1000*(i/3%4), jitter(rng, 2000+1000*float64(i/3%4)))
			}

			for k := range 2 {
				name := fmt.Sprintf("sweep%d.csv", k)
				f.text(name, "time,Fx_N,Fz_N,Trigger\n")
				for i := range 600 {
					f.text(name, "%.2f,%.4f,%.4f,0\n", float64(i)/50, rng.NormFloat64(), rng.NormFloat64())
				}
			}

			f["sweep1 - Copy.csv"] = f["sweep1.csv"]
		},
		wants: []string{
			`conditions: "protocol.txt"`, `log: {columns: {t0_s: "begin", t1_s: "end", rpm: "rpm_set"}`, `things: ["propeller"]`,
			"inputs: [rpm, sweep]", `columns: {drag_n: "Fx_N", lift_n: "Fz_N"}`, `exclude: ["sweep1 - Copy.csv"]`,
			"#   rpm_meas: left out, a measured value of another input",
		},
	},
	{
		name: "arrays without a rate", edits: 2,
		make: func(rng *rand.Rand, f folder) {
			for i := range 6 {
				var data []byte
				for range 4 * second {
					data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(rng.NormFloat64())))
				}

				f[fmt.Sprintf("u%d.npy", 10+5*i)] = ingesttest.NPY("<f4", false, data, 4*second)
			}
		},
		wants: []string{
			`pattern: "u{u_inf_m_s}.npy"`, "rate_hz: FILL_IN", "calibration: FILL_IN", "outcomes: [bands, overall]",
		},
	},
	{
		name: "speeds that jitter in the log, and a broken row", edits: 1,
		make: func(rng *rand.Rand, f folder) {
			f.text("run log.csv", "Name;Blades;rpm;T;Remark\n")
			logged(rng, f, "m_%03d.wav", func(i int, rpm float64) {
				speed := comma(jitter(rng, rpm), 2)
				if i == 7 {
					speed = "#WERT!"
				}

				f.text("run log.csv", "m_%03d;5;%s;%s;\n", i+1, speed, comma(19+rng.Float64(), 2))
			})
		},
		wants: []string{`exclude: ["m_008.wav"]`, `within: {"rpm": 0.5 %}`, "inputs: [rpm]"},
	},
	{
		name: "folders and words for the conditions", edits: 2,
		make: func(rng *rand.Rand, f folder) {
			for i := range 12 {
				f[fmt.Sprintf("%d rpm/mic theta%d/take%d.wav", 2000+1000*(i%3), 30*(i/3), i+1)] = wav(rng, second, 4*second)
			}
		},
		wants: []string{"inputs: [rpm, theta_deg]", "blades: FILL_IN"},
	},
	{
		name: "files without a row, a unit row, a date as a number", edits: 2,
		make: func(rng *rand.Rand, f folder) {
			f.text("mics.csv", "channel,calibrator\n1,tone\n")
			f["cal/tone.wav"] = wav(nil, second, 4*second)
			f.text("table.csv", "# balance hall, 2026\nfilename,date,n_soll,mic angle\n,,1/min,deg\n")
			logged(rng, f, "x%d.wav", func(i int, rpm float64) {
				if i < 10 {
					f.text("table.csv", "x%d.wav,%d,%.1f,%d\n", i+1, 20261101+i, rpm, 20*(i/4))
				}
			})
		},
		wants: []string{`["x11.wav", "x12.wav"]`, `theta_deg: "mic angle"`, "inputs: [rpm, theta_deg]", `"cal/tone.wav"`},
		not:   []string{"theta_deg, "},
	},
}

// What init writes for each folder is valid after at most two edits, all of which it marks. Before them, check refuses
// it.
func TestFolders(t *testing.T) {
	for k, c := range folders {
		t.Run(c.name, func(t *testing.T) {
			f := folder{}
			c.make(rand.New(rand.NewPCG(34, uint64(k))), f)

			dir := t.TempDir()
			for name, b := range f {
				write(t, dir, name, string(b))
			}

			start := time.Now()
			r, err := Look(dir)
			require.NoError(t, err)

			took := time.Since(start)
			contains(t, r.YAML, c.wants...)

			for _, word := range c.not {
				for _, line := range strings.Split(r.YAML, "\n") {
					if setting, _, _ := strings.Cut(line, "#"); strings.Contains(setting, word) {
						t.Errorf("%q in %s", word, line)
					}
				}
			}

			_, err = checked(t, dir, r, r.YAML)
			if c.edits > 0 {
				require.ErrorContains(t, err, "is to be filled in: ")
			} else {
				require.NoError(t, err, "nothing is to be filled in")
			}

			yaml, edits := fillIn(r.YAML)
			require.Equal(t, c.edits, edits, "edits")
			assert.LessOrEqual(t, edits, 2, "edits")

			warnings, err := checked(t, dir, r, yaml)
			assert.NoError(t, err, "%v\n%s", err, yaml)

			t.Logf("%d edits, init took %v; warnings %v", edits, took.Round(time.Millisecond), warnings)
		})
	}
}

// writeInit writes what init found into a folder.
func writeInit(t *testing.T, dir string, r *Result, yaml string) {
	t.Helper()

	write(t, dir, "pipeline.yaml", yaml)
	if r.Conditions != "" {
		write(t, dir, "conditions.csv", r.Conditions)
	}
}

// checked writes a configuration into a folder and runs `pipeline check` on it.
func checked(t *testing.T, dir string, r *Result, yaml string) ([]ingest.Warning, error) {
	t.Helper()

	writeInit(t, dir, r, yaml)

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		return nil, err
	}

	w, err := p.CheckFiles(t.Context())

	return append(p.Warnings, w...), err
}
