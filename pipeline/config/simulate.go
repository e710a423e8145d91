package config

import (
	"reflect"
	"slices"
	"strings"

	"doubletake/ingest/simulate"
)

// Simulate describes a simulated campaign; keys that do not belong to the campaign are errors.
type Simulate struct {
	// the sound of rotors, an airfoil on a force balance, or the paper's toy
	Campaign string `key:"campaign" enum:"rotor|airfoil|toy"`

	// seed of the campaign
	Seed uint64 `key:"seed" default:"0"`

	// sampling rate in Hz (rotor 10240, airfoil 1000)
	RateHz float64 `key:"rate_hz"`

	// length of each recording in s (rotor 8, airfoil 10)
	DurationS float64 `key:"duration_s"`

	// rotor: sample format of the WAV files (pcm16)
	Encoding string `key:"encoding" enum:"|pcm16|float32"`

	// rotor: blade counts (2, 3, 4, 5)
	Blades []int `key:"blades"`

	// rotor: shaft speeds in 1/min (2000 to 9000 by 500)
	RPM []float64 `key:"rpm"`

	// rotor: microphone angles in degrees from the rotor plane (-60 to 60 by 10)
	ThetaDeg []float64 `key:"theta_deg"`

	// airfoil: angles of attack in degrees (-11 to 11 by 0.5)
	AlphaDeg []float64 `key:"alpha_deg"`

	// airfoil: free-stream speeds in m/s (4.7, 7.3, 9.1, 11.9, 14.1)
	SpeedMS []float64 `key:"u_inf_m_s"`

	// toy: number of triplets (1000)
	Triplets int `key:"triplets"`

	// toy: noise amplitude γ of the paper (1.5)
	Gamma float64 `key:"gamma"`
}

// campaignKeys contains the keys of each simulated campaign.
var campaignKeys = map[string][]string{
	"rotor":   {"rate_hz", "duration_s", "encoding", "blades", "rpm", "theta_deg"},
	"airfoil": {"rate_hz", "duration_s", "alpha_deg", "u_inf_m_s"},
	"toy":     {"triplets", "gamma"},
}

// validate reports keys that do not belong to a simulated campaign. The campaign itself checks its numbers when it is
// planned.
func (s *Simulate) validate(f *File, _ *Experiment, key string, fail failFunc) {
	section := strings.TrimSuffix(key, ".simulate")
	fail.refuse(f, section, "a simulated campaign is always called simulated; leave the key out", "data")

	if s.Campaign == "" {
		fail(key, "expected campaign: rotor, airfoil or toy, found none")
		return
	}

	allowed := campaignKeys[s.Campaign]
	for _, keys := range campaignKeys {
		for _, k := range keys {
			fail.when(f.Has(key+"."+k) && !slices.Contains(allowed, k), key+"."+k,
				"does not belong to the %s campaign, which takes %s", s.Campaign, strings.Join(allowed, ", "))
		}
	}

	fail.refuse(f, section, "a simulated campaign brings its own; leave the key out", "conditions", "log", "pattern",
		"constants", "attributes", "sidecar", "inside", "arrays", "balance", "tachometer", "microphones", "calibration",
		"background",
		"columns", "format", "reader", "exclude", "channels", "theta_from")
}

// complete sets each key that is not given to the campaign's default, so that the metadata of tables contain it. It
// does not set the lists from which the files follow, such as rpm: each file has a task of its own, whose settings
// contain its value.
func (s *Simulate) complete(given func(key string) bool) {
	c, err := simulate.New(s.Campaign)
	if err != nil {
		return // validate reports a campaign that is missing; an unknown one was reported when the key was read
	}

	for name, key := range simulate.Keys(c) {
		own := reflect.ValueOf(c).FieldByName(name)
		makesFiles := own.Kind() == reflect.Slice && key != "theta_deg" // a file has a channel for each angle
		if given(key) || makesFiles {
			continue
		}

		field, _ := locate(reflect.ValueOf(s).Elem(), key)
		field.Set(own)
	}
}

// Described returns the campaign with the settings of the section. A list that is empty keeps the campaign's default.
func (s *Simulate) Described() (simulate.Campaign, error) {
	c, err := simulate.New(s.Campaign)
	if err != nil {
		return nil, err
	}

	described := reflect.New(reflect.TypeOf(c)).Elem()
	described.Set(reflect.ValueOf(c))
	for name, key := range simulate.Keys(c) {
		if v, _ := locate(reflect.ValueOf(s).Elem(), key); v.Kind() != reflect.Slice || v.Len() > 0 {
			described.FieldByName(name).Set(v)
		}
	}

	c = described.Interface().(simulate.Campaign)

	return c, c.Validate()
}
