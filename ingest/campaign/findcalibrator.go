package campaign

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/setting"
)

// takeCalibrator replaces the pattern of the calibrator's recordings by the recordings that it finds, in a copy of the
// settings of the calibration. It returns files without the calibrator's recordings, which are not measurements of the
// campaign. It returns a *setting.Error if no recording has a name of the pattern, or if no file is left.
func takeCalibrator(settings *setting.Campaign, project setting.Project, files []string) ([]string, error) {
	if settings.Calibration == nil || settings.Calibration.Calibrator == nil {
		return files, nil
	}

	calibration := *settings.Calibration
	calibrator := *calibration.Calibrator
	calibration.Calibrator = &calibrator
	settings.Calibration = &calibration
	if calibrator.Pattern != "" {
		recordings, err := recordingsByChannel(calibrator.Pattern, project.Dir)
		if err != nil {
			return nil, setting.Errorf("calibration.calibrator.pattern", "%v", err)
		}

		calibrator.Recordings = recordings
	}

	var own []string
	for _, recording := range calibrator.Files() {
		own = append(own, filepath.Clean(recording))
	}

	isOwn := func(file string) bool { return slices.Contains(own, filepath.Clean(file)) }
	rest := slices.DeleteFunc(slices.Clone(files), isOwn)
	if len(rest) == 0 {
		return nil, setting.Errorf("files", "every recording is one of the calibrator")
	}

	return rest, nil
}

// recordingsByChannel finds the recordings whose names have the form of a pattern with the field {channel}, and
// returns them by their channels, in the order of the names.
func recordingsByChannel(text, dir string) ([]setting.NamedString, error) {
	pattern, err := ParsePattern(strings.Replace(text, setting.ChannelField, "{channel:text}", 1))
	if err != nil {
		return nil, err
	}

	glob := strings.NewReplacer(setting.ChannelField, "*", "{_}", "*", "{*}", "*").Replace(text)
	files, _, _, err := Find([]string{glob}, nil, dir)
	if err != nil {
		return nil, err
	}

	var recordings []setting.NamedString
	for _, file := range files {
		stated, err := pattern.Match(file)
		if err != nil {
			return nil, err
		}

		channel := stated[0].Name
		if first, isThere := setting.Find(recordings, channel); isThere {
			return nil, fmt.Errorf("expected one recording of channel %s, found %s and %s", channel, first, file)
		}

		recordings = append(recordings, setting.NamedString{Name: channel, Value: file})
	}

	return recordings, nil
}
