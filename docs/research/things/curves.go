package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// measuredSet is a measured campaign with names.
type measuredSet struct {
	name   string
	labels int // labels with offsets
	read   func() (campaign, error)
}

// measuredSets are the campaigns of the part measured, and those of the collection if it is here.
func measuredSets() []measuredSet {
	list := []measuredSet{
		{"Princeton, sessions", 1, princeton},
		{"Cyclone, files", 1, cyclone},
		{"turbine, tow speeds as names", 1, turbine},
		{"stand, motors", 1, standByMotor},
		{"stand, motors and propellers", 2, standByMotor},
		{"stand, propellers", 1, standByName},
	}
	if collection() == "" {
		return list
	}

	for _, d := range collected {
		name := strings.TrimSuffix(path.Base(d.path), ".csv")
		list = append(list, measuredSet{name, 1, d.read})
	}

	return list
}

// mostlyHeldOut holds out two of three conditions of each name in turn: those of the name's conditions, in ascending
// order, whose places are not 1, 4, 7 and so on.
func mostlyHeldOut(c campaign) (list []campaign) {
	for _, one := range eachHeldOut(c) {
		var conditions []int
		for _, i := range one.RowsOf(triplets.Test) {
			conditions = append(conditions, one.Condition[i])
		}

		slices.SortFunc(conditions, func(a, b int) int { return slices.Compare(one.conditionAt(a), one.conditionAt(b)) })
		conditions = slices.Compact(conditions)
		for _, i := range one.RowsOf(triplets.Test) {
			if slices.Index(conditions, one.Condition[i])%3 == 1 {
				one.Part[i] = triplets.Train
			}
		}

		list = append(list, one)
	}

	return list
}

// conditionAt is the values of the inputs of a condition.
func (c campaign) conditionAt(condition int) []float64 {
	i := slices.Index(c.Condition, condition)
	return c.X[i*c.In : (i+1)*c.In]
}

// curves writes a line for each held-out name of the measured sets, as a new name and as one of which a third of the
// conditions is known: the numbers of judged with offsets alone and by the default, which gives names curves of their
// own where the evidence asks for them. Both choose a form of inputs and outcomes.
func curves() error {
	out := csv.NewWriter(os.Stdout)
	head := []string{"set", "asked", "name", "names", "rows", "curves"}
	for _, who := range []string{"offsets", "default"} {
		for _, column := range []string{"0.68", "0.9", "0.95", "0.98", "half", "score", "crps", "error"} {
			head = append(head, who+"_"+column)
		}
	}

	if err := out.Write(head); err != nil {
		return err
	}

	for _, m := range measuredSets() {
		c, err := m.read()
		if err != nil {
			return fmt.Errorf("read %s: %w", m.name, err)
		}

		for _, question := range []struct {
			name string
			list []campaign
		}{{"new name", eachHeldOut(c)}, {"known name", mostlyHeldOut(c)}} {
			for _, one := range question.list {
				line, err := m.bothWays(question.name, one)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", m.name, question.name, err)
				}

				if err := out.Write(line); err != nil {
					return err
				}

				out.Flush()
			}
		}
	}

	return out.Error()
}

// bothWays is the line of a campaign of which a name, or a part of it, is held out.
func (m measuredSet) bothWays(question string, c campaign) ([]string, error) {
	byDefault := byName("default", m.labels).form("auto")
	offsets, err := judged(c, byDefault.offsetsAlone())
	if err != nil {
		return nil, err
	}

	found, err := judged(c, byDefault)
	if err != nil {
		return nil, err
	}

	test := c.RowsOf(triplets.Test)
	_, names := lists.Index(c.thing)
	line := []string{
		m.name, question, c.thing[test[0]], strconv.Itoa(len(names)), strconv.Itoa(len(test)),
		strconv.FormatFloat(found[len(found)-1], 'f', -1, 64),
	}
	for _, v := range slices.Concat(offsets[:8], found[:8]) {
		line = append(line, strconv.FormatFloat(v, 'g', 6, 64))
	}

	return line, nil
}
