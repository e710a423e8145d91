package stages

import (
	"fmt"
	"strings"

	"doubletake/internal/kv"
	"doubletake/pipeline/config"
)

// settingsRead returns the settings that the task of one file reads, including settings that follow from other files:
// the kind of data, the program that reads, and the channels' chains.
func (r *Recordings) settingsRead() []kv.Pair {
	s := append(config.Flatten("ingest", r.Ingest, "others"),
		kv.Pair{Key: "ingest.on_bad_recording", Value: r.Ingest.OnBadRecording},
		kv.Pair{Key: "ingest.data", Value: r.Ingest.Data})
	s = append(s, r.Reader...)
	if r.Ingest.Microphones != nil {
		s = append(s, kv.Pair{Key: "ingest.microphones: chains", Value: fmt.Sprint(r.inventory.Chains)})
	}

	if r.Ingest.Balance != nil { // this stage reads only the columns; stage dsp reads the rest of the balance's settings
		s = append(s, kv.Pair{Key: "ingest.balance: columns read", Value: strings.Join(r.reading.Grouping.Channels, ", ")})
	}

	return s
}
