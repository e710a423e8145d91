package calibration_test

import (
	"fmt"
	"log"

	"doubletake/dsp/calibration"
	"doubletake/ingest"
	"doubletake/ingest/setting"
)

// A microphone of 0.05 V/Pa gives 0.5 V after 20 dB of gain, so that a sample of 1 V is 2 Pa.
func ExampleChain_Scale() {
	chain := calibration.Chain{Settings: &setting.Calibration{SensitivityVPerPa: 0.05, GainDB: 20}}
	info := ingest.Info{Channels: []ingest.Channel{{Name: "mic", Unit: "V"}}}

	scale, err := chain.Scale(info, 0)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(scale.Factor, scale.Unit)
	// Output:
	// 2 Pa
}
