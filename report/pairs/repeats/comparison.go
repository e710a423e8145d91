package repeats

import (
	"slices"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
)

// comparison contains the columns by which recordings are compared to find repeats.
type comparison struct {
	conditions [][]float64           // values of each compared condition, by recording
	tolerances []condition.Tolerance // by compared condition
	labels     [][]string            // names of each compared label, by recording
}

// comparison reads the columns by which recordings are compared.
func (p *Pairing) comparison(rows Rows) (*comparison, error) {
	c := &comparison{}
	columns := make([][]float64, len(p.Conditions))
	for k, name := range p.Conditions {
		values, err := rows.Floats(name)
		if err != nil {
			return nil, err
		}

		columns[k] = values
	}

	alongside := condition.Alongside(p.Conditions, columns, p.Stated, func(name string) bool {
		_, hasTolerance := p.Tolerances[name]
		return hasTolerance
	})
	for k, name := range p.Conditions {
		if !slices.Contains(alongside, name) {
			c.tolerances = append(c.tolerances, p.Tolerances[name])
			c.conditions = append(c.conditions, columns[k])
		}
	}

	for _, name := range p.Labels {
		names, err := rows.Strings(name)
		if err != nil {
			return nil, err
		}

		nested, err := p.nested(rows, name, names)
		if err != nil {
			return nil, err
		}

		if !nested {
			c.labels = append(c.labels, names)
		}
	}

	return c, nil
}

// nested reports whether a label is an occasion that lies within the occasion across which pairs are made: if pairs are
// made across sessions and each day is in one session, the day is nested, and different days do not keep recordings
// from being paired.
func (p *Pairing) nested(rows Rows, label string, names []string) (bool, error) {
	across := p.Across
	if across == "" || !slices.Contains(p.Occasions, label) {
		return false, nil
	}

	outer, err := rows.Strings(across)
	if err != nil {
		return false, err
	}

	return condition.Nested(names, outer), nil
}

// equal reports whether recordings i and j are at equal conditions and labels.
func (c *comparison) equal(i, j int) bool {
	for _, names := range c.labels {
		if names[i] != names[j] {
			return false
		}
	}

	for k, values := range c.conditions {
		if !c.tolerances[k].Equal(values[i], values[j]) {
			return false
		}
	}

	return true
}

// alikeInRun reports whether two recordings of one run are equal. The recordings of a run must be consecutive.
func (c *comparison) alikeInRun(runs []string) bool {
	for i := range runs {
		for k := i - 1; k >= 0 && runs[k] == runs[i]; k-- {
			if c.equal(k, i) {
				return true
			}
		}
	}

	return false
}

// groups returns the groups of recordings at equal conditions and labels. If two channels of a run are equal, a group
// only has recordings of the same channel.
func (p *Pairing) groups(rows Rows, runs, recordings []string) ([][]int, error) {
	c, err := p.comparison(rows)
	if err != nil {
		return nil, err
	}

	if c.alikeInRun(runs) {
		c.labels = append(c.labels, channels(runs, recordings))
	}

	return slices.Collect(condition.Groups(rows.Rows(), c.tolerances, c.conditions, c.labels)), nil
}

// channels returns the channel of each recording.
func channels(runs, recordings []string) []string {
	names := make([]string, len(runs))
	for i, run := range runs {
		names[i] = campaign.ChannelOf(run, recordings[i])
	}

	return names
}
