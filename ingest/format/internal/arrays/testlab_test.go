package arrays_test

import (
	"math"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/ingesttest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTestlabStructs reads one signal in forms of Siemens Testlab and their siblings: structs whose members state the
// step or the rate, the unit and the name. A person reads the expected rate and unit in the members.
func TestTestlabStructs(t *testing.T) {
	const values = "Signal_0.y_values.values"
	const group = "Signal_0.y_values"
	for _, c := range []struct {
		name       string
		attributes [][2]string
		rate       float64
		unit       string
	}{
		{"step, unit and name", [][2]string{
			{"Signal_0.x_values.increment", "3.90625e-05"},
			{"Signal_0.y_values.quantity.label", "Pa"},
			{"Signal_0.function_record.name", "Mic1"},
		}, 25600, "Pa"},
		{"step only", [][2]string{{"Signal_0.x_values.increment", "0.001"}}, 1000, ""},
		{"unit only", [][2]string{{"Signal_0.y_values.quantity.label", "N"}}, 0, "N"},
		{"unit of the axis is not the unit of the values", [][2]string{
			{"Signal_0.x_values.increment", "0.001"}, {"Signal_0.x_values.quantity.label", "s"},
		}, 1000, ""},
		{"start and length beside the step", [][2]string{
			{"Signal_0.x_values.start_value", "0"},
			{"Signal_0.x_values.increment", "0.0005"},
			{"Signal_0.x_values.number_of_values", "3"},
			{"Signal_0.y_values.quantity.label", "V"},
		}, 2000, "V"},
		{"a start that is not 0", [][2]string{
			{"Signal_0.x_values.start_value", "12.5"}, {"Signal_0.x_values.increment", "0.0005"},
		}, 2000, ""},
		{"acceleration", [][2]string{
			{"Signal_0.x_values.increment", "0.0001"}, {"Signal_0.y_values.quantity.label", "m/s^2"},
		}, 10000, "m/s^2"},
		{"step as a number of Octave", [][2]string{{"Signal_0.x_values.increment", "1e-03"}}, 1000, ""},
		{"step with its unit", [][2]string{{"Signal_0.x_values.increment", "1 ms"}}, 1000, ""},
		{"dt beside the values", [][2]string{{"Signal_0.dt", "0.01"}}, 100, ""},
		{"fs beside the values", [][2]string{{"Signal_0.fs", "51200"}}, 51200, ""},
		{"Fs in capitals", [][2]string{{"Signal_0.Fs", "51200"}}, 51200, ""},
		{"rate of the file", [][2]string{{"fs", "48000"}}, 48000, ""},
		{"rate of the struct before the rate of the file", [][2]string{{"fs", "48000"}, {"Signal_0.fs", "51200"}}, 51200, ""},
		{"step of another signal", [][2]string{{"Signal_1.x_values.increment", "0.001"}}, 0, ""},
		{"unit of another signal", [][2]string{{"Signal_1.y_values.quantity.label", "N"}}, 0, ""},
		{"name of another signal", [][2]string{{"Signal_1.function_record.name", "Mic2"}}, 0, ""},
		{"a signal with a longer name", [][2]string{{"Signal_01.x_values.increment", "0.001"}}, 0, ""},
		{"other members", [][2]string{
			{"Signal_0.x_values.increment", "0.001"},
			{"Signal_0.y_values.quantity.label", "Pa"},
			{"Signal_0.y_values.quantity.unit_transformation.factor", "1"},
			{"Signal_0.y_values.quantity.info.creator", "Simcenter Testlab"},
			{"Signal_0.function_record.type", "Time"},
		}, 1000, "Pa"},
		{"a step of nothing", [][2]string{{"Signal_0.x_values.increment", "0"}}, 0, ""},
		{"a step that is not a number", [][2]string{{"Signal_0.x_values.increment", "auto"}}, 0, ""},
	} {
		r := arrays.New(ingest.Info{Path: "run.mat", Format: "mat"})
		for _, attribute := range c.attributes {
			r.Attribute(attribute[0], attribute[1])
		}

		plane := arrays.PlaneOf(ingesttest.NewMemory([]float64{1, 2, 3}))
		require.NoError(t, r.Add(arrays.Array{Name: values, Group: group, Dims: []int64{3}, Plane: plane}), "%s", c.name)

		err := r.Finish(ingest.Options{})
		if c.rate == 0 && err != nil {
			continue // refused: nothing is read wrongly
		}

		require.NoError(t, err, "%s", c.name)

		channel := r.Info().Channels[0]
		assert.InDelta(t, c.rate, channel.RateHz, 1e-6*math.Max(1, c.rate), "%s: rate", c.name)
		assert.Equal(t, c.unit, channel.Unit, "%s: unit", c.name)
	}
}

// A timeseries of MATLAB is a struct whose members DataInfo and TimeInfo state the units of Data and Time.
func TestTimeseriesStructs(t *testing.T) {
	for _, c := range []struct {
		name       string
		attributes [][2]string
		rate       float64
		unit       string
	}{
		{"both units", [][2]string{{"ts.DataInfo.Units", "N"}, {"ts.TimeInfo.Units", "seconds"}}, 2, "N"},
		{"no units", nil, 2, ""},
		{"minutes", [][2]string{{"ts.TimeInfo.Units", "minutes"}}, 2. / 60, ""},
		{"milliseconds", [][2]string{{"ts.TimeInfo.Units", "milliseconds"}}, 2000, ""},
		{"another struct", [][2]string{{"other.DataInfo.Units", "N"}, {"other.TimeInfo.Units", "minutes"}}, 2, ""},
	} {
		r := arrays.New(ingest.Info{Path: "run.mat", Format: "mat"})
		for _, attribute := range c.attributes {
			r.Attribute(attribute[0], attribute[1])
		}

		for name, values := range map[string][]float64{"ts.Time": {0, 0.5, 1}, "ts.Data": {7, 8, 9}} {
			plane := arrays.PlaneOf(ingesttest.NewMemory(values))
			require.NoError(t, r.Add(arrays.Array{Name: name, Group: "ts", Dims: []int64{3}, Plane: plane}), "%s", c.name)
		}

		require.NoError(t, r.Finish(ingest.Options{}), "%s", c.name)

		k, err := ingest.FindChannel(r.Info(), "ts.Data")
		require.NoError(t, err)
		assert.InEpsilon(t, c.rate, r.Info().Channels[k].RateHz, 1e-9, "%s: rate", c.name)
		assert.Equal(t, c.unit, r.Info().Channels[k].Unit, "%s: unit", c.name)
	}
}

// Texts beside the samples in a struct state the unit and the name of a channel. A person reads the expected unit and
// name in the members. Names are taken only if they can mean one channel.
func TestMembersOfStructs(t *testing.T) {
	for _, c := range []struct {
		name       string
		others     []string // channels in the struct ch beside ch.data
		attributes [][2]string
		unit       string // of ch.data
		called     string // by this name, ch.data is found; "": by its own alone
	}{
		{"unit and name", nil, [][2]string{{"ch.unit", "N"}, {"ch.name", "Fz"}}, "N", "Fz"},
		{"units", nil, [][2]string{{"ch.units", "kPa"}}, "kPa", ""},
		{"Unit", nil, [][2]string{{"ch.Unit", "m/s"}}, "m/s", ""},
		{"unit_string", nil, [][2]string{{"ch.unit_string", "V"}}, "V", ""},
		{"a unit in brackets", nil, [][2]string{{"ch.unit", "[mV]"}}, "[mV]", ""},
		{"a level", nil, [][2]string{{"ch.unit", "dB"}}, "dB", ""},
		{"a product", nil, [][2]string{{"ch.unit", "N*m"}}, "N*m", ""},
		{"no unit", nil, [][2]string{{"ch.unit", "see report"}}, "", ""},
		{"an empty unit", nil, [][2]string{{"ch.unit", ""}}, "", ""},
		{"another struct", nil, [][2]string{{"other.unit", "N"}, {"other.name", "Fz"}}, "", ""},
		{"a longer name of a struct", nil, [][2]string{{"ch2.unit", "N"}, {"ch2.name", "Fz"}}, "", ""},
		{"a member of a member", nil, [][2]string{{"ch.cal.unit", "V"}, {"ch.cal.name", "Fz"}}, "", ""},
		{"a unit of the file", nil, [][2]string{{"unit", "N"}, {"name", "Fz"}}, "", ""},
		{"label", nil, [][2]string{{"ch.label", "Lift"}}, "", "Lift"},
		{"channel", nil, [][2]string{{"ch.channel", "Mic 7"}}, "", "Mic 7"},
		{"channelName", nil, [][2]string{{"ch.channelName", "Mic 7"}}, "", "Mic 7"},
		{"an empty name", nil, [][2]string{{"ch.name", ""}}, "", ""},
		{"two channels of one unit", []string{"ch.more"}, [][2]string{{"ch.units", "N"}}, "N", ""},
		{"two channels and one name", []string{"ch.more"}, [][2]string{{"ch.name", "Fz"}}, "", ""},
		{"a clock beside the channel", []string{"ch.time"}, [][2]string{{"ch.unit", "N"}, {"ch.name", "Fz"}}, "N", "Fz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := arrays.New(ingest.Info{Path: "run.mat", Format: "mat"})
			for _, attribute := range c.attributes {
				r.Attribute(attribute[0], attribute[1])
			}

			for _, name := range append([]string{"ch.data"}, c.others...) {
				values := []float64{7, 2, 5}
				if name == "ch.time" {
					values = []float64{0, 0.5, 1}
				}

				plane := arrays.PlaneOf(ingesttest.NewMemory(values))
				require.NoError(t, r.Add(arrays.Array{Name: name, Group: "ch", Dims: []int64{3}, Plane: plane}))
			}

			require.NoError(t, r.Finish(ingest.Options{RateHz: 2}))
			for _, channel := range r.Info().Channels {
				switch channel.Name {
				case "ch.data":
					assert.Equal(t, c.unit, channel.Unit)
				case "ch.time":
					assert.NotEqual(t, "N", channel.Unit, "the unit of the time")
				}
			}

			if c.called != "" {
				k, err := ingest.FindChannel(r.Info(), c.called)
				require.NoError(t, err)
				assert.Equal(t, "ch.data", r.Info().Channels[k].Name)

				return
			}

			_, err := ingest.FindChannel(r.Info(), "Fz")
			assert.ErrorContains(t, err, "Fz")
		})
	}
}
