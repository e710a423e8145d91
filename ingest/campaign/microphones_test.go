package campaign

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Headers of tables of microphones in several languages are known. Other headers stay conditions.
func TestMicrophoneColumns(t *testing.T) {
	for _, c := range []struct{ head, name string }{
		{"Kanal", "channel"},
		{"Kanal-Nr.", "channel"},
		{"Mikrofon", "channel"},
		{"Mikrofon Nr", "channel"},
		{"mic", "channel"},
		{"Mic No.", "channel"},
		{"Microphone #", "channel"},
		{"Ch", "channel"},
		{"voie", "channel"},
		{"Canal", "channel"},
		{"canale", "channel"},
		{"Micrófono", "channel"},
		{"kanaal", "channel"},
		{"Empfindlichkeit [mV/Pa]", "sensitivity_v_per_pa"},
		{"Sensitivity (mV/Pa)", "sensitivity_v_per_pa"},
		{"sensibilité [mV/Pa]", "sensitivity_v_per_pa"},
		{"sensibilità [V/Pa]", "sensitivity_v_per_pa"},
		{"Verstärkung [dB]", "gain_db"},
		{"Gain (dB)", "gain_db"},
		{"guadagno [dB]", "gain_db"},
		{"Winkel zur Achse [°]", "theta_deg"},
		{"angle from axis (deg)", "theta_deg"},
		{"Winkel zur Rotorebene [°]", "theta_deg"},
		{"Angle to the rotor axis [deg]", "theta_deg"},
		{"angle à l'axe [°]", "theta_deg"},
		{"angle par rapport à l'axe [°]", "theta_deg"},
		{"angle avec l'axe du rotor [°]", "theta_deg"},
		{"angle_to_rotor_axis", "theta_deg"},
		{"angle_from_axis [deg]", "theta_deg"},
		{"angle from the axis of rotation [deg]", "theta_deg"},
		{"Winkel von der Drehachse [°]", "theta_deg"},
		{"angolo dall'asse [°]", "theta_deg"},
		{"angolo con l'asse [°]", "theta_deg"},
		{"ángulo desde el eje [°]", "theta_deg"},
		{"ángulo con el eje del rotor [°]", "theta_deg"},
		{"angulo al eje [°]", "theta_deg"},
		{"hoek van de as [°]", "theta_deg"},
		{"hoek tot de as [°]", "theta_deg"},
		{"hoek met de rotoras [°]", "theta_deg"},
		{"hoek ten opzichte van het rotorvlak [°]", "theta_deg"},
	} {
		assert.Equal(t, map[string]string{c.name: c.head}, MicrophoneColumns([]string{"x [m]", c.head}, nil), c.head)
	}

	for _, head := range []string{
		"Winkel [°]", "angle (deg)", "channel", "theta_deg", "serial", "Mikrofontyp", "Abstand [m]", "Kanalbreite [m]",
		"angle as measured [deg]", "angle of attack [deg]", "hoek [°]", "eje", "as",
	} {
		assert.Empty(t, MicrophoneColumns([]string{head}, nil), head)
	}

	assert.Equal(t, map[string]string{"channel": "Kanal"}, MicrophoneColumns([]string{"Mikrofon", "Kanal"}, nil),
		"a channel beside the name of a microphone")
	assert.Empty(t, MicrophoneColumns([]string{"Kanal"}, map[string]string{"channel": "Pos"}), "the user names the column")
}

// The header of an angle says whether it is counted from the axis.
func TestIsFromAxis(t *testing.T) {
	for head, want := range map[string]bool{
		"Winkel zur Achse [°]": true, "angle from axis (deg)": true, "angolo dall'asse [°]": true,
		"hoek van de as [°]": true, "hoek met de rotoras [°]": true, "ángulo con el eje del rotor [°]": true,
		"angle_to_rotor_axis": true, "hoek tot het rotorvlak [°]": false, "angle of the canvas": false,
		"Winkel zur Rotorebene [°]": false, "angle to the plane": false, "theta_deg": false, "": false,
	} {
		assert.Equal(t, want, IsFromAxis(head), head)
	}
}
