package campaign_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
)

// folder writes three recordings of three microphones, one of the background, and a log, and returns their folder.
func folder(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()
	for _, name := range []string{"a.wav", "b.wav", "c.wav", "quiet.wav"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), threeMicrophones(), 0o644))
	}

	log := "file,propeller,speed_m_s [km/h]\na,APC,36\nb,APC,72\nc,HQ,36\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.csv"), []byte(log), 0o644))

	return dir
}

// settings returns the settings of the campaign in a folder. The background is among the files.
func settings() *setting.Campaign {
	return &setting.Campaign{
		Files: []string{"*.wav"}, Conditions: "log.csv", Things: []string{"propeller"},
		Units:      []setting.NamedString{{Name: "speed_m_s", Value: "km/h"}},
		Background: &setting.Background{Files: []string{"quiet.wav"}},
		Exclude:    setting.Exclusions{{Files: "b.wav", Reason: "rain"}, {Files: "c.wav", Channel: "2"}},
	}
}

// Without a configuration, a campaign has the files that are left, without the background, the channels that are left
// out, and the conditions of the log in the units of their names: 36 km/h are 10 m/s.
func TestReadLeavesOut(t *testing.T) {
	read, err := campaign.Read(context.Background(), settings(), setting.Project{Dir: folder(t)})
	require.NoError(t, err)
	require.Len(t, read.Files, 2)
	assert.Equal(t, "a.wav", read.Files[0].Path)
	assert.Equal(t, "c.wav", read.Files[1].Path)
	assert.Len(t, read.Files[0].Runs[0].Run.Recordings, 3)

	recordings := read.Files[1].Runs[0].Run.Recordings
	require.Len(t, recordings, 2, "channel 2 is left out")
	assert.Equal(t, map[string]float64{"speed_m_s": 10}, recordings[1].Conditions)
	assert.Equal(t, map[string]string{"propeller": "HQ"}, recordings[1].Labels)

	var texts []string
	for _, warning := range read.Warnings {
		if warning.Code == "excluded" {
			texts = append(texts, warning.Path+" "+warning.Text)
		}
	}

	assert.Equal(t, []string{
		"b.wav left out by exclude (b.wav: rain)", "c.wav, channel 2 left out by exclude: c.wav, channel 2",
	}, texts)
}

// A setting that does not fit the campaign is a *setting.Error with the key of the setting in its section.
func TestReadNamesTheSetting(t *testing.T) {
	dir := folder(t)
	for key, change := range map[string]func(*setting.Campaign){
		"units.rpm":        func(s *setting.Campaign) { s.Units[0].Name = "rpm" },
		"run":              func(s *setting.Campaign) { s.Run = "take" },
		"pattern":          func(s *setting.Campaign) { s.Pattern = "{" },
		"background.files": func(s *setting.Campaign) { s.Background.Files = []string{"*.wav"} },
	} {
		changed := settings()
		change(changed)
		_, err := campaign.Read(context.Background(), changed, setting.Project{Dir: dir})
		bad, isOfSetting := errors.AsType[*setting.Error](err)
		require.True(t, isOfSetting, "%s: %v", key, err)
		assert.Equal(t, key, bad.Key)
	}
}
