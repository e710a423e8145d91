package pairs

import (
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
)

// SettleResults returns the columns that the pairs of a table of results will have. It stores the roles of the columns
// in described, the settings of the table, and what the settings of the campaign derive in t. It returns a
// *setting.Error about settings of the campaign that do not fit the table.
func SettleResults(t *campaign.ResultTable, settings *setting.Campaign, described *setting.Table) (Columns, error) {
	t.StoreRoles(described)
	columns := Columns{Conditions: t.Options.Inputs, Labels: t.Options.Labels, Texts: t.Texts}
	if err := columns.SetDerived(settings.Derive, settings.Constants, t.Options.OutcomeNames()); err != nil {
		return Columns{}, err
	}

	t.Options.Derive = columns.Derive
	if described.Across != "" {
		if err := columns.CheckTexts("table.across", described.Across); err != nil {
			return Columns{}, err
		}
	}

	if err := columns.Settle(settings, columns.Outcomes); err != nil {
		return Columns{}, err
	}

	return columns, t.CheckPairing(described, columns.Outcomes)
}

// CheckResults reads a table of results and checks the outcomes to train on (WarnConstant), if there is a training.
// trained are the outcomes that the user chose. It returns the pairs, whose warnings have those about the outcomes.
func CheckResults(t *campaign.ResultTable, hasTraining bool, trained []string) (*campaign.PairTable, error) {
	read, err := t.Read()
	if err != nil || !hasTraining {
		return read, err
	}

	constant, err := WarnConstant(t.Files[0].Name, read, trained)
	if err != nil {
		return nil, err
	}

	read.Warnings = append(read.Warnings, constant...)

	return read, nil
}
