package budget

import (
	"slices"
	"strconv"

	"doubletake/report/pairs"
)

// This file finds the observations of a campaign and numbers their units.

// numbering numbers keys in the order of their first appearance.
type numbering map[string]int

// id returns the number of a key. It adds the key if it is new.
func (n numbering) id(key string) int {
	if _, known := n[key]; !known {
		n[key] = len(n)
	}
	return n[key]
}

// numberUnits finds the observations of all rows, and numbers their units of all levels. above names the unit above the
// runs of each row; it is nil if there is none.
func (c *campaign) numberUnits(above []string) {
	repeats := c.Get("pairs") == "repeat-run" // each outcome of a pair is a run
	c.levels = c.levelNames(repeats)
	if above != nil {
		c.levels = slices.Insert(c.levels, 0, c.Above)
	}

	c.units = make([][]int, len(c.levels))
	c.names = make([][]int, len(c.levels))
	c.rows = map[int][]int{}
	ids := numbering{}
	rowRuns := c.rowRuns()
	known := map[string]int{} // observations by their marks
	for i := range c.Rows() {
		key := c.conditionKey(i)
		id := ids.id(key)
		c.condition = append(c.condition, id)
		c.rows[id] = append(c.rows[id], i)
		runs := pairs.RunsOf(c.Table, i)
		for half := range c.perRow {
			run := runs[min(half, len(runs)-1)]
			part := "" // of the run; both halves of a row are parts of one run if the row has one
			if len(runs) == 1 {
				part = "\x01" + strconv.Itoa(half)
			}

			if rowRuns != nil {
				part = "\x01row" + strconv.Itoa(rowRuns[i][half])
			}

			// Rows with the same mark are parts of one observation.
			mark := key + "\x01" + run + part
			if number, isKnown := known[mark]; isKnown {
				if len(runs) == 1 && rowRuns == nil { // otherwise the run is part of several pairs, and counts once
					c.cells[number] = append(c.cells[number], tableCell{i, half})
				}

				continue
			}

			known[mark] = len(c.cells)
			c.cells = append(c.cells, []tableCell{{i, half}})

			name := run
			if repeats { // two runs that have one name together are two units
				name += part
			}

			c.addUnits(ids, observationKeys{row: i, condition: key, name: name}, above, repeats)
		}
	}
}

// rowRuns returns, for each pair, the numbers of the two rows of the user's table that were paired. Rows are numbered
// among the rows with the same name of a run. The numbers are needed if the user's table has no column of runs: each of
// its rows is then a run of its own. rowRuns returns nil if it has such a column, or if pairs were not made of its
// rows.
func (c *campaign) rowRuns() [][2]int {
	isOfRows := c.Get("pairs") == "repeat-run" && c.Get("config:ingest.table.repeats") != ""
	if !isOfRows || c.Get("config:ingest.table.run") != "" || c.perRow != 2 {
		return nil
	}

	hasAllPairs := c.Get("config:ingest.table.use") == "all"
	pairsOf := map[string][]int{} // by name of the run
	for i, run := range c.Column("run").Strings {
		pairsOf[run] = append(pairsOf[run], i)
	}

	numbers := make([][2]int, c.Rows())
	for _, list := range pairsOf {
		first := 0 // of the n rows, whose pairs come as (0, 1), (0, 2) … (n−2, n−1)
		second := 0
		count := rowsOfPairs(len(list))
		for k, i := range list {
			numbers[i] = [2]int{2 * k, 2*k + 1}
			if !hasAllPairs {
				continue
			}

			second++
			if second == count {
				first++
				second = first + 1
			}

			numbers[i] = [2]int{first, second}
		}
	}

	return numbers
}

// rowsOfPairs returns the number n of rows that have n·(n−1)/2 pairs.
func rowsOfPairs(pairs int) int {
	n := 2
	for n*(n-1)/2 < pairs {
		n++
	}

	return n
}

// observationKeys are the keys from which addUnits makes the units of an observation.
type observationKeys struct {
	row       int
	condition string // of conditionKey
	name      string // of the run
}

// addUnits appends the units of an observation to units, and their names to names: the condition, the unit above the
// runs if above is not nil, and the run if it is not the observation itself. Characters that names do not contain keep
// the keys of different levels apart.
func (c *campaign) addUnits(ids numbering, keys observationKeys, above []string, repeats bool) {
	runLevel := 0
	unit := keys.condition
	c.units[0] = append(c.units[0], ids.id(unit))
	if above != nil {
		day := "\x02" + above[keys.row]
		unit += day
		c.units[depthOf(0)] = append(c.units[depthOf(0)], ids.id(unit))
		c.names[0] = append(c.names[0], ids.id(day))
		runLevel = 1
	}

	if !repeats {
		run := c.Column("run").Strings[keys.row]
		c.units[depthOf(runLevel)] = append(c.units[depthOf(runLevel)], ids.id(unit+"\x03"+run))
	}

	c.names[runLevel] = append(c.names[runLevel], ids.id("\x03"+keys.name))
}

// levelNames returns the names of the levels below the condition, without the level above the runs.
func (c *campaign) levelNames(repeats bool) []string {
	if repeats {
		return []string{"repeats"} // a value is a run
	}

	switch c.Get("construction") {
	case "random-samples":
		return []string{"runs", "samples of a recording"}
	case "":
		return []string{"runs", "outcomes of a run"}
	}

	return []string{"runs", "halves of a recording"}
}

// conditionKey returns a key that is equal for rows of one condition.
func (c *campaign) conditionKey(row int) string {
	key := "c"
	for _, v := range c.values {
		key += " " + strconv.FormatFloat(v[row], 'g', -1, 64)
	}

	for _, t := range c.texts {
		key += "\x00" + c.Column(t).Strings[row]
	}

	return key
}

// crossedFreedom returns the number of degrees of freedom of the differences between names within units: the number of
// names less the number of sets of names. Names that occur in the same unit are in one set. names and units have the
// name and the unit of each observation.
func crossedFreedom(names, units []int) float64 {
	parent := map[int]int{} // joins names to sets: following it from a name ends at the root of the set, its own parent
	first := map[int]int{}  // a name that occurs in each unit
	root := func(n int) int {
		for parent[n] != n {
			n = parent[n]
		}
		return n
	}

	sets := 0
	for i, n := range names {
		if _, known := parent[n]; !known {
			parent[n] = n
			sets++
		}

		other, known := first[units[i]]
		if !known {
			first[units[i]] = n
			continue
		}

		if a, b := root(n), root(other); a != b {
			parent[a] = b
			sets--
		}
	}

	return float64(len(parent) - sets)
}
