package campaign

// This file leaves out single microphones of single recordings: exclude: [{file: take5.wav, channel: 12}].

import (
	"fmt"
	"maps"
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

// withoutExcluded returns the runs of a file without the recordings of channels that are left out of them. name is the
// file's name for messages. withoutExcluded warns of exclusions that leave out nothing. It returns an error if a
// channel does not exist, or if a run has no recording left.
func (s *Source) withoutExcluded(name string, f *Facts, info ingest.Info, runs []ingest.Run) ([]ingest.Run,
	[]ingest.Warning, error,
) {
	excluded := map[string]bool{} // by the ID of a recording
	var warnings []ingest.Warning
	for _, exclusion := range f.WithoutChannels {
		list, err := s.excludedBy(exclusion, name, info, runs)
		if err != nil {
			return nil, nil, err
		}

		if len(list) == 0 {
			warnings = append(warnings, UnusedExclude(name, exclusion.String()))
		}

		for _, recording := range list {
			excluded[recording.ID] = true
		}
	}

	isExcluded := func(recording ingest.Recording) bool { return excluded[recording.ID] }
	left := slices.Clone(runs)
	for i, run := range runs {
		left[i].Recordings = slices.DeleteFunc(slices.Clone(run.Recordings), isExcluded)
		if len(left[i].Recordings) == 0 {
			return nil, nil, fault.At(name, run.Place(""), "a channel that is left", "all are excluded",
				"leave the file out with exclude under ingest")
		}
	}

	return left, warnings, nil
}

// excludedBy returns the recordings that an exclusion of a channel leaves out of a file.
func (s *Source) excludedBy(exclusion setting.Exclusion, name string, info ingest.Info, runs []ingest.Run) (
	[]ingest.Recording, error,
) {
	channel, err := ingest.FindChannel(info, exclusion.Channel)
	if err != nil {
		return nil, err
	}

	var list []ingest.Recording
	for _, run := range runs {
		for _, recording := range run.Recordings {
			if recording.Channels[0] != channel {
				continue
			}

			isMeant := exclusion.Where == nil
			if !isMeant {
				isMeant, err = s.meets(exclusion, name, recording)
			}

			if err != nil {
				return nil, err
			}

			if isMeant {
				list = append(list, recording)
			}
		}
	}

	return list, nil
}

// meets reports whether a recording has the conditions that an exclusion names. An exclusion names conditions as the
// tables have them, and meets converts the recording's conditions to compare them.
func (s *Source) meets(exclusion setting.Exclusion, name string, recording ingest.Recording) (bool, error) {
	recording.Conditions = maps.Clone(recording.Conditions)
	if err := s.convertRecording(name, recording); err != nil {
		return false, err
	}

	return exclusion.Holds(condition.Values{Numbers: recording.Conditions, Names: recording.Labels}), nil
}
