package vocabulary

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Names of recordings without wind and of backgrounds, in several languages, beside names that only resemble them.
func TestSetupNames(t *testing.T) {
	for _, name := range []string{
		"tare", "tare1_m1_u20", "Tare_u20_before", "tares_m2", "zero_01", "Zero", "Null", "Nullmessung_vor", "nullpunkt2",
		"wind-off_1", "windoff_u20", "wind_aus_3", "WindAus", "ohne_Wind_2", "no wind 3", "nowind", "sans_vent",
		"senza vento",
		"sin_viento", "run_tare_2", "m1_u20_tare",
	} {
		assert.True(t, WindOff.MatchString(name), "%s is a recording without wind", name)
	}

	for _, name := range []string{
		"target_3", "tarmac", "zeroed_a5", "annulus_2", "a5_u20", "windmill", "nullify", "hoffwind", "start", "aus_20",
	} {
		assert.False(t, WindOff.MatchString(name), "%s is a run", name)
	}

	for _, name := range []string{
		"background", "background_u20", "Hintergrund_1", "Hintergrundgeräusch", "ambient", "quiet_2", "noise-floor",
		"Leerkanal",
		"empty_tunnel_u20", "bruit_de_fond", "rumore di fondo", "ruido_de_fondo", "Background", "run_background",
		"bg_background_2", "hintergrund", "noise floor", "noise_floor_u20", "ambient_2024", "empty tunnel", "Quiet",
	} {
		assert.True(t, Background.MatchString(name), "%s is a background", name)
	}

	for _, name := range []string{
		"backgrounds7a", "quieter_blade", "ambience", "noise_3", "u20", "floor_2", "empty_3", "white_noise", "tunnel_u20",
		"fond", "grund_1",
	} {
		assert.False(t, Background.MatchString(name), "%s is a run", name)
	}
}

// The word or the number behind the words for no wind says whether a recording was made before or after the runs.
func TestPlacesOfWindOff(t *testing.T) {
	for _, c := range []struct{ file, place, when string }{
		{"tare1.txt", "1", "before"},
		{"tare2_u20.txt", "2", "after"},
		{"run3_tare_2.txt", "2", "after"},
		{"Tare_before.csv", "before", "before"},
		{"tares-after.csv", "after", "after"},
		{"tara_dopo.txt", "dopo", "after"},
		{"tara.txt", "", "neither"},
		{"zero_after.txt", "after", "after"},
		{"zero.end", "", "neither"},
		{"Null_vorher.csv", "vorher", "before"},
		{"Nullmessung_vor_u20.csv", "vor", "before"},
		{"Nullmessung.csv", "", "neither"},
		{"nullpunkt2.csv", "2", "after"},
		{"wind-off-after.dat", "after", "after"},
		{"windoff2.dat", "2", "after"},
		{"windoff_start.dat", "start", "before"},
		{"wind_aus_nachher.dat", "nachher", "after"},
		{"ohne Wind Anfang.dat", "Anfang", "before"},
		{"sans_vent_après.txt", "après", "after"},
		{"senza_vento_prima.txt", "prima", "before"},
		{"senza_vento_dopo.txt", "dopo", "after"},
		{"sin_viento_después.txt", "después", "after"},
		{"no-wind-b.txt", "b", "after"},
		{"wind_off_u20.txt", "u", "neither"},
	} {
		t.Run(c.file, func(t *testing.T) {
			place := placeOf(c.file)
			assert.Equal(t, c.place, place)
			assert.Equal(t, c.when == "before", before.MatchString(place), "is before the runs")
			assert.Equal(t, c.when == "after", after.MatchString(place), "is after the runs")
		})
	}
}

// Names of copies, as programs and people make them, beside names of other things with the same letters.
func TestCopies(t *testing.T) {
	for _, name := range []string{
		"copy of a5.wav", "a5 - copy.wav", "a5_copy.wav", "a5_Copy2.wav", "copies/a5.wav", "a5_copies.zip", "a5 Kopie.wav",
		"a5 (2).wav", "a5.wav~", "a5_backup.wav",
	} {
		assert.True(t, Copies.MatchString(name), "%s is a copy", name)
	}

	for _, name := range []string{"a5.wav", "hexacopter_2.wav", "photocopy.csv", "microscopy_1.csv", "a5_2.wav"} {
		assert.False(t, Copies.MatchString(name), "%s is not a copy", name)
	}
}
