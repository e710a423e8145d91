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
		"units.rpm": func(s *setting.Campaign) { s.Units[0].Name = "rpm" },
		"run":       func(s *setting.Campaign) { s.Run = "take" },
		"pattern":   func(s *setting.Campaign) { s.Pattern = "{" },
		"balance.tare.drift": func(s *setting.Campaign) {
			s.Conditions = ""
			s.Exclude = nil
			s.Units = nil
			s.Pattern = "{name:text}.wav"
			s.Things = []string{"name"}
			s.Balance = &setting.Balance{Tare: &setting.Tare{File: "a.wav", Closing: "b.wav", Drift: "linear"}}
		},
		"background.files": func(s *setting.Campaign) { s.Background.Files = []string{"*.wav"} },
		"files":            func(s *setting.Campaign) { s.Files = []string{"*.csv"} },
		"table.file":       func(s *setting.Campaign) { s.Table = &setting.Table{File: []string{"log.csv"}} },
	} {
		changed := settings()
		change(changed)
		_, err := campaign.Read(context.Background(), changed, setting.Project{Dir: dir})
		bad, isOfSetting := errors.AsType[*setting.Error](err)
		require.True(t, isOfSetting, "%s: %v", key, err)
		assert.Equal(t, key, bad.Key)
	}
}

// A file that a pattern misses by a slip of its name is named in a warning, whether the pattern selects recordings or
// recordings of the background. A file that the campaign uses in another way is not left out, so that there is no
// warning about it. Expected: by the file each pattern should have matched.
func TestMisnamedFiles(t *testing.T) {
	calibrator := func(c *setting.Campaign, calibrator setting.Calibrator) {
		c.Calibration = &setting.Calibration{Calibrator: &calibrator}
	}
	for name, c := range map[string]struct {
		files  []string // besides a.wav
		change func(*setting.Campaign)
		want   []string
	}{
		"a recording": {[]string{"b.WAV"}, func(*setting.Campaign) {}, []string{"b.WAV"}},
		"a background": {[]string{"quiet.wav", "Quiet2.WAV"}, func(c *setting.Campaign) {
			c.Files = []string{"a*.wav"}
			c.Background = &setting.Background{Files: []string{"quiet*.wav"}}
		}, []string{"Quiet2.WAV"}},
		"a background that both patterns miss": {[]string{"quiet.wav", "Quiet2.WAV"}, func(c *setting.Campaign) {
			c.Background = &setting.Background{Files: []string{"quiet*.wav"}}
		}, []string{"Quiet2.WAV"}},
		"a recording called like the background": {[]string{"quiet.wav", "Quiet2.wav"}, func(c *setting.Campaign) {
			c.Background = &setting.Background{Files: []string{"quiet*.wav"}}
		}, nil},
		"a background of another letter case": {[]string{"quiet.WAV"}, func(c *setting.Campaign) {
			c.Background = &setting.Background{Files: []string{"quiet.WAV"}}
		}, nil},
		"the calibrator": {[]string{"cal.WAV"}, func(c *setting.Campaign) {
			calibrator(c, setting.Calibrator{File: "cal.WAV"})
		}, nil},
		"calibrators by a pattern": {[]string{"cal1.WAV", "cal2.WAV"}, func(c *setting.Campaign) {
			calibrator(c, setting.Calibrator{Pattern: "cal{channel}.WAV"})
		}, nil},
		"recordings without wind": {[]string{"before.WAV", "after.WAV"}, func(c *setting.Campaign) {
			c.Balance = &setting.Balance{Tare: &setting.Tare{File: "before.WAV", Closing: "after.WAV"}}
		}, nil},
		"recordings without wind by a pattern": {[]string{"off5.WAV", "off9.WAV"}, func(c *setting.Campaign) {
			c.Balance = &setting.Balance{Tare: &setting.Tare{File: "off{u_inf_m_s}.WAV"}}
		}, nil},
	} {
		dir := t.TempDir()
		for _, file := range append(c.files, "a.wav") {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}

		settings := setting.Campaign{Files: []string{"*.wav"}}
		c.change(&settings)
		inventory := campaign.NewInventory(settings, setting.Project{Dir: dir})
		require.NoError(t, inventory.FindFiles(), name)

		var got []string
		for _, warning := range inventory.Warnings {
			assert.Equal(t, "misnamed-file", warning.Code, name)
			got = append(got, warning.Path)
		}

		assert.Equal(t, c.want, got, name)
	}
}

// An exclusion by name is named in a warning with all files that it leaves out, but not with a recording without wind,
// which is used nevertheless.
func TestExcludedTare(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"a.wav", "b.wav", "off.wav"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
	}

	log := "file,alpha_deg,tare\nb.wav,1,a.wav\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.csv"), []byte(log), 0o600))

	inventory := campaign.NewInventory(setting.Campaign{
		Files: []string{"*.wav"}, Conditions: "log.csv",
		Exclude: setting.Exclusions{{Files: "a.wav"}, {Files: "off.wav"}},
		Balance: &setting.Balance{Tare: &setting.Tare{Column: "tare"}},
	}, setting.Project{Dir: dir})
	require.NoError(t, inventory.FindFiles())

	require.Len(t, inventory.Warnings, 1)
	assert.Equal(t, "off.wav left out by exclude", inventory.Warnings[0].Path+" "+inventory.Warnings[0].Text)
}

// If the settings do not name the values of the files next to the recordings, these are the values of the first file. A
// value that only later files have is left out with a warning, and a value that a later file lacks is an error.
// Expected conditions and warnings by hand.
func TestSidecarsThatDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		sidecars [3]string
		values   []setting.NamedString
		numbers  []string // conditions of numbers
		warning  string
		err      string
	}{
		"equal names": {[3]string{"rpm: 1", "rpm: 2", "rpm: 3"}, nil, []string{"rpm"}, "", ""},
		"a later file has more": {
			[3]string{"rpm: 1", "rpm: 2\nflap_deg: 5", "rpm: 3\ngap_mm: 5"},
			nil,
			[]string{"rpm"},
			"b.wav the file next to it states flap_deg, and the file of a.wav does not", "",
		},
		"the first file has more": {
			[3]string{"rpm: 1\nflap_deg: 5", "rpm: 2", "rpm: 3"}, nil, nil, "", `b.yaml: expected a number "flap_deg"`,
		},
		"the settings name them": {
			[3]string{"rpm: 1", "rpm: 2\nflap_deg: 5", "rpm: 3"},
			[]setting.NamedString{{Name: "rpm", Value: "rpm"}},
			[]string{"rpm"},
			"", "",
		},
	} {
		dir := t.TempDir()
		for k, file := range []string{"a", "b", "c"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file+".wav"), nil, 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, file+".yaml"), []byte(c.sidecars[k]), 0o600))
		}

		inventory := campaign.NewInventory(setting.Campaign{
			Files: []string{"*.wav"}, Sidecar: &setting.Sidecar{Ending: ".yaml", Values: c.values},
		}, setting.Project{Dir: dir})
		require.NoError(t, inventory.FindFiles(), name)

		numbers, _, err := inventory.Columns()
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}

		require.NoError(t, err, name)
		assert.Equal(t, c.numbers, numbers, name)

		if c.warning == "" {
			assert.Empty(t, inventory.Warnings, name)
			continue
		}

		require.Len(t, inventory.Warnings, 1, name)
		assert.Contains(t, inventory.Warnings[0].Path+" "+inventory.Warnings[0].Text, c.warning, name)
	}
}
