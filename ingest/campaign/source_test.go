package campaign

import (
	"cmp"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// By hand: an angle of π/3 from the axis is 30° from the plane, and a derived condition, "twice", takes the converted
// angle. The condition "later" needs a speed that is not known yet, so that it is not computed, and three conditions
// remain. In a table, the unit of a header is converted, 0.5 rad to 28.6°. The unit of the settings counts more than
// the unit of the header: 50 stays 50 1/min, although the header states Hz.
func TestConvert(t *testing.T) {
	n, err := units.ToName("theta_deg", "rad")
	require.NoError(t, err)

	source := &Source{Settings: &setting.Campaign{ThetaFrom: "axis"}, Convert: map[string]units.Named{"theta_deg": n}}
	c := map[string]float64{"theta_deg": math.Pi / 3, "rpm": 1}

	set, err := derive.New([]derive.Definition{{Name: "twice", Text: "2*theta_deg"}, {Name: "later", Text: "rpm_tracked"}},
		nil, []string{"theta_deg", "rpm", "rpm_tracked"}, nil, nil)
	require.NoError(t, err)

	source.Derive = set
	require.NoError(t, source.convert(c, nil))

	assert.InDeltaMapValues(t, map[string]float64{"theta_deg": 30, "rpm": 1, "twice": 60}, c, 1e-12)

	table, err := ParseConditions("c.csv", []byte("file,theta_deg [rad],rpm [Hz]\na,0.5,50\n"),
		LogOptions{Units: map[string]string{"rpm": "1/min"}})
	require.NoError(t, err)

	assert.NotEmpty(t, table.Converted["theta_deg"])
	assert.Empty(t, table.Converted["rpm"])

	states := table.Rows[0].States
	assert.InDelta(t, 28.64788975654116, states[0].Value, 1e-12)
	assert.Equal(t, 50.0, states[1].Value)
}

// An attribute that states its unit is in the unit of its name already. By hand, 36 km/h are 10 m/s. A number without a
// unit is in the unit of the settings; a number with one is refused, since it would be converted twice.
func TestUnitsOfAttributes(t *testing.T) {
	n, err := units.ToName("u_inf_m_s", "km/h")
	require.NoError(t, err)

	for _, c := range []struct {
		value   string
		convert bool
		want    float64 // 0: an error
	}{{"36", true, 10}, {"36 km/h", false, 10}, {"36 km/h", true, 0}, {"10 m/s", true, 0}} {
		attributes := []ingest.Attribute{{Name: "V", Value: c.value}}
		ofFile := ingest.Info{Path: "f.h5", Attributes: attributes}
		ofChannel := ingest.Info{Path: "f.h5", Channels: []ingest.Channel{{Name: "m1", Attributes: attributes}}}
		source := &Source{Settings: &setting.Campaign{
			Attributes: []setting.NamedString{{Name: "u_inf_m_s", Value: "V"}},
		}, Grouping: Grouping{Own: []OwnCondition{{Condition: "u_inf_m_s", Attribute: "V"}}}}
		if c.convert {
			source.Convert = map[string]units.Named{"u_inf_m_s": n}
		}

		stated, err := source.Stated(&Facts{}, &ofFile)
		if c.want == 0 {
			require.ErrorContains(t, err, "ingest: units states km/h, found the unit", c.value)
			require.ErrorContains(t, source.checkOwnUnits(ofChannel), "in channel m1", c.value)

			continue
		}

		require.NoError(t, err, c.value)
		require.NoError(t, source.checkOwnUnits(ofChannel), c.value)

		values := map[string]float64{"u_inf_m_s": stated[0].Value}
		require.NoError(t, source.convert(values, nil))
		assert.InDelta(t, c.want, values["u_inf_m_s"], 1e-9, c.value)
	}
}

// Conditions of attributes and channels are merged; contradictions are errors.
func TestAttributeConditions(t *testing.T) {
	src := &Source{Settings: &setting.Campaign{
		Constants:  []setting.NamedNumber{{Name: "blades", Value: 2}},
		Attributes: []setting.NamedString{{Name: "rpm", Value: "RPM"}, {Name: "theta_deg", Value: "@angle"}},
	}}

	info := ingest.Info{
		Path: "f.h5", Attributes: []ingest.Attribute{{Name: "RPM", Value: "4000"}},
		Channels: []ingest.Channel{{Name: "m1", Attributes: []ingest.Attribute{{Name: "angle", Value: "30"}}}},
	}

	beside := func(name string, v float64) []condition.Condition {
		return []condition.Condition{{Column: name, Value: v, Origin: "the file next to it"}}
	}
	with := func(info ingest.Info, name string, v float64) (map[string]float64, error) {
		f := File{Name: info.Path, Facts: Facts{Sidecar: beside(name, v)}}
		all, err := src.Stated(&f.Facts, &info)
		merged, bad := condition.Merge(f.Name, nil, all...)

		return merged.Numbers, cmp.Or(err, bad)
	}

	got, err := with(info, "u_inf_m_s", 7)
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"blades": 2, "rpm": 4000, "u_inf_m_s": 7}, got)

	for _, c := range []struct {
		name, want string
	}{
		{"blades", "condition blades: expected 2, as in the configuration, found 3 in the file next to it"},
		{"rpm", "rpm: expected 3, as in the file next to it, found 4000 in the attribute RPM"},
		{"theta_deg", "expected 3, as in the file next to it, found 30 in channel m1"},
	} {
		f := File{Name: "f.h5", Facts: Facts{Sidecar: beside(c.name, 3)}}
		all, err := src.Stated(&f.Facts, &info)
		if err == nil {
			_, _, err = Assemble(info, nil, all, Grouping{
				Own: []OwnCondition{{Condition: "theta_deg", Attribute: "angle"}},
			})
		}

		assert.ErrorContains(t, err, c.want)
	}

	_, err = with(ingest.Info{Path: "f.h5"}, "u_inf_m_s", 7)
	assert.ErrorContains(t, err, "condition rpm", "a file without attributes")
}
