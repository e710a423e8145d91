package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

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

// FoundByDSP reports whether a condition is a result of the analysis of a run,
// unknown before it.
func FoundByDSP(condition string) bool {
	return condition == "rpm_tracked" || condition == "rpm_measured"
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
