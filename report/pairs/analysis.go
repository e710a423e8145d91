package pairs

import (
	"errors"
	"slices"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/dsp/balance"
	"doubletake/dsp/calibration"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
	"doubletake/internal/lists"
)

// Analysis says how the recordings of a campaign become the rows of a table of pairs.
type Analysis struct {
	Columns                       // of the table
	Reading *analysis.Source      // how the files are read and analysed
	Chain   calibration.Chain     // how samples become physical units, without the calibrator's recordings
	Program []setting.NamedString // the settings that identify the program that reads the files; nil: there is none

	method Method
}

// Method says how pairs are made of recordings.
type Method struct {
	Triplets   string         // name of the construction
	Instrument dsp.Instrument // what made the recordings
	Settings   *dsp.Settings
	Across     string                // occasion across which repeats are paired; "": none
	Tolerances []setting.NamedString // within which conditions of repeats are equal

	// Seed returns the seed of the random numbers that the construction with a name draws for a run.
	Seed func(construction, run string) uint64
}

// NewAnalysis chooses the construction, the conditions and the columns of the pairs that are made of the recordings
// of an inventory, which has found its files. It returns a *setting.Error about settings that do not fit together.
func NewAnalysis(inventory *campaign.Inventory, settings *setting.Campaign, method Method) (*Analysis, error) {
	a := &Analysis{Columns: Columns{Converted: inventory.Converted}, method: method}
	construction := dsp.Configure(dsp.Find(method.Triplets, method.Instrument), method.Settings)
	if err := a.setConditions(inventory, settings, construction, method.Settings); err != nil {
		return nil, err
	}

	if err := a.setOutcomes(settings, construction, method); err != nil {
		return nil, err
	}

	conversions, err := inventory.Conversions(a.Conditions)
	if err != nil {
		return nil, err
	}

	name := construction.Describe().Name
	a.Reading = &analysis.Source{
		Source: campaign.Source{
			Settings: settings, Roles: inventory.Roles, Labels: a.Labels, Convert: conversions, Derive: a.Derive,
		},
		Construction: construction, DSP: method.Settings,
		ChannelsListed: inventory.ChannelsListed, Conditions: a.Conditions, Cells: a.Cells,
		Seed: func(run string) uint64 { return method.Seed(name, run) },
	}

	a.Program, err = a.Reading.Settle(inventory.Project)
	if err != nil {
		return nil, err
	}

	a.Chain = calibration.Chain{
		Settings: settings.Calibration, Values: inventory.Chains, Columns: a.Reading.Grouping.Together,
	}
	if settings.Microphones != nil {
		a.Chain.Table = settings.Microphones.File
	}

	return a, nil
}

// setConditions stores the conditions that the campaign states or the analysis finds, and the columns of text.
func (a *Analysis) setConditions(inventory *campaign.Inventory, settings *setting.Campaign,
	construction dsp.Construction, analysed *dsp.Settings,
) error {
	if analysed.Track != nil && construction != nil && construction.Describe().Shaft {
		a.Found = append(a.Found, "rpm_tracked")
	}

	if settings.Tachometer != nil {
		a.Found = append(a.Found, "rpm_measured")
	}

	numbers, texts, err := inventory.Columns()
	if err != nil {
		return err
	}

	a.Conditions = lists.Names(append(numbers, a.Found...))
	a.SetTexts(inventory.Roles, texts)

	return nil
}

// setOutcomes stores the outcomes and what the settings derive, and checks that the settings fit the columns.
func (a *Analysis) setOutcomes(settings *setting.Campaign, construction dsp.Construction, method Method) error {
	series := balance.SeriesNames(settings, method.Settings.ChordM > 0)
	outcomes := dsp.OutcomeNames(construction, method.Settings, series)
	if err := a.SetDerived(settings.Derive, nil, outcomes); err != nil {
		return err
	}

	if method.Across != "" {
		err := a.CheckTexts("across", method.Across)
		if bad, isOfSetting := errors.AsType[*setting.Error](err); isOfSetting {
			return bad.OfSection("dsp")
		}

		if err != nil {
			return err
		}
	}

	columns := a.Derive.Outcomes()
	for _, column := range settings.Columns {
		columns = append(columns, column.Name)
	}

	return a.Settle(settings, columns)
}

// Check returns a *setting.Error if the construction needs a condition that is not known, if the settings name an
// occasion and no repeats are paired, or if a tolerance belongs to something that is not a condition.
func (a *Analysis) Check() error {
	if err := a.Reading.CheckShaft(); err != nil {
		return err
	}

	if a.method.Across != "" && !a.Reading.Construction.Describe().Repeats {
		return setting.Errorf("across", "belongs to triplets: repeats, whose runs are paired; %s makes pairs of each run",
			a.method.Triplets).OfSection("dsp")
	}

	for _, tolerance := range a.method.Tolerances {
		if !slices.Contains(a.Conditions, tolerance.Name) {
			return setting.Errorf("within."+tolerance.Name, "%q is not a condition of this experiment, which has %v",
				tolerance.Name, a.Conditions).OfSection("dsp")
		}
	}

	return nil
}
