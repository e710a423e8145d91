package stages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/condition"
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

// ownSettings returns the settings of the file's task that belong to no other file.
func (f *File) ownSettings(src *Source) []kv.Pair {
	var local []kv.Pair
	if f.Rows != nil {
		for i, row := range f.Rows.Describe() {
			local = append(local, kv.Pair{Key: "conditions row " + strconv.Itoa(i+1), Value: row})
			if run, ok := f.Rows.Rows[i].Name(condition.RunColumn(src.Ingest.Run)); ok {
				local = append(local, kv.Pair{Key: "run " + strconv.Itoa(i+1), Value: run})
			}
		}
	}

	for _, cond := range f.Sidecar {
		value := cond.Name
		if !cond.IsName {
			value = strconv.FormatFloat(cond.Value, 'g', -1, 64)
		}

		local = append(local, kv.Pair{Key: "sidecar " + cond.Column, Value: value})
	}

	for _, tolerance := range src.Ingest.Tolerances {
		// The tolerance decides whether a set point in the file's name agrees with a measured value.
		if src.inventory.Pattern != nil && slices.Contains(src.inventory.Pattern.Names(), tolerance.Name) {
			local = append(local, kv.Pair{Key: "within " + tolerance.Name, Value: tolerance.Value})
		}
	}

	for i, values := range f.Known {
		for _, name := range src.Labels {
			local = append(local, kv.Pair{Key: "label " + name + " " + strconv.Itoa(i+1), Value: values.Names[name]})
		}
	}

	return append(local, f.channelSettings()...)
}

// channelSettings returns the settings of the file's task that name the channels that are left out.
func (f *File) channelSettings() []kv.Pair {
	var settings []kv.Pair
	for i, exclusion := range f.WithoutChannels {
		exclusion.Reason = "" // it does not change the result
		settings = append(settings, kv.Pair{Key: "without channel " + strconv.Itoa(i+1), Value: exclusion.String()})
	}

	return settings
}
