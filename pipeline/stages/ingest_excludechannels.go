package stages

import (
	"fmt"
	"strconv"

	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
	"doubletake/internal/kv"
	"doubletake/pipeline/stages/plan"
)

// This file leaves out single microphones of single recordings: exclude: [{file: take5.wav, channel: 12}].

// excludeChannels gives each file the exclusions of its channels. It warns of the channels that are left out, so that
// the page lists them, and of exclusions that concern no file.
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

	if err := campaign.CheckExclusions(byConditions, numbers, names); err != nil {
		return exp.Located("ingest", err)
	}

	fileNames := r.names()
	for _, exclusion := range exclusions {
		isNamed := map[string]bool{} // files that the exclusion names
		if exclusion.Where == nil {
			for _, name := range campaign.MatchedBy(exclusion.Files, fileNames) {
				isNamed[name] = true
			}
		}

		var concerned []string
		for i := range r.Files {
			file := &r.Files[i]
			isConcerned := isNamed[file.Name]
			if exclusion.Where != nil {
				isConcerned = file.Meets(exclusion)
			}

			if isConcerned {
				file.WithoutChannels = append(file.WithoutChannels, exclusion)
				concerned = append(concerned, fmt.Sprintf("%s, channel %s", file.Name, exclusion.Channel))
			}
		}

		warning := campaign.UnusedExclude(exp.File.Path, exclusion.String())
		if len(concerned) > 0 {
			warning = campaign.LeftOut(concerned, fmt.Sprintf("exclude: %s", exclusion))
		}

		r.warnings = append(r.warnings, warning)
	}

	return nil
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
