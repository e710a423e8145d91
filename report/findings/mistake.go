package findings

import (
	"path"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
)

// mistake is a finding about files or runs, with the effect that leaving them out has on the intervals.
type mistake struct {
	code  string
	first string // the first file that it is about; "" if the text names the file
	text  string
	files map[string]bool // names of files, of runs, or "#" and a channel of all files

	// effect describes the interval that shrinks most, without and with the files; "" if none does.
	effect string
	// ratio is the half width of this interval without the files over its half width with them, and 1 if it is unknown.
	ratio float64
}

// String returns the finding in words: the files that it is about, the mistake, and then what it costs. The terminal
// shows the first clauses only.
func (m *mistake) String() string {
	text := m.text
	switch {
	case m.effect == "":
	case len(m.files) == 1:
		text += "; without it " + m.effect
	default:
		text += "; without them " + m.effect
	}

	if m.first == "" {
		return text
	}

	return accused(m.first) + ": " + text
}

// accused names a file, or a channel of all files, which is "#" and its name among the files of a mistake.
func accused(file string) string {
	if channel, ok := strings.CutPrefix(file, "#"); ok {
		return "channel " + channel
	}

	return file
}

// concerns reports whether a file of the mistake is one of the runs of a row, one of its recordings, or the channel of
// a recording. Files match by their path or by their name.
func (m *mistake) concerns(runs, recordings []string) bool {
	names := slices.Concat(runs, recordings)
	for i, recording := range recordings {
		run := runs[min(i, len(runs)-1)] // two recordings of one run share its name
		if channel := campaign.ChannelOf(run, recording); channel != "" {
			names = append(names, "#"+channel)
		}
	}

	for _, name := range names {
		if m.files[name] || m.files[path.Base(name)] {
			return true
		}
	}

	return false
}
