package campaign

import (
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// Meets reports whether a row of the file has the conditions that the exclusion of a channel names.
func (f *Facts) Meets(exclusion setting.Exclusion) bool {
	return slices.ContainsFunc(f.Known, exclusion.Holds)
}

// withoutExcluded returns a run without the recordings of channels that are left out of it. It returns an error if a
// channel does not exist, or if no recording is left.
func (f *Facts) withoutExcluded(name string, info ingest.Info, run ingest.Run) (ingest.Run, error) {
	var left []ingest.Recording
	for _, recording := range run.Recordings {
		isExcluded, err := f.excludesChannel(info, recording)
		if err != nil {
			return ingest.Run{}, err
		}

		if !isExcluded {
			left = append(left, recording)
		}
	}

	if len(left) == 0 {
		return ingest.Run{}, fault.At(name, run.Place(""), "a channel that is left", "all are excluded",
			"exclude the file")
	}

	run.Recordings = left

	return run, nil
}

// excludesChannel reports whether a recording of one channel is left out.
func (f *Facts) excludesChannel(info ingest.Info, recording ingest.Recording) (bool, error) {
	values := condition.Values{Numbers: recording.Conditions, Names: recording.Labels}
	for _, exclusion := range f.WithoutChannels {
		channel, err := ingest.FindChannel(info, exclusion.Channel)
		if err != nil {
			return false, err
		}

		isMeant := exclusion.Where == nil || exclusion.Holds(values)
		if isMeant && channel == recording.Channels[0] {
			return true, nil
		}
	}

	return false, nil
}
