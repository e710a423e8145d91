package pairs

import (
	"cmp"
	"math"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/table"
)

// Cells appends the first cells of a row to a table: the run, the recording, its conditions and its labels. A condition
// that is not known is NaN. Package dsp/pairtable takes it as a function.
func (c *Columns) Cells(tab *table.Table, run string, rec ingest.Recording) {
	table.AddCell(tab, "run", "", "one acquisition at one condition", cmp.Or(rec.Labels[campaign.RunLabel], run))
	table.AddCell(tab, "recording", "", "one channel of a run, or the group that makes one outcome vector", rec.ID)

	for _, name := range c.Conditions {
		value, ok := rec.Conditions[name]
		if !ok {
			value = math.NaN()
		}

		unit, doc := UnitOf(name)
		if text := c.Derive.Text(name); text != "" {
			doc += "; derived: " + text
		}

		if how := c.Converted[name]; how != "" {
			doc += "; " + how
		}

		table.AddCell(tab, name, unit, doc, value)
	}

	for _, name := range c.Labels {
		table.AddCell(tab, name, "", LabelText, rec.Labels[name])
	}
}
