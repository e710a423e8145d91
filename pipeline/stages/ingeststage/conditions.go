package ingeststage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// attributeConditions adds the conditions in the file's attributes, and those of
// its sidecar, to the constants.
func attributeConditions(src *plan.Source, info ingest.Info, side []config.NamedNumber) (map[string]float64, error) {
	out := maps.Clone(src.Constants)
	for _, v := range side {
		if old, ok := out[v.Name]; ok && old != v.Value {
			return nil, &fault.Error{
				Path: info.Path, Place: "condition " + v.Name,
				Want: fmt.Sprintf("%v, as in the configuration", old), Found: fmt.Sprintf("%v in the file next to it", v.Value),
			}
		}

		out[v.Name] = v.Value
	}

	for _, a := range src.In.Attributes {
		if strings.HasPrefix(a.Value, "@") {
			continue
		}

		v, err := ingest.AttributeNumber(info, a.Value)
		if err != nil {
			return nil, fmt.Errorf("condition %s: %w", a.Name, err)
		}

		if old, ok := out[a.Name]; ok && old != v {
			return nil, &fault.Error{
				Path: info.Path, Place: "condition " + a.Name, Want: fmt.Sprintf("%v, as in the file next to it", old),
				Found: fmt.Sprintf("%v in the attribute %s", v, a.Value),
			}
		}

		out[a.Name] = v
	}

	return out, nil
}

// conditionSources are where the conditions of a file come from, for messages: its attributes
// and its sidecar.
func conditionSources(src *plan.Source, side []config.NamedNumber) map[string]string {
	from := map[string]string{}
	for _, v := range side {
		from[v.Name] = "the file next to it"
	}

	for _, a := range src.In.Attributes {
		from[a.Name] = "the attribute " + a.Value
	}

	return from
}

// channelConditions adds to each recording the conditions in its channel's
// attributes.
func channelConditions(src *plan.Source, info ingest.Info, runs []ingest.Run) error {
	within := plan.Tolerances(src.In.Within)
	for _, a := range src.In.Attributes {
		name, own := strings.CutPrefix(a.Value, "@")
		if !own {
			continue
		}

		for _, run := range runs {
			for _, rec := range run.Recordings {
				c := info.Channels[rec.Channels[0]]
				v, err := ingest.AttributeNumber(ingest.Info{Path: info.Path, Attributes: c.Attributes}, name)
				if err != nil {
					return fmt.Errorf("condition %s of channel %s: %w", a.Name, c.Name, err)
				}

				if old, ok := rec.Conditions[a.Name]; ok && !within[a.Name].Equal(old, v) {
					return &fault.Error{
						Path: info.Path, Place: "condition " + a.Name, Want: fmt.Sprintf("%v, as in %s", old, otherSource(src, a.Name)),
						Found: fmt.Sprintf("%v in channel %s", v, c.Name),
					}
				}

				rec.Conditions[a.Name] = v
			}
		}
	}

	return nil
}

// otherSource is where a condition comes from that a channel's attribute states too.
func otherSource(src *plan.Source, name string) string {
	switch {
	case src.Table != nil && slices.Contains(src.Table.Names, name):
		return "the table of conditions"
	case src.Pattern != nil && slices.Contains(src.Pattern.Names(), name):
		return "the file's name"
	}

	return "the configuration or the file next to it"
}
