// Command pipeline is the program with the research's methods to compare with, and with the
// examples of extensions: a program of one's own.
package main

import (
	"os"

	"doubletake/cmd/app"
	"doubletake/docs/research/extensions/centroid"
	"doubletake/docs/research/extensions/ridge"
	"doubletake/docs/research/extensions/tape"
	"doubletake/docs/research/extensions/turns"
	"doubletake/docs/research/methods"
	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline"
)

func main() {
	os.Exit(app.Main(app.Extensions{
		Formats:   []ingest.Format{tape.Format},
		Executors: []pipeline.Executor{turns.Two},
		Outcomes:  []dsp.SpectralOutcome{centroid.Outcome},
		Methods:   append(methods.All, ridge.Info),
	}))
}
