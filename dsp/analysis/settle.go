package analysis

import (
	"doubletake/dsp"
	"doubletake/dsp/balance"
	"doubletake/ingest/campaign"
	"doubletake/ingest/format/program"
	"doubletake/ingest/setting"
)

// Settle stores in s how the files are opened, how their channels are grouped into recordings, and how columns become
// outcomes. It returns the settings that identify the program that reads the files, or nil if the settings name no
// program. Settle returns a *setting.Error about settings that do not fit together.
func (s *Source) Settle(project setting.Project) ([]setting.NamedString, error) {
	s.Options = s.Settings.Options()
	reader, err := s.findProgram(project)
	if err != nil {
		return nil, err
	}

	switch s.Construction.(type) { // a Construction is one of the two
	case dsp.OfSpectra:
		err = s.groupMicrophones()
	case dsp.OfSeries:
		err = s.groupBalance(project)
	}

	if err != nil {
		return nil, err
	}

	if err := s.checkCalibration(); err != nil {
		return nil, err
	}

	return reader, nil
}

// findProgram stores the program that reads the files, if the settings name one, and returns the settings that identify
// it.
func (s *Source) findProgram(project setting.Project) ([]setting.NamedString, error) {
	if s.Settings.Reader == nil {
		return nil, nil
	}

	found, settings, err := program.Find(s.Settings.Reader, project)
	if err != nil {
		return nil, err
	}

	s.Options.Program = found

	return settings, nil
}

// groupMicrophones groups the channels so that each channel is one recording.
func (s *Source) groupMicrophones() error {
	const other = "belongs to balances; for microphones name channels"
	switch {
	case len(s.Settings.Columns) > 0:
		return setting.Errorf("columns", other)
	case s.Settings.Balance != nil:
		return setting.Errorf("balance", other)
	}

	s.Grouping = campaign.NewGrouping(s.Settings, s.Roles)

	return nil
}

// groupBalance groups the columns of a balance into one recording.
func (s *Source) groupBalance(project setting.Project) error {
	columns, err := balance.New(s.Settings, s.DSP, s.Conditions, project)
	if err != nil {
		return err
	}

	if err := columns.CheckCoefficients(); err != nil {
		return err
	}

	s.Grouping = campaign.NewTogether(s.Settings, s.Roles, columns.Channels)
	s.Options.Together = columns.Channels
	columns.Options = s.Options
	s.Balance = columns

	return nil
}

// checkCalibration returns an error if settings of the chain contradict each other whatever the unit of the samples is.
// A table of microphones may state what the settings lack. (*calibration.Chain).Scale checks the chain against the unit
// of each channel.
func (s *Source) checkCalibration() error {
	chain := s.Settings.Calibration
	if chain == nil || s.Settings.Microphones != nil {
		return nil
	}

	if text := chain.Contradiction(); text != "" {
		return setting.Errorf("calibration", "%s", text)
	}

	return nil
}
