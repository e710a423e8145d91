// Package leftout writes and reads the table of the groups that were left out of trainings. The scale of the errors on
// new groups is learned from them. Package report/answer/library learns priors of that scale from the tables of many
// experiments. Residuals are in units of the outcomes' training deviations, noise and claims in units of their squares.
package leftout

import (
	"errors"
	"fmt"
	"math"

	"doubletake/ingest/table"
	"doubletake/train/honest/scale"
)

// File is the name of the table's file. It lies in the folder of the split.
const File = "left-out.arrow"

// Table returns the left-out groups with the given names as a table, with a row for each condition and outcome
// of a group.
func Table(names []string, left []scale.Group, outcomes []string) *table.Table {
	group := table.Column{Name: "group", Description: "left-out training group", Strings: []string{}}
	condition := table.Column{Name: "condition", Description: "number of the condition in its group", Ints: []int64{}}
	outcome := table.Column{Name: "outcome", Description: "in units of its training deviation", Strings: []string{}}
	residual := table.Column{Name: "residual", Description: "mean of all measurements less the prediction"}
	noise := table.Column{Name: "noise", Description: "twice the variance of that mean by its pairs"}
	claim := table.Column{Name: "claim", Description: "epistemic variance that the model states itself"}
	distance := table.Column{Name: "distance", Description: "distance to the other groups; 1 for labels"}

	for h, g := range left {
		for k, r := range g.Residual {
			i := k / len(outcomes)
			group.Strings = append(group.Strings, names[h])
			condition.Ints = append(condition.Ints, int64(i))
			outcome.Strings = append(outcome.Strings, outcomes[k%len(outcomes)])
			residual.Floats = append(residual.Floats, r)
			noise.Floats = append(noise.Floats, g.Noise[k])
			claim.Floats = append(claim.Floats, g.Claim[k])
			distance.Floats = append(distance.Floats, g.Distance[i])
		}
	}

	return &table.Table{Columns: []table.Column{group, condition, outcome, residual, noise, claim, distance}}
}

// Groups contains left-out groups that were read from a table. A table without rows gives no groups and no outcomes.
type Groups struct {
	Names    []string      // names of the groups
	Groups   []scale.Group // in the order of Names
	Outcomes int           // number of outcomes of each condition
}

// Read reads left-out groups from a table that Table returned.
func Read(t *table.Table) (*Groups, error) {
	left, err := read(t)
	if err != nil {
		return nil, fmt.Errorf("read left-out groups: %w", err)
	}

	return left, nil
}

// columns has the columns of a table of left-out groups.
type columns struct {
	group     []string
	condition []int64
	outcome   []string

	residual, noise, claim, distance []float64
}

// readColumns returns the columns of a table. It returns an error if a column is absent or has values that Table does
// not write.
func readColumns(t *table.Table) (*columns, error) {
	group := t.Column("group")
	condition := t.Column("condition")
	outcome := t.Column("outcome")
	if group == nil || condition == nil || outcome == nil {
		return nil, errColumns
	}

	n := t.Rows()
	if len(group.Strings) != n || len(condition.Ints) != n || len(outcome.Strings) != n {
		return nil, errColumns
	}

	c := &columns{group: group.Strings, condition: condition.Ints, outcome: outcome.Strings}
	for _, column := range []struct {
		name   string
		values *[]float64
	}{
		{"residual", &c.residual},
		{"noise", &c.noise},
		{"claim", &c.claim},
		{"distance", &c.distance},
	} {
		values, err := numbersOf(t, column.name)
		if err != nil {
			return nil, err
		}

		*column.values = values
	}

	return c, nil
}

// outcomes returns the number of outcomes: the second condition begins where the name of the first outcome occurs
// again.
func (c *columns) outcomes() int {
	n := len(c.outcome)
	outcomes := min(n, 1)
	for outcomes < n && c.outcome[outcomes] != c.outcome[0] {
		outcomes++
	}

	return outcomes
}

// read does the work of Read. Its errors do not name the operation.
func read(t *table.Table) (*Groups, error) {
	c, err := readColumns(t)
	if err != nil {
		return nil, err
	}

	outcomes := c.outcomes()
	left := &Groups{Outcomes: outcomes}
	for i, name := range c.group {
		if i == 0 || name != c.group[i-1] {
			left.Names = append(left.Names, name)
			left.Groups = append(left.Groups, scale.Group{})
		}

		g := &left.Groups[len(left.Groups)-1]
		k := len(g.Residual) // place of the row in its group
		if k%outcomes == 0 {
			g.Conditions++
			g.Distance = append(g.Distance, c.distance[i])
		}

		if c.condition[i] != int64(k/outcomes) || c.outcome[i] != c.outcome[k%outcomes] {
			return nil, fmt.Errorf("expected condition %d of group %s in row %d, found %d", k/outcomes, name, i, c.condition[i])
		}

		g.Residual = append(g.Residual, c.residual[i])
		g.Noise = append(g.Noise, c.noise[i])
		g.Claim = append(g.Claim, c.claim[i])
	}

	for h, g := range left.Groups {
		if len(g.Residual)%outcomes != 0 {
			return nil, fmt.Errorf("expected %d outcomes of each condition, found fewer in group %s", outcomes, left.Names[h])
		}
	}

	return left, nil
}

// errColumns is the error about a table that Table did not return.
var errColumns = errors.New("expected columns group, condition and outcome, found others")

// numbersOf reads a column of finite numbers. Residuals may have either sign, distances must be positive, and
// other numbers must not be negative.
func numbersOf(t *table.Table, name string) ([]float64, error) {
	values, err := t.Floats(name)
	if err != nil {
		return nil, err
	}

	for i, x := range values {
		negative := x < 0 && name != "residual"
		useless := x <= 0 && name == "distance"
		if math.IsNaN(x) || math.IsInf(x, 0) || negative || useless {
			return nil, fmt.Errorf("expected a %s that is finite and not negative, found %g in row %d", name, x, i)
		}
	}

	return values, nil
}
