package campaign

// This file leaves out single microphones of single recordings: exclude: [{file: take5.wav, channel: 12}].

import (
	"fmt"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// excludeChannels gives each file the exclusions of its channels. It warns of the channels that are left out, so that
// the page lists them, and of exclusions that concern no file. together tells that all channels of a file are one
// recording, of which no channel can be left out.
func (v *Inventory) excludeChannels(together bool) error {
	exclusions := v.Settings.Exclude.OfChannels()
	if len(exclusions) == 0 {
		return nil
	}

	if together {
		return setting.Errorf("exclude", "%s: the columns of a balance are one recording; leave out the file",
			exclusions[0])
	}

	var byConditions setting.Exclusions
	for _, exclusion := range exclusions {
		if exclusion.Where != nil {
			byConditions = append(byConditions, exclusion)
		}
	}

	numbers, names := v.knownColumns()
	if err := checkExclusions(byConditions, numbers, names); err != nil {
		return err
	}

	for _, exclusion := range exclusions {
		v.excludeChannel(exclusion)
	}

	return nil
}

// excludeChannel gives an exclusion of a channel to each file that it concerns, with a warning.
func (v *Inventory) excludeChannel(exclusion setting.Exclusion) {
	isNamed := map[string]bool{} // files that the exclusion names
	if exclusion.Where == nil {
		for _, name := range matchedBy(exclusion.Files, v.Names()) {
			isNamed[name] = true
		}
	}

	var concerned []string
	for i := range v.Files {
		file := &v.Files[i]
		isConcerned := isNamed[file.Name]
		if exclusion.Where != nil {
			isConcerned = file.meets(exclusion)
		}

		if isConcerned {
			file.WithoutChannels = append(file.WithoutChannels, exclusion)
			concerned = append(concerned, fmt.Sprintf("%s, channel %s", file.Name, exclusion.Channel))
		}
	}

	v.warnOfExclusion(exclusion, concerned)
}

// meets reports whether a row of the file has the conditions that the exclusion of a channel names.
func (f *Facts) meets(exclusion setting.Exclusion) bool {
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
			"leave the file out with exclude under ingest")
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
