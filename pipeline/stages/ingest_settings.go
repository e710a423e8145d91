package stages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/dsp/balance"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/format/program"
	"doubletake/ingest/setting"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
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
		s = append(s, kv.Pair{Key: "ingest.balance: columns read", Value: strings.Join(r.Grouping.Channels, ", ")})
	}

	return s
}

// settleReading stores in src how the files are opened and how their channels are grouped into recordings.
func settleReading(exp plan.Experiment, src *Source) error {
	settings := &src.Ingest
	src.Options = settings.Options()
	if err := src.findReader(exp); err != nil {
		return err
	}

	switch src.Construction.(type) {
	case dsp.OfSpectra:
		if err := groupMicrophones(exp, src); err != nil {
			return err
		}

	case dsp.OfSeries:
		if err := src.groupBalance(exp); err != nil {
			return err
		}
	}

	src.Grouping.Roles = src.inventory.Roles
	src.Grouping.Tolerances = setting.Tolerances(settings.Tolerances)
	for _, attribute := range settings.Attributes {
		if name, ofChannel := strings.CutPrefix(attribute.Value, "@"); ofChannel {
			src.Grouping.Own = append(src.Grouping.Own, campaign.OwnCondition{Condition: attribute.Name, Attribute: name})
		}
	}

	// Without a calibrator and a table of microphones, the settings alone must calibrate samples relative to full
	// scale.
	byFullScale := settings.Calibration != nil && settings.Calibration.Calibrator == nil && settings.Microphones == nil
	if byFullScale {
		if _, _, err := settings.Calibration.Factor("full-scale"); err != nil {
			return exp.Errorf("ingest.calibration", "%v", err)
		}
	}

	return nil
}

// findReader stores the program that reads the files, if the configuration names one, and its part of the keys of the
// tasks that open a recording.
func (s *Source) findReader(exp plan.Experiment) error {
	if s.Ingest.Reader == nil {
		return nil
	}

	found, settings, err := program.Find(s.Ingest.Reader, exp.Project())
	if err != nil {
		return exp.Located("ingest", err)
	}

	s.Options.Program = found
	for _, own := range settings {
		s.Reader = append(s.Reader, kv.Pair{Key: "ingest." + own.Name, Value: own.Value})
	}

	return nil
}

// groupMicrophones groups the channels so that each channel is one recording.
func groupMicrophones(exp plan.Experiment, src *Source) error {
	const other = "belongs to balances; for microphones name channels"
	settings := &src.Ingest
	switch {
	case len(settings.Columns) > 0:
		return exp.Errorf("ingest.columns", other)
	case settings.Balance != nil:
		return exp.Errorf("ingest.balance", other)
	}

	src.Grouping = campaign.Grouping{Channels: settings.Channels}
	if settings.Tachometer != nil {
		src.Grouping.Except = []string{settings.Tachometer.Channel}
	}

	return nil
}

// groupBalance groups the columns of a balance into one recording.
func (s *Source) groupBalance(exp plan.Experiment) error {
	columns, err := balance.New(&s.Ingest, &s.DSP.Settings, s.Conditions, exp.Project())
	if err != nil {
		return exp.Located("ingest", err)
	}

	if err := columns.CheckCoefficients(); err != nil {
		return exp.Located("dsp", err)
	}

	s.Grouping = campaign.Grouping{Together: true, Channels: columns.Channels}
	s.Options.Together = columns.Channels
	columns.Options = s.Options
	s.Balance = columns

	return nil
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
