package scaffold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest"
)

// Channels of one rate, without unit: an engineer reads from the names which sets are of a balance or of coefficients,
// and which are of microphones.
func TestChannelsCalledAsLoads(t *testing.T) {
	for names, want := range map[string]bool{
		"Cp_wt,J_wt":                      true,
		"thrust,torque,rpm":               true,
		"data.Fy,data.Fz,data.Mx":         true,
		"Schub,Drehmoment":                true,
		"CL,CD,alpha,beta":                true,
		"mic1,mic2":                       false,
		"p1,p2,p3":                        false,
		"noise":                           false,
		"level_left,level_right":          false,
		"mic1,mic2,mic3,mic4,torque":      false,
		"ch0,ch1":                         false,
		"data.rpm,data.voltage,data.gyro": false,
	} {
		var channels []ingest.Channel
		var used []int
		for i, name := range strings.Split(names, ",") {
			channels = append(channels, ingest.Channel{Name: name})
			used = append(used, i)
		}

		assert.Equal(t, want, areLoads(channels, used), names)
	}
}
