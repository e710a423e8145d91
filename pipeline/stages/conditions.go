package stages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// unitOf gives the unit and meaning of condition names in common use; others
// are the user's own and have none that we know of.
func unitOf(condition string) (unit, description string) {
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
		{"pressure_pa", "Pa", "static pressure"},
	} {
		if c[0] == condition {
			return c[1], c[2]
		}
	}
	return "", "condition"
}

// foundByDSP tells the conditions that only the analysis of a run finds out.
func foundByDSP(condition string) bool {
	return condition == "rpm_tracked" || condition == "rpm_measured"
}

func digest(sections ...[]engine.KV) string {
	h := sha256.New()
	for _, s := range sections {
		for _, kv := range s {
			fmt.Fprintf(h, "%d:%s%d:%s", len(kv.Key), kv.Key, len(kv.Value), kv.Value)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkSplits reports hold-out rules and inputs that cannot work, as far as the
// conditions are known before any file is read: unknown names, a side of a
// split that stays empty, an input that does not vary over the training set.
func (b *builder) checkSplits() error {
	tr, key := &b.e.Train, b.at+".train"
	unknown := func(key, name string) error {
		near := ""
		if n := config.Nearest(name, b.conditions); n != "" {
			near = fmt.Sprintf("; did you mean %q?", n)
		}
		return b.f.Errorf(key, "%q is not a condition of this experiment, which has %s%s", name, strings.Join(b.conditions, ", "), near)
	}
	for _, in := range tr.Inputs {
		if !slices.Contains(b.conditions, in) {
			return unknown(key+".inputs", in)
		}
	}
	for _, s := range tr.Splits {
		at := key + ".splits." + s.Name
		for _, t := range s.Test {
			if !slices.Contains(b.conditions, t.Condition) {
				return unknown(at+".test."+t.Condition, t.Condition)
			}
		}
		if err := b.checkSplit(at, s); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) checkSplit(at string, s config.Split) error {
	if len(b.known) == 0 {
		return nil
	}
	var test, train int
	first, varies := map[string]float64{}, map[string]bool{}
	for _, c := range b.known {
		held, known := holds(s.Test, c)
		if !known {
			return nil // depends on what the files say
		}
		if held {
			test++
			continue
		}
		train++
		for _, in := range b.e.Train.Inputs {
			if v, ok := first[in]; !ok {
				first[in] = c[in]
			} else if v != c[in] {
				varies[in] = true
			}
		}
	}
	switch {
	case test == 0:
		return b.f.Errorf(at, "%s holds for none of the %d conditions: the test set would be empty%s", s.Test, len(b.known), b.values(s.Test))
	case train == 0:
		return b.f.Errorf(at, "%s holds for all %d conditions: the training set would be empty; hold out less", s.Test, len(b.known))
	}
	for _, in := range b.e.Train.Inputs {
		if _, ok := b.known[0][in]; ok && !varies[in] {
			return b.f.Errorf(b.at+".train.inputs", "%q is constant (%g) in the training set of split %q: the network cannot learn from it; take it out of the inputs or hold out something else", in, first[in], s.Name)
		}
	}
	return nil
}

// values lists what the conditions of a rule are, to choose from.
func (b *builder) values(r config.Rule) string {
	return valuesOf(r, func(condition string) (v []float64) {
		for _, c := range b.known {
			if x, ok := c[condition]; ok {
				v = append(v, x)
			}
		}
		return v
	})
}

func valuesOf(r config.Rule, of func(condition string) []float64) string {
	for _, t := range r {
		v := slices.Clone(of(t.Condition))
		slices.Sort(v)
		v = slices.Compact(v)
		if len(v) > 0 && !slices.ContainsFunc(v, t.Holds) {
			if len(v) > 12 {
				return fmt.Sprintf("; %s lies in %g … %g", t.Condition, v[0], v[len(v)-1])
			}
			return fmt.Sprintf("; %s is one of %s", t.Condition, strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ", "), "[]"))
		}
	}
	return ""
}

// holds reports whether all terms of r hold for the conditions c; known is
// false when c lacks one of them.
func holds(r config.Rule, c map[string]float64) (held, known bool) {
	held = true
	for _, t := range r {
		v, ok := c[t.Condition]
		if !ok {
			return false, false
		}
		held = held && t.Holds(v)
	}
	return held, true
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
