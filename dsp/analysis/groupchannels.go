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

	switch s.Construction.(type) {
	case dsp.OfSpectra:
		err = s.groupMicrophones()
	case dsp.OfSeries:
		err = s.groupBalance(project)
	}

	if err != nil {
		return nil, err
	}

	return reader, s.checkFullScale()
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

// checkFullScale returns an error if the settings alone must calibrate samples relative to full scale, because there is
// neither a calibrator nor a table of microphones, and cannot.
func (s *Source) checkFullScale() error {
	chain := s.Settings.Calibration
	if chain == nil || chain.Calibrator != nil || s.Settings.Microphones != nil {
		return nil
	}

	if _, _, err := chain.Factor("full-scale"); err != nil {
		return setting.Errorf("calibration", "%v", err)
	}

	return nil
}
