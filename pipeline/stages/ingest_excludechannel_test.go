package stages

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
)

// arrayFiles are two recordings of three microphones. Sample k of microphone m is k·m.
var arrayFiles = map[string]string{
	"a_3000.npy": npyFile(count(100, 1), count(100, 2), count(100, 3)),
	"b_4000.npy": npyFile(count(100, 1), count(100, 2), count(100, 3)),
}

// channelsRead reads file i and returns the channels of its recordings, from 1.
func channelsRead(t *testing.T, b *ingestedFile, i int) []int {
	t.Helper()
	res, err := read(b, i, nil)
	require.NoError(t, err)

	var channels []int
	for _, recording := range res.Runs[0].Run.Recordings {
		channels = append(channels, recording.Channels[0]+1)
	}

	return channels
}

// One microphone of one recording, of recordings by a glob, or of recordings with a condition is left out. The other
// recordings keep it, and a warning for the page names what is left out and why.
func TestExcludeChannel(t *testing.T) {
	const sections = `{files: "*.npy", pattern: "{_}_{rpm}.npy", rate_hz: 1000, exclude: `
	all := []int{1, 2, 3}
	for _, c := range []struct {
		exclude       string
		first, second []int  // channels that are left of the two files
		warning       string // path and text of the warning
	}{
		{
			`[{file: a_3000.npy, channel: 2, reason: clipped}]`,
			[]int{1, 3},
			all,
			"a_3000.npy, channel 2 left out by exclude: a_3000.npy, channel 2 (clipped)",
		},
		{
			`{file: "?_*.npy", channel: 3}`,
			[]int{1, 2},
			[]int{1, 2},
			"a_3000.npy, channel 3 left out by exclude: ?_*.npy, channel 3, also b_4000.npy, channel 3",
		},
		{
			`{rpm: 4000, channel: 1, reason: wet}`, all,
			[]int{2, 3},
			"b_4000.npy, channel 1 left out by exclude: rpm = 4000, channel 1 (wet)",
		},
	} {
		b := planFiles(t, arrayFiles, sections+c.exclude+"}", "{triplets: split-half-spectrum}")
		assert.Equal(t, c.first, channelsRead(t, b, 0), c.exclude)
		assert.Equal(t, c.second, channelsRead(t, b, 1), c.exclude)

		i := slices.IndexFunc(b.Warnings, isExcluded)
		require.GreaterOrEqual(t, i, 0, "%s: no warning among %v", c.exclude, b.Warnings)
		assert.Equal(t, c.warning, b.Warnings[i].Path+" "+b.Warnings[i].Text)
	}

	b := planFiles(t, arrayFiles, sections+"{file: c.npy, channel: 1}}", "{triplets: split-half-spectrum}")
	assert.Contains(t, warningTexts(b), `the exclusion "c.npy, channel 1" excludes nothing`)
}

// An exclusion names conditions as the tables have them: derived from others, in the unit of their name, and an angle
// from the rotor plane. Expected, by hand: 3000 and 4000 1/min are 50 and 66.7 Hz, 3.6 and 7.2 km/h are 1 and 2 m/s,
// and 30° and 60° from the axis are 60° and 30° from the plane. The file that states the condition loses channel 2.
func TestExcludeChannelByConvertedConditions(t *testing.T) {
	x := npyFile(count(100, 1), count(100, 2), count(100, 3))
	for _, c := range []struct{ first, second, settings, exclude string }{
		{"a_3000.npy", "b_4000.npy", `pattern: "{_}_{rpm}.npy", derive: {n_hz: rpm/60}`, `{n_hz: 50, channel: 2}`},
		{
			"a_3.6.npy", "b_7.2.npy", `pattern: "{_}_{u_inf_m_s}.npy", units: {u_inf_m_s: km/h}`,
			`{u_inf_m_s: 1, channel: 2}`,
		},
		{
			"a_30.npy", "b_60.npy", `pattern: "{_}_{theta_deg}.npy", theta_from: axis`,
			`{theta_deg: 60, channel: 2}`,
		},
		{
			"a_30.npy", "b_60.npy",
			`pattern: "{_}_{theta_deg}.npy", theta_from: axis, derive: {twice: "2*theta_deg"}`,
			`{twice: {min: 119, max: 121}, channel: 2}`,
		},
		{"a_APC.npy", "b_HQ.npy", `pattern: "{_}_{propeller:text}.npy"`, `{propeller: APC, channel: 2}`},
		{"a_run7.npy", "b_run8.npy", `pattern: "{_}_run{run}.npy", constants: {rpm: 3000}`, `{run: "7", channel: 2}`},
	} {
		b := planFiles(t, map[string]string{c.first: x, c.second: x},
			`{files: "*.npy", rate_hz: 1000, `+c.settings+", exclude: "+c.exclude+"}", "{triplets: split-half-spectrum}")
		assert.Equal(t, []int{1, 3}, channelsRead(t, b, 0), c.exclude)
		assert.Equal(t, []int{1, 2, 3}, channelsRead(t, b, 1), c.exclude)
	}
}

