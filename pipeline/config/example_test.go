package config_test

import (
	"fmt"
	"strings"

	"doubletake/pipeline/config"
)

func ExampleParse() {
	f, err := config.Parse("pipeline.yaml", []byte(`version: 1
experiments:
  wing:
    ingest: {table: pairs.csv}
    train: {inputs: [alpha_deg], splits: {stall: {test: {alpha_deg: {min: 12}}}}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, e := range f.Experiments {
		for _, s := range e.Train.Splits {
			fmt.Printf("%s holds out %s, %d seeds\n", e.Name, s.Test, e.Train.Seeds)
		}
	}
	// Output: wing holds out alpha_deg ≥ 12, 5 seeds
}

// An unknown key is an error that names the place and the nearest known key.
func ExampleParse_unknownKey() {
	_, err := config.Parse("pipeline.yaml", []byte("version: 1\nworkdri: runs\n"))
	fmt.Println(strings.SplitN(err.Error(), "\n", 2)[0])
	// Output: pipeline.yaml:2:1: workdri: unknown key; did you mean "workdir"?
}
