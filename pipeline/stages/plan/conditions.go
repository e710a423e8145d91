package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/derive"
	"doubletake/ingest/units"
	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
)

// UnitOf returns the unit and meaning of condition names in common use. For other
// names the unit is empty.
func UnitOf(condition string) (unit, description string) {
	for _, c := range [][3]string{
		{"blades", "", "number of rotor blades"},
		{"rpm", "1/min", "shaft speed, nominal"},
		{"rpm_tracked", "1/min", "shaft speed found in the sound, mean of the two halves"},
		{"rpm_measured", "1/min", "shaft speed by the tachometer, mean of the two halves"},
		{"rps", "1/s", "shaft speed, nominal, in revolutions per second"},
		{"theta_deg", "deg", "microphone angle from the rotor plane"},
		{"phi_deg", "deg", "azimuth of the microphone"},
		{"alpha_deg", "deg", "angle of attack"},
		{"u_inf_m_s", "m/s", "free-stream speed"},
		{"radius_m", "m", "distance of the microphone"},
		{"q_pa", "Pa", "dynamic pressure"},
		{"temperature_c", "°C", "air temperature"},
		{"humidity_pct", "%", "relative humidity of the air"},
		{"pressure_pa", "Pa", "static pressure"},
	} {
		if c[0] == condition {
			return c[1], c[2]
		}
	}
	return "", "condition"
}

// AboutCondition returns the unit and the meaning of a condition.
func (b *Builder) AboutCondition(name string) (unit, description string) {
	unit, description = UnitOf(name)
	if text := b.Derive.Text(name); text != "" {
		description += "; derived: " + text
		if u, ok := units.OfName(name); ok {
			unit = u.Text
		}
	}
	return unit, description
}

// CheckDerived checks what the configuration derives of conditions, constants and
// outcomes, sets b.Derive and b.Outcomes, and adds the derived conditions to b.Conditions. constants
// are those that are no conditions. Conditions derived of b.Found are found as those.
func (b *Builder) CheckDerived(constants []config.NamedNumber, outcomes []string) error {
	defer func() { b.Outcomes = slices.Concat(outcomes, b.Derive.Outcomes()) }()
	list := b.Exp.Ingest.Derive
	if len(list) == 0 {
		return nil
	}
	at := b.At + ".ingest.derive."
	defs := make([]derive.Definition, len(list))
	for i, d := range list {
		defs[i] = derive.Definition{Name: d.Name, Text: d.Value}
		for _, o := range outcomes {
			if end, ok := strings.CutPrefix(d.Name, o+"_"); ok && slices.Contains(dsp.ByProductSuffixes(), end) {
				return b.File.Errorf(at+d.Name, "the tables have columns of that name with the outcome %s; choose another", o)
			}
		}
	}
	fixed := map[string]float64{}
	for _, c := range constants {
		fixed[c.Name] = c.Value
	}
	set, err := derive.New(defs, fixed, b.Conditions, outcomes)
	var bad *derive.Error
	if errors.As(err, &bad) {
		return b.File.Errorf(at+bad.Name, "%v", bad)
	}
	if err != nil {
		return err
	}
	b.Derive = set
	early := slices.DeleteFunc(slices.Clone(b.Conditions), func(c string) bool { return slices.Contains(b.Found, c) })
	late := b.Found
	for _, name := range set.Conditions() {
		if slices.ContainsFunc(b.Found, func(f string) bool { return set.Needs(name, f) }) {
			late = append(late, name)
		} else {
			early = append(early, name)
		}
	}
	b.Conditions, b.Found = slices.Concat(early, late), late
	return nil
}

// Derived are the definitions of those names, as settings.
func (b *Builder) Derived(names []string) (out []kv.Pair) {
	for _, n := range names {
		if text := b.Derive.Text(n); text != "" {
			out = append(out, kv.Pair{Key: "ingest.derive." + n, Value: text})
		}
	}
	return out
}

// Digest is the SHA-256, as hex, of the settings in order.
func Digest(sections ...[]kv.Pair) string {
	h := sha256.New()
	for _, s := range sections {
		for _, kv := range s {
			fmt.Fprintf(h, "%d:%s%d:%s", len(kv.Key), kv.Key, len(kv.Value), kv.Value)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ReadJSON decodes the JSON file at path into v.
func ReadJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// WriteJSON writes v as a JSON file with a final newline.
func WriteJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
