package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
)

// maxReadings bounds a table of readings, which is held in memory.
const maxReadings = 1_000_000

// group numbers of quantities that share degrees of freedom.
const (
	together = 1 // readings that were taken together
	repeated = 2 // levels of one campaign
)

// OfFile reads the budgets of a file, one for each of its outcomes, and their level.
func OfFile(path string) ([]Budget, float64, error) {
	f, err := config.LoadBudget(path)
	if err != nil {
		return nil, 0, err
	}

	var b Budget
	b.GroupDoF = map[int]float64{}
	for _, in := range f.Inputs {
		u, _ := config.ParseUncertainty(in.Value) // checked before
		q := Quantity{
			Name: in.Name, Source: in.Name, Value: u.Value, U: u.U, DoF: u.DoF, A: u.Observed, Law: u.Law,
		}
		if u.Percent {
			q.U *= math.Abs(q.Value)
		}

		b.Quantities = append(b.Quantities, q)
	}

	if f.Readings != "" {
		if err := b.read(f); err != nil {
			return nil, 0, err
		}
	}

	var out []Budget
	for _, o := range f.Outcomes {
		b.Outcome, b.Model = o.Name, o.Value
		out = append(out, b)
	}

	return out, f.Level, nil
}

// read adds the quantities of a table of readings: their means, which are correlated as the readings are, or,
// in groups, the means of nested observations.
func (b *Budget) read(f *config.Budget) error {
	cells, err := campaign.ReadCells(f.Readings, maxReadings)
	if err != nil {
		return err
	}

	n := len(cells.Rows)
	bad := func(place, want, found string) error {
		return &fault.Error{Path: f.Readings, Place: place, Want: want, Found: found}
	}

	if n < 2 {
		return bad("", "at least two readings", strconv.Itoa(n))
	}

	groups := make([]int, n)
	if f.Groups != "" {
		k := slices.Index(cells.Columns, f.Groups)
		if k < 0 {
			return bad("", "a column "+f.Groups, strings.Join(cells.Columns, ", "))
		}

		names := map[string]int{}
		for i, row := range cells.Rows {
			if _, known := names[row[k]]; !known {
				names[row[k]] = len(names)
			}
			groups[i] = names[row[k]]
		}
	}

	first := len(b.Quantities)
	var columns [][]float64
	for k, name := range cells.Columns {
		if name == f.Groups {
			continue
		}

		v := make([]float64, n)
		for i, row := range cells.Rows {
			if v[i], err = strconv.ParseFloat(row[k], 64); err != nil || v[i]-v[i] != 0 {
				return bad(fmt.Sprintf("row %d, column %s", i+1, name), "a number", strconv.Quote(row[k]))
			}
		}

		q := Quantity{Name: name, Source: name + ", mean of " + fault.Plural(int64(n), "reading"), A: true, Law: "normal"}
		q.Value = stat.Mean(v, nil)
		if f.Groups != "" {
			units := [][]int{make([]int, n), groups}
			parts, dof := Variances(v, units).OfMean(units, all(n))
			q.U, q.DoF = math.Sqrt(parts[0]+parts[1]), dof
			q.Source += " in " + f.Groups + "s"
		} else {
			q.U, q.DoF, q.Group = stat.StdDev(v, nil)/math.Sqrt(float64(n)), float64(n-1), together
			for other, w := range columns {
				r := stat.Correlation(v, w, nil)
				if r != r {
					continue // one of them is constant
				}

				q.Related = append(q.Related, Relation{first + other, r})
				x := &b.Quantities[first+other]
				x.Related = append(x.Related, Relation{len(b.Quantities), r})
			}
		}

		columns = append(columns, v)
		b.Quantities = append(b.Quantities, q)
	}

	b.GroupDoF[together] = float64(n - 1)
	if len(columns) == 0 {
		return bad("", "a column of readings", strings.Join(cells.Columns, ", "))
	}

	return nil
}

func all(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}

	return rows
}
