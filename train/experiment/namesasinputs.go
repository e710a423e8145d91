package experiment

import (
	"slices"

	"doubletake/ingest/setting"
)

// NumbersAndNames separates the inputs that are columns of names from the inputs that are numbers, which the network
// takes. labels are the columns of names, base is the method of the intervals, and across is the occasion across which
// repeats are paired, or "". NumbersAndNames returns a *setting.Error about the setting inputs if names cannot be
// inputs.
func NumbersAndNames(inputs, labels []string, base, across string) (numbers, names []string, err error) {
	for _, input := range inputs {
		if slices.Contains(labels, input) {
			names = append(names, input)
		} else {
			numbers = append(numbers, input)
		}
	}

	const key = "inputs"
	switch {
	case len(names) == 0:
		return numbers, nil, nil
	case len(numbers) == 0:
		return nil, nil, setting.Errorf(key,
			"%v are names: expected a condition of numbers too, which the network's inputs are", names)
	case base != "gp":
		return nil, nil, setting.Errorf(key, "%v are names, which the process of the intervals takes alone: expected "+
			"honest: {base: gp}, found %s", names, base)
	case slices.Contains(names, across):
		return nil, nil, setting.Errorf(key, "repeats are paired across %s: it cannot be an input too", across)
	}

	return numbers, names, nil
}
