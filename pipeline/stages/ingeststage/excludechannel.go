package ingeststage

import (
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/internal/kv"
	"doubletake/pipeline/stages/plan"
)

// This file leaves out single microphones of single recordings: exclude: [{file: take5.wav, channel: 12}].

// excludeChannels gives each file the exclusions of its channels. It warns of what is left out, so that the page lists
// it, and of exclusions that concern no file.
func (r *Recordings) excludeChannels(exp plan.Experiment) error {
	exclusions := withTolerances(exp, exp.Ingest.Exclude.OfChannels())
	if len(exclusions) == 0 {
		return nil
	}

	if r.Grouping.Together {
		return exp.Errorf("ingest.exclude", "%s: the columns of a balance are one recording; leave out the file",
			exclusions[0])
	}

	numbers, names := r.knownColumns()
	var byConditions setting.Exclusions
	for _, exclusion := range exclusions {
		if exclusion.Where != nil {
			byConditions = append(byConditions, exclusion)
		}
	}

	if err := checkExclusions(exp, byConditions, numbers, names); err != nil {
		return err
	}

	for _, exclusion := range exclusions {
		var concerned []string
		for i := range r.Files {
			if file := &r.Files[i]; file.isConcernedBy(exclusion, r.names()) {
				file.withoutChannels = append(file.withoutChannels, exclusion)
				concerned = append(concerned, fmt.Sprintf("%s, channel %s", file.Name, exclusion.Channel))
			}
		}

		warning := campaign.UnusedExclude(exp.File.Path, exclusion.String())
		if len(concerned) > 0 {
			warning = leftOut(concerned, fmt.Sprintf("exclude: %s", exclusion))
		}

		r.warnings = append(r.warnings, warning)
	}

	return nil
}

// isConcernedBy reports whether the exclusion of a channel names the file, or conditions that one of its rows has.
// names are the names of all files.
func (f *File) isConcernedBy(exclusion setting.Exclusion, names []string) bool {
	if exclusion.Where == nil {
		return slices.Contains(campaign.MatchedBy(exclusion.Files, names), f.Name)
	}

	return slices.ContainsFunc(f.known, exclusion.Holds)
}

// channelSettings returns the settings of the file's task that name the channels that are left out.
func (f *File) channelSettings() []kv.Pair {
	var settings []kv.Pair
	for i, exclusion := range f.withoutChannels {
		exclusion.Reason = "" // it does not change the result
		settings = append(settings, kv.Pair{Key: "without channel " + strconv.Itoa(i+1), Value: exclusion.String()})
	}

	return settings
}

// withoutExcluded returns a run without the recordings of channels that are left out of it. It returns an error if a
// channel does not exist, or if no recording is left.
func (f *File) withoutExcluded(info ingest.Info, run ingest.Run) (ingest.Run, error) {
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
		return ingest.Run{}, fault.At(f.Name, run.Place(""), "a channel that is left", "all are excluded",
			"exclude the file")
	}

	run.Recordings = left

	return run, nil
}

// excludesChannel reports whether a recording of one channel is left out.
func (f *File) excludesChannel(info ingest.Info, recording ingest.Recording) (bool, error) {
	values := condition.Values{Numbers: recording.Conditions, Names: recording.Labels}
	for _, exclusion := range f.withoutChannels {
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
