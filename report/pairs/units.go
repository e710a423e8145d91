package pairs

import "doubletake/ingest/units"

// commonConditions contains the units and meanings of conditions with common names.
var commonConditions = map[string]struct{ unit, meaning string }{
	"blades":        {"", "number of rotor blades"},
	"rpm":           {"1/min", "shaft speed, nominal"},
	"rpm_tracked":   {"1/min", "shaft speed found in the sound, mean of the two halves"},
	"rpm_measured":  {"1/min", "shaft speed by the tachometer, mean of the two halves"},
	"rps":           {"1/s", "shaft speed, nominal, in revolutions per second"},
	"theta_deg":     {"deg", "microphone angle from the rotor plane"},
	"phi_deg":       {"deg", "azimuth of the microphone"},
	"alpha_deg":     {"deg", "angle of attack"},
	"u_inf_m_s":     {"m/s", "free-stream speed"},
	"radius_m":      {"m", "distance of the microphone"},
	"q_pa":          {"Pa", "dynamic pressure"},
	"temperature_c": {"°C", "air temperature"},
	"humidity_pct":  {"%", "relative humidity of the air"},
	"pressure_pa":   {"Pa", "static pressure"},
}

// UnitOf returns the unit and a description of a condition. If its name is not common, the unit is the one that the
// ending of the name states, and the description is just "condition".
func UnitOf(condition string) (unit, description string) {
	if c, common := commonConditions[condition]; common {
		return c.unit, c.meaning
	}

	u, _ := units.OfName(condition)

	return u.Text, "condition"
}
