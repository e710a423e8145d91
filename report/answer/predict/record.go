package predict

import (
	"errors"
	"io/fs"
	"math"
	"slices"

	"doubletake/report"
	"doubletake/train/score"
)

// This file reads the records of models. A record says how predictions did on values that the models had not seen: the
// error of the mean, and the share of values inside the intervals.

// readRecord sets the records: how the networks and the calibrated intervals did on held-out values. The record of the
// networks comes from the metrics of the experiment's report, if there are any. The record of the intervals comes from
// the calibrated model, or otherwise from the same metrics. A final model, which was trained on everything, has no
// held-out values: for each outcome it takes the record of the split whose intervals did worst.
func (m *Models) readRecord() error {
	hasOwnRecord := m.Honest != nil && m.Honest.Record != nil
	if hasOwnRecord {
		own := worst(nil, m.Honest.Record.Outcomes, m.Honest.HeldOut)
		if err := m.addTest(m.splitDir(), m.Honest, own); err != nil {
			return err
		}
	}

	doc, err := report.ReadMetrics(m.metricsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}

	if doc.Experiment != m.Card.Experiment {
		return nil
	}

	names := m.recordNames()
	for _, split := range doc.Splits {
		isOfEarlierRun := !m.isFinal() && split.HeldOut != m.Card.HeldOut // a split of the same name
		if !slices.Contains(names, split.Name) || isOfEarlierRun {
			continue
		}

		m.Record = worst(m.Record, split.Network, split.HeldOut)
		if hasOwnRecord {
			continue
		}

		own := worst(nil, split.Honest.Outcomes, split.HeldOut)
		if err := m.addTestOf(split.Name, own); err != nil {
			return err
		}
	}

	return nil
}

// isFinal reports whether the models are final models, whose cards name the splits whose records count.
func (m *Models) isFinal() bool { return len(m.Card.Record) > 0 }

// recordNames returns the names of the splits whose held-out values judge the models.
func (m *Models) recordNames() []string {
	if m.isFinal() {
		return m.Card.Record
	}
	return []string{m.Card.Split}
}

// worst returns, for each outcome, the record with the lower coverage: the one in list or the one in records. heldOut
// describes the values that records are about. A record without a coverage is returned only if there is no other.
func worst(list, records []score.OutcomeTrust, heldOut string) []score.OutcomeTrust {
	described := slices.Clone(records)
	for i := range described {
		described[i].HeldOut = heldOut
	}

	return worstOf(list, described)
}

// worstOf returns what worst returns, of records that have the description of their held-out values.
func worstOf(list, records []score.OutcomeTrust) []score.OutcomeTrust {
	kept := slices.Clone(list)
	for _, record := range records {
		i := slices.IndexFunc(kept, func(o score.OutcomeTrust) bool { return o.Outcome == record.Outcome })
		if i < 0 {
			kept = append(kept, record)
			continue
		}

		isLower := record.Inside < kept[i].Inside
		isFirstKnown := math.IsNaN(kept[i].Inside) && !math.IsNaN(record.Inside)
		if isLower || isFirstKnown {
			kept[i] = record
		}
	}

	return kept
}

// Unchecked reports whether no left-out group and no held-out value of any outcome tested the calibrated intervals. The
// models must have a calibration.
func (m *Models) Unchecked() bool {
	if m.Honest.Calibration.K > 0 {
		return false
	}

	for j := range m.Card.Outcomes {
		if m.recordIn(m.Intervals, j) != "" {
			return false
		}
	}

	return true
}

// recordIn writes how the intervals of an outcome did on held-out values, by a list of records. It returns "" if that
// is not known.
func (m *Models) recordIn(list []score.OutcomeTrust, outcome int) string {
	for _, record := range list {
		isKnown := !math.IsNaN(record.RMSE) && !math.IsNaN(record.Inside)
		if record.Outcome == m.Card.Outcomes[outcome].Name && isKnown {
			return recordText(record)
		}
	}

	return ""
}
