package analysis_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/setting"
	"doubletake/ingest/table"
)

// A recording of a rotor of two blades at 3000 1/min has its tone at the blade passing frequency, 100 Hz. The tone has
// half of the full scale, 6 dB below a full-scale sine, in both halves of the recording.
func ExampleRows_AddFile() {
	dir, err := os.MkdirTemp("", "analysis")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "rpm3000.wav")
	if err := os.WriteFile(path, tone(100), 0o644); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	settings := &setting.Campaign{
		Files: []string{"*.wav"}, Pattern: "rpm{rpm}.wav", Constants: []setting.NamedNumber{{Name: "blades", Value: 2}},
	}
	c, err := campaign.Read(ctx, settings, setting.Project{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}

	construction := dsp.DefaultSettings()
	construction.Harmonics = 1
	source := &analysis.Source{
		Source:       campaign.Source{Settings: settings},
		Construction: dsp.Configure(dsp.Find("split-half-spectrum", dsp.Microphones), &construction),
		DSP:          &construction,
		Cells: func(tab *table.Table, run string, rec ingest.Recording) {
			table.AddCell(tab, "rpm", "1/min", "speed of the shaft", rec.Conditions["rpm"])
		},
	}

	rows := analysis.NewRows(source)
	if err := rows.AddFile(ctx, c.Files[0], path, &analysis.FileNotes{}); err != nil {
		log.Fatal(err)
	}

	for _, name := range []string{"rpm", "bpf1_db_1", "bpf1_db_2"} {
		column := rows.Triplets.Column(name)
		fmt.Printf("%s: %.1f %s\n", name, column.Floats[0], column.Unit)
	}
	// Output:
	// rpm: 3000.0 1/min
	// bpf1_db_1: -6.0 dBFS
	// bpf1_db_2: -6.0 dBFS
}

// tone returns a WAV file of one channel with a sine of half of the full scale, of 2 s at 8 kHz.
func tone(hz float64) []byte {
	const rateHz = 8000
	var samples []int16
	for i := range 2 * rateHz {
		samples = append(samples, int16(math.Round(16384*math.Sin(2*math.Pi*hz*float64(i)/rateHz))))
	}

	w := ingesttest.PCM16(1, samples...)
	w.Rate = rateHz
	w.RIFF = uint32(36 + len(w.Data))

	return w.Bytes()
}
