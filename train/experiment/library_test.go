package experiment_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
	"doubletake/ingest/simulate"
	"doubletake/ingest/table"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// Example reads a folder of WAV files into a campaign, computes a table of pairs, holds out the rotors with 4 blades,
// and predicts them with intervals that are calibrated on the other rotors, each left out in turn.
func Example() {
	dir, err := os.MkdirTemp("", "rotors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	if err := simulate.WriteDir(ctx, rotors(), dir, 1, nil); err != nil {
		log.Fatal(err)
	}

	tab, err := readPairs(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}

	split := experiment.Split{Name: "4-blades", Test: holdout.Values("blades", 4)}
	e := &experiment.Experiment{
		Inputs: []string{"blades", "rpm"}, Splits: []experiment.Split{split}, Honest: honest.DefaultSettings(),
	}
	condition, _ := e.HonestCondition(split)
	learner := e.Learner(split, condition)
	model, err := pairs.Divider{Experiment: e}.CalibrateTable(ctx, tab, split, learner, nil, nil)
	if err != nil {
		log.Fatal(err)
	}

	held := model.Record.Outcomes[0]
	fmt.Printf("%d values of %s at %s, %d groups left out in turn\n", held.Values, held.Outcome, split.Test,
		model.Calibration.K)
	fmt.Printf("%.0f %% inside the %.0f %% intervals\n", 100*held.Inside, 100*held.Level)
	// Output:
	// 8 values of bpf1_db at blades = 4, 4 groups left out in turn
	// 100 % inside the 95 % intervals
}

// readPairs reads the WAV files of a folder into a campaign, and computes the pairs of their runs: the levels of the
// first harmonic of the blade passing frequency in both halves of each recording.
func readPairs(ctx context.Context, dir string) (*table.Table, error) {
	settings := &setting.Campaign{Files: []string{"*.wav"}, Pattern: "simulated_rotor_n{blades}_rpm{rpm}.wav"}
	project := setting.Project{Dir: dir}
	read, err := campaign.Read(ctx, settings, project)
	if err != nil {
		return nil, err
	}

	levels := dsp.DefaultSettings()
	levels.Harmonics = 1
	columns := &pairs.Columns{Conditions: []string{"blades", "rpm"}}
	source := &analysis.Source{
		Source:       campaign.Source{Settings: settings},
		Construction: dsp.Configure(dsp.Find("split-half-spectrum", dsp.Microphones), &levels),
		DSP:          &levels, Cells: columns.Cells,
	}

	tab := &table.Table{}
	for _, file := range read.Files {
		rows := analysis.NewRows(source)
		if err := rows.AddFile(ctx, file, project.Resolve(file.Path), &analysis.FileNotes{}); err != nil {
			return nil, err
		}

		if err := tab.Append(rows.Triplets); err != nil {
			return nil, err
		}
	}

	return tab, nil
}

// rotors is a campaign of rotors with 2 to 6 blades at four speeds, with one microphone.
func rotors() simulate.Rotor {
	campaign := simulate.DefaultRotor()
	campaign.DurationS = 1
	campaign.Blades = []int{2, 3, 4, 5, 6}
	campaign.RPM = []float64{3000, 4000, 5000, 6000}
	campaign.ThetaDeg = []float64{0}

	return campaign
}