// A row of the table states another angle for each channel. Channel 1 has the angle of the exclusion, which is about
// channel 2: no channel is left out, and a warning says so.
func TestExcludeChannelOfOtherRow(t *testing.T) {
	files := map[string]string{
		"a.npy": npyFile(count(100, 1), count(100, 2)), "c.csv": "file,channel,theta_deg\na,1,30\na,2,60\n",
	}
	b := planFiles(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, exclude: {theta_deg: 30, channel: 2}}`,
		"{triplets: split-half-spectrum}")
	assert.Equal(t, []int{1, 2}, channelsRead(t, b, 0))

	res, err := read(b, 0, nil)
	require.NoError(t, err)

	i := slices.IndexFunc(res.Warnings, func(w ingest.Warning) bool { return w.Code == "unused-exclude" })
	require.GreaterOrEqual(t, i, 0, "%v", res.Warnings)
	assert.Equal(t, `the exclusion "theta_deg = 30, channel 2" excludes nothing`, res.Warnings[i].Text)
}

// The task of a file is made again when one of its channels is excluded, and not for another reason or another file.
func TestExcludeChannelKeys(t *testing.T) {
	settings := func(exclude string) []string {
		b := planFiles(t, arrayFiles, `{files: "*.npy", pattern: "{_}_{rpm}.npy", rate_hz: 1000, exclude: `+exclude+"}",
			"{triplets: split-half-spectrum}")
		var keys []string
		for i := range b.Recordings.Files {
			text := ""
			for _, own := range b.Recordings.inventory.OwnSettings(b.Recordings.Files[i].File, b.Labels) {
				text += own.Name + "=" + own.Value + ";"
			}

			keys = append(keys, text)
		}

		return keys
	}

	none := settings("[]")
	one := settings("[{file: a_3000.npy, channel: 2}]")
	assert.NotEqual(t, none[0], one[0], "the file that loses a channel")
	assert.Equal(t, none[1], one[1], "the file that keeps all channels")
	assert.Equal(t, one, settings("[{file: a_3000.npy, channel: 2, reason: wet}]"), "a reason is not part of the key")
}

// Exclusions of channels that cannot be meant are refused with what to write instead.
func TestExcludeChannelRefused(t *testing.T) {
	refused(t, arrayFiles, `{files: "*.npy", pattern: "{_}_{rpm}.npy", exclude: {prop: APC, channel: 1}}`,
		"{triplets: split-half-spectrum}", `ingest.exclude: "prop" is no condition that is known before the files are opened`)
	refused(t, arrayFiles, `{files: "*.npy", pattern: "{_}_{rpm}.npy", columns: {lift_n: "1"}, rate_hz: 1000, `+
		`exclude: {file: a_3000.npy, channel: 1}}`, "{triplets: random-samples}",
		"a_3000.npy, channel 1: the columns of a balance are one recording; leave out the file")
	refused(t, map[string]string{"t.csv": "rpm,y_1,y_2\n1,2,3\n"}, `{table: t.csv, exclude: {file: t.csv, channel: 1}}`,
		"{}", "a table of results has no channels; exclude its rows by conditions")

	const sections = `{files: "*.npy", pattern: "{_}_{rpm}.npy", rate_hz: 1000, channels: [1], exclude: `
	for exclude, want := range map[string]string{
		"{file: a_3000.npy, channel: 1}": "a_3000.npy: expected a channel that is left, found all are excluded " +
			"(leave the file out with exclude under ingest)",
		"{file: a_3000.npy, channel: 12}": `a_3000.npy: expected a channel "12"`,
	} {
		b := planFiles(t, arrayFiles, sections+exclude+"}", "{triplets: split-half-spectrum}")
		_, err := read(b, 0, nil)
		require.ErrorContains(t, err, want)
	}
}

// The stage adds the key of the configuration to what the campaign refuses.
func TestKeysOfRefusals(t *testing.T) {
	refused(t, arrayFiles, `{files: "*.npy", pattern: "{_}_{rpm}.npy", rate_hz: 1000, exclude: {rpm: {min: 1}}}`,
		"{triplets: split-half-spectrum}", "ingest.exclude: all ")

	samples := npyFile(constant(100, 1), constant(100, 2))
	refused(t, map[string]string{"m.csv": "Fx,1,2\nFz,3,4\n", "a_u20.npy": samples, "tare_u20.npy": samples},
		`{files: "*.npy", pattern: "{_}_u{u_inf_m_s}.npy", constants: {alpha_deg: 2}, rate_hz: 1000, `+
			`columns: {fx_n: Fx, fz_n: Fz}, axes: body, balance: {voltages: ["1", "2"], matrix_file: m.csv, `+
			`blockage: none, angle: alpha_deg, tare: {interpolation: mean, file: "zero_u{u_inf_m_s}.npy"}}}`,
		"{triplets: split-halves}", "ingest.balance.tare.file: ")
}
