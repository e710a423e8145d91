package stages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestExcludeForms leaves out recordings of two microphones in the forms in which people write exclusions. What is left
// is what a person reads in the form: of each file its first letter and the numbers of its channels.
func TestExcludeForms(t *testing.T) {
	x := npyFile(count(100, 1), count(100, 2))
	files := map[string]string{
		"a1.npy": x, "b2.npy": x, "c3.npy": x, "d4.npy": x,
		"c.csv": "file,propeller,rpm,comment\na1,APC,3000,\nb2,APC,4000,loose\nc3,HQ,3000,\nd4,HQ,4002,wet day\n",
	}

	const all = "a12 b12 c12 d12"
	for _, c := range []struct{ exclude, left string }{
		{"[]", all},
		{"a1.npy", "b12 c12 d12"},
		{"[a1.npy]", "b12 c12 d12"},
		{"[a1.npy, d4.npy]", "b12 c12"},
		{`"a*"`, "b12 c12 d12"},
		{`"?2.npy"`, "a12 c12 d12"},
		{`["[ab]*"]`, "c12 d12"},
		{"{file: a1.npy}", "b12 c12 d12"},
		{"{file: a1.npy, reason: the door was open}", "b12 c12 d12"},
		{"[{file: a1.npy, reason: door}, {file: b2.npy, reason: loose}]", "c12 d12"},
		{"{propeller: APC}", "c12 d12"},
		{"{propeller: [APC, HQ], rpm: 3000}", "b12 d12"},
		{"{rpm: 3000}", "b12 d12"},
		{"{rpm: [3000, 4000]}", "d12"},
		{"{rpm: {min: 4000}}", "a12 c12"},
		{"{rpm: {max: 3000}}", "b12 d12"},
		{"{rpm: {min: 3500, max: 4001}}", "a12 c12 d12"},
		{"{rpm: {near: 4000, within: 5}}", "a12 c12"},
		{"{propeller: HQ, rpm: 3000}", "a12 b12 d12"},
		{"[{propeller: HQ}, {rpm: 3000}]", "b12"},
		{"{comment: loose}", "a12 c12 d12"},
		{"{comment: wet day, reason: rain}", "a12 b12 c12"},
		{"{file: a1.npy, channel: 2}", "a1 b12 c12 d12"},
		{`{file: "*.npy", channel: 2}`, "a1 b1 c1 d1"},
		{"{propeller: APC, channel: 1}", "a2 b2 c12 d12"},
		{"{rpm: {min: 4001}, channel: 1, reason: clipped}", "a12 b12 c12 d2"},
		{"[{file: a1.npy, channel: 1}, {file: b2.npy, channel: 2}]", "a2 b1 c12 d12"},
		{"[c3.npy, {file: d4.npy, channel: 2}]", "a12 b12 d1"},
		{"{file: none.npy}", all},
		{"{rpm: 5000}", all},
	} {
		b := planFiles(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, exclude: `+c.exclude+"}",
			"{triplets: split-half-spectrum}")

		var left []string
		for i, file := range b.Recordings.Files {
			text := file.Name[:1]
			for _, channel := range channelsRead(t, b, i) {
				text += string(rune('0' + channel))
			}

			left = append(left, text)
		}

		assert.Equal(t, c.left, strings.Join(left, " "), "exclude: %s", c.exclude)
	}
}
