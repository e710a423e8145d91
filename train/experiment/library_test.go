package experiment_test

import (
	"context"
	"fmt"
	"strings"

	"doubletake/ingest/table/tabletest"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// measured has two levels of rotors with 2 to 6 blades at four speeds.
func measured() string {
	var text strings.Builder
	text.WriteString("run recording blades rpm level_1[dB] level_2[dB]\n")
	for blades := 2; blades <= 6; blades++ {
		for speed := 1; speed <= 4; speed++ {
			run := fmt.Sprintf("%d-%d", blades, speed)
			level := 60 + 3*float64(speed) - 1.5*float64(blades)
			noise := 0.2 * float64((blades+speed)%3-1)
			fmt.Fprintln(&text, run, run, blades, 1000*speed, level+noise, level-noise)
		}
	}

	return text.String()
}

// This program reads a table of pairs, holds out the rotors with 4 blades, and predicts them with intervals that were
// calibrated on the other rotors, each left out in turn.
func Example() {
	tab, err := tabletest.Parse(measured()) // pairs.FromPath(path).Open(nil) reads a file
	if err != nil {
		fmt.Println(err)
		return
	}

	set, err := pairs.Triplets(tab, []string{"blades", "rpm"}, pairs.Outcomes(tab))
	if err != nil {
		fmt.Println(err)
		return
	}

	split := experiment.Split{Name: "4-blades", Test: holdout.Values("blades", 4)}
	e := &experiment.Experiment{
		Inputs: set.InputNames(), Splits: []experiment.Split{split}, Honest: honest.DefaultSettings(),
	}
	rows := pairs.AtSetPoints{Table: tab}
	divided, err := e.Divide(set, rows, nil, split)
	if err != nil {
		fmt.Println(err)
		return
	}

	condition, _ := experiment.HonestCondition(e.Honest, split, e.Splits)
	groups, err := experiment.Coordinates(rows, condition, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	model, _, err := e.Learner(split, condition).Process(context.Background(), divided, groups)
	if err != nil {
		fmt.Println(err)
		return
	}

	held := model.Record.Outcomes[0]
	fmt.Printf("%d values of %s at %s, %d groups left out in turn\n", held.Values, held.Outcome, split.Test,
		model.Calibration.K)
	fmt.Printf("%.0f %% inside the %.0f %% intervals\n", 100*held.Inside, 100*held.Level)
	// Output:
	// 8 values of level at blades = 4, 4 groups left out in turn
	// 100 % inside the 95 % intervals
}
