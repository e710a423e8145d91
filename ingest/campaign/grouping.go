package campaign

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// Grouping tells which channels of a file are recordings, and how they get their conditions.
type Grouping struct {
	// Channels are names (as in ingest.FindChannel) or numbers from 1 of channels, in the order wanted within a recording.
	// Empty: every channel but the clock.
	Channels []string
	// Together makes the channels one recording (lift and drag). Otherwise each channel is a recording (microphones).
	Together bool
	// Except are the names of channels that are not recordings (a tachometer).
	Except []string
	// Own are the attributes of channels that state a condition for their recordings.
	Own        []OwnCondition
	Roles      condition.Roles                // of conditions
	Tolerances map[string]condition.Tolerance // of set points, by condition
}

// NewGrouping returns the grouping of a campaign of microphones, each of whose channels is a recording.
func NewGrouping(settings *setting.Campaign, roles condition.Roles) Grouping {
	group := Grouping{Channels: settings.Channels, Roles: roles, Tolerances: setting.Tolerances(settings.Tolerances)}
	if settings.Tachometer != nil {
		group.Except = []string{settings.Tachometer.Channel}
	}

	for _, attribute := range settings.Attributes {
		if name, ofChannel := strings.CutPrefix(attribute.Value, "@"); ofChannel {
			group.Own = append(group.Own, OwnCondition{Condition: attribute.Name, Attribute: name})
		}
	}

	return group
}

// NewTogether returns the grouping of a campaign of a balance, whose columns are together one recording.
func NewTogether(settings *setting.Campaign, roles condition.Roles, columns []string) Grouping {
	group := NewGrouping(settings, roles)
	group.Channels = columns
	group.Together = true
	group.Except = nil

	return group
}

// An OwnCondition is a condition that an attribute of each channel states.
type OwnCondition struct {
	Condition string
	Attribute string
}

// channelsOfRecordings returns the indices of the channels of each recording of a file.
func (g Grouping) channelsOfRecordings(info ingest.Info) ([][]int, error) {
	except, err := findChannels(info, g.Except)
	if err != nil {
		return nil, err
	}

	names := g.channelNames(info)
	channels, err := findChannels(info, names)
	if err != nil {
		return nil, err
	}

	for k, c := range channels {
		if first := slices.Index(channels, c); first != k {
			return nil, fault.At(info.Path, "", "channels that differ",
				fmt.Sprintf("%q and %q are the same channel", names[first], names[k]), "")
		}
	}

	if len(g.Channels) == 0 {
		channels, err = otherChannels(info, except)
		if err != nil {
			return nil, err
		}
	}

	if err := checkAlike(info, channels); err != nil {
		return nil, err
	}

	if g.Together {
		return [][]int{channels}, nil
	}

	slices.Sort(channels) // recordings in the file's order

	return slices.Collect(slices.Chunk(channels, 1)), nil
}

// findChannels returns the indices of channels by their names.
func findChannels(info ingest.Info, names []string) ([]int, error) {
	var channels []int
	for _, name := range names {
		c, err := ingest.FindChannel(info, name)
		if err != nil {
			return nil, err
		}

		channels = append(channels, c)
	}

	return channels, nil
}

// channelNames returns the names of Channels. The name of an array with several columns is replaced by the names of all
// columns, unless the channels are one recording, in which each name is one outcome.
func (g Grouping) channelNames(info ingest.Info) []string {
	var names []string
	for _, name := range g.Channels {
		var columns []string
		for _, n := range info.Names() {
			if strings.HasPrefix(n, name+"[") {
				columns = append(columns, n)
			}
		}

		_, err := ingest.FindChannel(info, name)
		isArray := err != nil && len(columns) > 0
		if isArray && !g.Together {
			names = append(names, columns...)
		} else {
			names = append(names, name)
		}
	}

	return names
}

// otherChannels returns the channels of samples except some. It is an error if there are none, or if a channel cannot
// be read, since it may be meant.
func otherChannels(info ingest.Info, except []int) ([]int, error) {
	var channels []int
	for i, channel := range info.Channels {
		if channel.Role() == "" && !slices.Contains(except, i) {
			channels = append(channels, i)
		}
	}

	if len(channels) == 0 {
		return nil, fault.At(info.Path, "", "channels other than the time", "none", "")
	}

	for _, unread := range info.Unread {
		if unread.Fault {
			return nil, fault.At(info.Path, unread.Name, "", unread.Reason, "name the channels to use if this is none of them")
		}
	}

	return channels, nil
}

// checkAlike returns an error if channels differ in length or rate.
func checkAlike(info ingest.Info, channels []int) error {
	for _, c := range channels {
		first := info.Channels[channels[0]]
		other := info.Channels[c]
		if first.Samples != other.Samples || first.RateHz != other.RateHz {
			return fault.At(info.Path, "", "channels of one length and rate in a run",
				describeChannel(first)+", "+describeChannel(other), "name the channels (or columns) that belong together")
		}
	}

	return nil
}

func describeChannel(channel ingest.Channel) string {
	return fmt.Sprintf("%s with %d samples at %g Hz", channel.Name, channel.Samples, channel.RateHz)
}
