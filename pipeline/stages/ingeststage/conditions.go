package ingeststage

import (
	"fmt"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/pipeline/stages/plan"
)

// stated gathers what configuration, the file next to it, its attributes and its name state of a
// file; info is nil before it is opened. The set holds what does not contradict even with an error.
func (f *File) stated(src *plan.Source, info *ingest.Info) (*condition.Set, error) {
	s := condition.NewSet(f.Name, plan.Tolerances(src.In.Within))

	var all []condition.Condition
	for _, c := range src.In.Constants {
		all = append(all, condition.Condition{Column: c.Name, Value: c.Value, Origin: condition.Configured})
	}

	all = append(all, f.Sidecar...)
	for _, a := range src.In.Attributes {
		if info == nil || strings.HasPrefix(a.Value, "@") {
			continue
		}

		v, err := condition.Attribute(*info, a.Value, a.Name)
		if err != nil {
			return s, fmt.Errorf("condition %s: %w", a.Name, err)
		}

		all = append(all, condition.Condition{Column: a.Name, Value: v, Origin: "the attribute " + a.Value})
	}

	return s, s.Add(append(all, f.Named...)...)
}

// channelAttributes are the conditions that attributes of channels state.
func channelAttributes(src *plan.Source) (own [][2]string) {
	for _, a := range src.In.Attributes {
		if name, ok := strings.CutPrefix(a.Value, "@"); ok {
			own = append(own, [2]string{a.Name, name})
		}
	}

	return own
}
