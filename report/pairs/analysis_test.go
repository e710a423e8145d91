package pairs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
	"doubletake/report/pairs"
)

// fan returns a campaign whose settings alone state its conditions, and a method that makes pairs of its levels.
func fan() (*setting.Campaign, pairs.Method) {
	settings := &setting.Campaign{
		Constants: []setting.NamedNumber{{Name: "rpm", Value: 3000}, {Name: "blades", Value: 2}},
		Derive:    []setting.NamedString{{Name: "bpf_hz", Value: "rpm * blades / 60"}},
	}
	levels := dsp.DefaultSettings()
	levels.Harmonics = 2

	return settings, pairs.Method{Triplets: "split-half-spectrum", Instrument: dsp.Microphones, Settings: &levels}
}

// The columns of a table are the conditions of a campaign, what is derived from them, and the outcomes of the
// construction.
func ExampleNewAnalysis() {
	settings, method := fan()
	analysis, err := pairs.NewAnalysis(campaign.NewInventory(*settings, setting.Project{}), settings, method)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(analysis.Conditions, analysis.Outcomes)
	// Output: [rpm blades bpf_hz] [bpf1_db bpf2_db]
}

// An error about a setting names the section of the setting: dsp for the occasion across which repeats are paired, and
// otherwise the section of the campaign, which the caller knows.
func TestAnalysisErrors(t *testing.T) {
	for want, change := range map[string]func(*setting.Campaign, *pairs.Method){
		`dsp.across: "day" is not a column of names`: func(_ *setting.Campaign, m *pairs.Method) { m.Across = "day" },
		`within.u: "u" is not a condition`: func(s *setting.Campaign, _ *pairs.Method) {
			s.Tolerances = []setting.NamedString{{Name: "u", Value: "1"}}
		},
		`things: "blade" is not a column of names`: func(s *setting.Campaign, _ *pairs.Method) {
			s.Things = []string{"blade"}
		},
		`columns: belongs to balances`: func(s *setting.Campaign, _ *pairs.Method) {
			s.Columns = []setting.NamedString{{Name: "lift_n", Value: "Fz"}}
		},
	} {
		settings, method := fan()
		change(settings, &method)
		_, err := pairs.NewAnalysis(campaign.NewInventory(*settings, setting.Project{}), settings, method)
		assert.ErrorContains(t, err, want)
	}
}

// The settings of a construction must fit the conditions of the campaign: a construction of a shaft needs its speed and
// its blades, and only repeats have tolerances of known conditions and an occasion.
func TestAnalysisCheck(t *testing.T) {
	days := []setting.NamedString{{Name: "Day", Value: "Day"}}
	for _, c := range []struct {
		change func(*setting.Campaign, *pairs.Method)
		want   string // "": no error
	}{
		{func(*setting.Campaign, *pairs.Method) {}, ""},
		{func(s *setting.Campaign, _ *pairs.Method) { s.Constants, s.Derive = s.Constants[:1], nil }, "the number of blades"},
		{func(s *setting.Campaign, _ *pairs.Method) { s.Constants, s.Derive = s.Constants[1:], nil }, "dsp: the shaft speed"},
		{
			func(_ *setting.Campaign, m *pairs.Method) {
				m.Tolerances = []setting.NamedString{{Name: "u", Value: "1"}}
			},
			`dsp.within.u: "u" is not a condition of this experiment, which has [rpm blades bpf_hz]`,
		},
		{
			func(s *setting.Campaign, m *pairs.Method) {
				s.Attributes = days
				s.Occasions = []string{"Day"}
				m.Across = "Day"
			},
			"dsp.across: belongs to triplets: repeats",
		},
	} {
		settings, method := fan()
		c.change(settings, &method)
		inventory := campaign.NewInventory(*settings, setting.Project{})
		analysis, err := pairs.NewAnalysis(inventory, settings, method)
		require.NoError(t, err)

		err = analysis.Check()
		if c.want == "" {
			require.NoError(t, err)
			continue
		}

		assert.ErrorContains(t, err, c.want)
	}
}
