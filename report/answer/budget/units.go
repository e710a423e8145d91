package budget

import (
	"slices"
	"strconv"

	"doubletake/report/pairs"
)

// This file finds the observations of a campaign and numbers their units. The levels of repetition are, from the
// widest: the units above the runs, such as days, if the options or the pairs name them; the runs; and the observations
// themselves, unless each observation is a run.

// numbering numbers keys in the order of their first appearance.
type numbering[K comparable] map[K]int

// id returns the number of a key. It adds the key if it is new.
func (n numbering[K]) id(key K) int {
	if _, known := n[key]; !known {
		n[key] = len(n)
	}
	return n[key]
}

// runPart identifies a part of a run.
type runPart struct {
	run string // name of the run

	// wholeRun, or 1 plus the number of the half of the recording, or of the row of the user's table.
	part int
}

// wholeRun is the part of an observation that is the outcome of a run.
const wholeRun = 0

// observationKey identifies an observation: cells with equal keys belong to one observation.
type observationKey struct {
	condition int // number of the condition
	runPart
}

// unitKey identifies a unit of a level.
type unitKey struct {
	around int    // number of the unit that contains it
	name   string // of the day or the run
}

// unitNumbers numbers the units of each level, and their names.
type unitNumbers struct {
	conditions numbering[string]
	above      numbering[unitKey] // the units above the runs, such as days
	runs       numbering[unitKey]
	aboveNames numbering[string]
	runNames   numbering[runPart]
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
	numbers := unitNumbers{
		conditions: numbering[string]{}, above: numbering[unitKey]{}, runs: numbering[unitKey]{},
		aboveNames: numbering[string]{}, runNames: numbering[runPart]{},
	}
	rowRuns := c.rowRuns()
	known := map[observationKey]int{} // number of each observation
	for row := range c.Rows() {
		condition := numbers.conditions.id(c.conditionKey(row))
		c.condition = append(c.condition, condition)
		c.rows[condition] = append(c.rows[condition], row)
		runs := pairs.RunsOf(c.Table, row)
		isOneRun := len(runs) == 1 // both outcomes of the row are parts of one run
		for half := range c.perRow {
			part := runPart{runs[min(half, len(runs)-1)], wholeRun}
			switch {
			case rowRuns != nil: // each row of the user's table is a run of its own
				part.part = 1 + rowRuns[row][half]
			case isOneRun:
				part.part = 1 + half
			}

			key := observationKey{condition: condition, runPart: part}
			if number, isKnown := known[key]; isKnown {
				// A whole run that is in several pairs counts once. Equal parts of a run are averaged.
				if isOneRun && rowRuns == nil {
					c.cells[number] = append(c.cells[number], tableCell{row, half})
				}

				continue
			}

			known[key] = len(c.cells)
			c.cells = append(c.cells, []tableCell{{row, half}})

			name := runPart{part.run, wholeRun}
			if repeats { // two runs of one name are two units
				name.part = part.part
			}

			c.addUnits(numbers, observationUnits{row, condition, name}, above, repeats)
		}
	}
}

// rowRuns returns, for each pair, the numbers from 0 of the two rows of the user's table that were paired. Rows are
// numbered among the rows with the same name of a run. The numbers are needed if the user's table has no column of
// runs: each of its rows is then a run of its own. rowRuns returns nil if it has such a column, or if pairs were not
// made of its rows.
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

// observationUnits says to which units an observation belongs.
type observationUnits struct {
	row       int
	condition int     // number of the condition
	name      runPart // of the run, or of the observation if each outcome is a run
}

// addUnits appends the units of an observation to c.units, and their names to c.names: the condition, the unit above
// the runs if above is not nil, and the run if the observation is a part of it (repeats is false).
func (c *campaign) addUnits(numbers unitNumbers, observation observationUnits, above []string, repeats bool) {
	runLevel := 0
	unit := observation.condition
	c.units[0] = append(c.units[0], unit)
	if above != nil {
		day := above[observation.row]
		unit = numbers.above.id(unitKey{unit, day})
		c.units[depthOf(0)] = append(c.units[depthOf(0)], unit)
		c.names[0] = append(c.names[0], numbers.aboveNames.id(day))
		runLevel = 1
	}

	if !repeats {
		run := c.Column("run").Strings[observation.row]
		depth := depthOf(runLevel)
		c.units[depth] = append(c.units[depth], numbers.runs.id(unitKey{unit, run}))
	}

	c.names[runLevel] = append(c.names[runLevel], numbers.runNames.id(observation.name))
}

// levelNames returns the names of the levels below the condition, without the level above the runs. repeats says that
// each outcome is a run.
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
		key += " " + strconv.FormatFloat(v[row]+0, 'g', -1, 64) // −0 is 0
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
	first := map[int]int{}  // by unit: the name that occurs in it first
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
