package campaign_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest/campaign"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/setting"
	"doubletake/internal/testfile"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A folder of WAV files becomes a campaign without a configuration. The speed is in the name of each file, and the
// second of three microphones is dead: its noise is a thousandth of its neighbours', 60 dB less.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	for _, name := range []string{"rpm3000.wav", "rpm4000.wav"} {
		if err := os.WriteFile(filepath.Join(dir, name), threeMicrophones(), 0o644); err != nil {
			log.Fatal(err)
		}
	}

	settings := &setting.Campaign{
		Files: []string{"*.wav"}, Pattern: "rpm{rpm}.wav", Constants: []setting.NamedNumber{{Name: "blades", Value: 2}},
	}

	c, err := campaign.Read(context.Background(), settings, setting.Project{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}

	for _, file := range c.Files {
		run := file.Runs[0]
		fmt.Println(file.Path, run.Run.Recordings[0].Conditions, len(run.Stats), "channels")
		for _, warning := range file.Warnings {
			if warning.Code == "level-apart" {
				doubt, _, _ := strings.Cut(warning.Text, ": ")
				fmt.Println(doubt)
			}
		}
	}

	fmt.Println(len(c.Conditions()), "recordings, warnings about the files together:", c.Warnings)
	// Output:
	// rpm3000.wav map[blades:2 rpm:3000] 3 channels
	// channel 2 is 60 dB below its neighbours 1 and 3
	// rpm4000.wav map[blades:2 rpm:4000] 3 channels
	// channel 2 is 60 dB below its neighbours 1 and 3
	// 6 recordings, warnings about the files together: []
}

// Read groups channels as the settings say: the channel of the tachometer is not a recording, and a measured speed
// agrees with the set point in a name within its tolerance.
func TestReadGroups(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, "rpm3000.wav"), string(threeMicrophones()))
	testfile.Write(t, filepath.Join(dir, "log.csv"), "file,rpm\nrpm3000.wav,2994\n")

	settings := &setting.Campaign{
		Files: []string{"*.wav"}, Pattern: "rpm{rpm}.wav", Conditions: "log.csv",
		Tolerances: []setting.NamedString{{Name: "rpm", Value: "0.5 %"}},
		Tachometer: &setting.Tachometer{Channel: "3"},
	}

	c, err := campaign.Read(t.Context(), settings, setting.Project{Dir: dir})
	require.NoError(t, err)
	require.Len(t, c.Files, 1)

	var channels []int
	for _, rec := range c.Files[0].Runs[0].Run.Recordings {
		channels = append(channels, rec.Channels...)
		assert.Equal(t, map[string]float64{"rpm": 2994}, rec.Conditions)
	}

	assert.Equal(t, []int{0, 1}, channels)
}

// threeMicrophones returns a WAV file of three channels. The first and the third jump between two values a thousand
// times as far apart as those of the second.
func threeMicrophones() []byte {
	var samples []int16
	for i := range 1000 {
		sign := int16(1 - 2*(i%2))
		samples = append(samples, 10000*sign, 10*sign, 10000*sign)
	}

	w := ingesttest.PCM16(3, samples...)
	w.RIFF = uint32(36 + len(w.Data))

	return w.Bytes()
}
