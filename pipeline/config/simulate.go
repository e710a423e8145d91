package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"doubletake/ingest/setting"
	"doubletake/ingest/simulate"
)

// campaignKeys contains the keys of each simulated campaign.
var campaignKeys = map[string][]string{
	"rotor":   {"rate_hz", "duration_s", "encoding", "blades", "rpm", "theta_deg"},
	"airfoil": {"rate_hz", "duration_s", "alpha_deg", "u_inf_m_s"},
	"toy":     {"triplets", "gamma"},
}

// validateSimulate reports keys that do not belong to a simulated campaign. The campaign itself checks its numbers
// when it is planned.
func validateSimulate(s *setting.Simulate, f *File, key string, fail failFunc) {
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

// completeSimulate sets each key that is not given to the campaign's default, so that the metadata of tables contain
// it. It does not set the lists from which the files follow, such as rpm: each file has a task of its own, whose
// settings contain its value.
func completeSimulate(s *setting.Simulate, given func(key string) bool) {
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

// SimulatedCampaign returns the campaign that the section simulate describes, or the errors about its keys.
func (e *Entry) SimulatedCampaign() (simulate.Campaign, error) {
	campaign, err := simulatedCampaign(e.Ingest.Simulate)
	if err != nil {
		return nil, e.locateFields(campaign, err)
	}

	return campaign, nil
}

// simulatedCampaign returns the campaign that a section describes. A list that is empty keeps the campaign's default.
func simulatedCampaign(s *setting.Simulate) (simulate.Campaign, error) {
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

// locateFields returns the errors about a campaign's fields with the keys of the fields.
func (e *Entry) locateFields(campaign simulate.Campaign, err error) error {
	list := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		list = many.Unwrap()
	}

	var located Errors
	for _, one := range list {
		key := "ingest.simulate"
		text := one.Error()

		var field *simulate.FieldError
		if errors.As(one, &field) {
			if name, ok := simulate.Keys(campaign)[field.Field]; ok {
				key += "." + name
				text = field.Text
			}
		}

		located = append(located, e.Errorf(key, "%s", text))
	}

	return located
}
