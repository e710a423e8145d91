package config

import (
	"regexp"
	"slices"

	"doubletake/internal/kv"
)

// patternField matches a field of a pattern of names: {alpha_deg}, {speed:text}.
var patternField = regexp.MustCompile(`\{([^{}:]+)[^{}]*\}`)

// Stated lists the conditions that the configuration names as such: inputs, conditions of splits, groups, inputs of the
// table, and fields of the names of files. Other columns were at most measured alongside. e may be nil.
func (e *Experiment) Stated() []string {
	if e == nil {
		return nil
	}

	stated := slices.Concat(e.Train.Inputs, []string{e.Train.Honest.Groups})
	for _, split := range e.Train.Splits {
		stated = append(stated, split.Each...)
		if split.Test != nil {
			stated = append(stated, split.Test.Conditions()...)
		}
	}

	if e.Ingest.Table != nil {
		stated = append(stated, e.Ingest.Table.Inputs...)
	}

	for _, field := range patternField.FindAllStringSubmatch(e.Ingest.Pattern, -1) {
		stated = append(stated, field[1])
	}

	return stated
}

// Mentions reports whether a setting of the experiment has the name of a condition as a word.
func (e *Experiment) Mentions(condition string) bool {
	const other = `[^_\pL\p{Nd}]`
	word := regexp.MustCompile(`(?:^|` + other + `)` + regexp.QuoteMeta(condition) + `(?:$|` + other + `)`)

	return slices.ContainsFunc(Flatten("", *e), func(kv kv.Pair) bool {
		return word.MatchString(kv.Key + " " + kv.Value)
	})
}
