package campaign

import (
	"strings"
)

// ChannelOf returns the channel of a recording, which its name has after the name of the run and "#", or "" if it names
// none. If the name of the run comes from a column, the channel follows the last "#".
func ChannelOf(run, recording string) string {
	if recording == run {
		return ""
	}

	if channel, isOwn := strings.CutPrefix(recording, run+"#"); isOwn {
		return channel
	}

	k := strings.LastIndexByte(recording, '#')
	if k < 0 {
		return ""
	}

	return recording[k+1:]
}
