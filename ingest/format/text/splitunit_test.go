package text

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The last part of a channel's path, as a person reads it: slashes and points in a unit belong to the name.
func TestLastPart(t *testing.T) {
	for channel, want := range map[string]string{
		"":                          "",
		"Fx":                        "Fx",
		"Fx (N)":                    "Fx (N)",
		"/run1/Fx":                  "Fx",
		"Balance.Fx":                "Fx",
		"Log/rpm":                   "rpm",
		"Log/Airspeed (m/s)":        "Airspeed (m/s)",
		"Log/Airspeed [m/s] (mean)": "Airspeed [m/s] (mean)",
		"Log/Airspeed m/s":          "Airspeed m/s",
		"Log data/Airspeed":         "Airspeed",
		"Run (1)/Airspeed (m/s)":    "Airspeed (m/s)",
		"Run (1)/Airspeed":          "Airspeed",
		"Signal_0.Throttle (0.1 %)": "Throttle (0.1 %)",
		"Signal_0.values[1,2]":      "values[1,2]",
	} {
		assert.Equal(t, want, LastPart(channel), "%q", channel)
	}
}
