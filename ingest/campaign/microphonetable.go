package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
)

// chainWords matches the beginning of column names that state a sensitivity or a gain.
var chainWords = regexp.MustCompile(`(?i)^(?:sens|gain|empfindlichkeit|verstärkung|amplification)`)

// chainConditions lists the columns of the table of microphones that describe a channel's measuring chain.
var chainConditions = []string{"gain_db", "sensitivity_v_per_pa"}

// Microphones is a table of microphones, with a row for each channel.
type Microphones struct {
	Table    *Conditions                      // its conditions, whose rows apply to a channel of every file
	Channels []string                         // the channels that have a row
	Chains   map[string][]setting.NamedNumber // gains in dB and sensitivities in V/Pa of channels, by column
	Warnings []ingest.Warning
}

// ReadMicrophones reads the table of microphones of a campaign. roles say which columns are names, and mentions whether
// a setting names a condition, whose cells may not be empty then. ReadMicrophones returns a *fault.Error about the
// table.
func ReadMicrophones(campaign *setting.Campaign, project setting.Project, roles condition.Roles,
	mentions func(condition string) bool,
) (*Microphones, error) {
	file := campaign.Microphones.File
	t, err := readMicrophoneTable(campaign, project, roles)
	if err != nil {
		return nil, err
	}

	gaps, err := t.FillGaps(mentions, chainConditions)
	if err != nil {
		return nil, err
	}

	if err := checkChainNames(file, t); err != nil {
		return nil, err
	}

	microphones := &Microphones{Table: t, Chains: map[string][]setting.NamedNumber{}}
	if err := microphones.readChannels(file); err != nil {
		return nil, err
	}

	microphones.Warnings = slices.Concat(t.Warnings, gaps)

	return microphones, nil
}

// readMicrophoneTable reads the table of microphones. Its rows name channels in the place of files.
func readMicrophoneTable(campaign *setting.Campaign, project setting.Project, roles condition.Roles,
) (*Conditions, error) {
	path := project.Resolve(campaign.Microphones.File)
	columns, err := headsOfMicrophones(campaign, path)
	if err != nil {
		return nil, err
	}

	t, err := ReadLog(path, LogOptions{
		Columns: columns, Decimal: DecimalSigns[campaign.Log.Decimal],
		Names: append(roles.Names(), "serial", "serial_number", "Seriennummer"), Units: setting.ByName(campaign.Units),
		Spellings: roles.Spellings,
	})
	if err != nil {
		if bad, ok := errors.AsType[*fault.Error](err); ok && strings.Contains(bad.Want, "log.columns") {
			bad.Want = `a column "channel": the channels of the microphones, by name or number from 1`
			bad.Hint = "name it with microphones: {file: …, columns: {channel: HEADER}}"
		}

		return nil, err
	}

	return t, nil
}

// DecimalSigns contains the decimal sign for each value of the setting log: {decimal}.
var DecimalSigns = map[string]byte{"point": condition.Point, "comma": condition.Comma}

// headsOfMicrophones returns the headers of the table of microphones by the names that the program reads them as. Its
// column of channels takes the place of the column of files. Headers that cannot be read are not looked for: ReadLog
// reports the fault. It returns an error if a header says that angles are counted from the axis, and the settings do
// not.
func headsOfMicrophones(campaign *setting.Campaign, path string) (map[string]string, error) {
	columns := setting.ByName(campaign.Microphones.Columns)
	if cells, err := ReadCells(path, mostMicrophones); err == nil {
		maps.Copy(columns, MicrophoneColumns(cells.Heads, columns))
	}

	if head := columns["theta_deg"]; IsFromAxis(head) && campaign.ThetaFrom != "axis" {
		return nil, fault.At(campaign.Microphones.File, "column "+head,
			"angles that are counted from the rotor plane, as theta_from says", "a header that counts them from the axis",
			"write theta_from: axis, or rename the column if they are counted from the plane")
	}

	columns["file"] = cmp.Or(columns["channel"], "channel")
	delete(columns, "channel")

	return columns, nil
}

// mostMicrophones bounds the rows of a table of microphones whose headers are looked up in other languages.
const mostMicrophones = 10_000

// checkChainNames returns an error if a column of the table of microphones seems to state a gain or a sensitivity under
// another name than the program knows.
func checkChainNames(path string, t *Conditions) error {
	for _, name := range t.Names {
		if chainWords.MatchString(name) && !slices.Contains(chainConditions, name) {
			return fault.At(path, "column "+name,
				"gain_db or sensitivity_v_per_pa", "another name", "in mV/Pa: sensitivity_v_per_pa [mV/Pa]")
		}
	}

	return nil
}

// readChannels stores the channels that the rows name, with their gains and sensitivities. It changes each row so that
// it applies to its channel in every file. path is the table's path for messages.
func (m *Microphones) readChannels(path string) error {
	for i, row := range m.Table.Rows {
		channel := row.File
		if slices.Contains(m.Channels, channel) {
			return fault.At(path, fmt.Sprintf("line %d", row.Line),
				"a row for each channel", "a second one for "+channel, "correct the channel, or delete the row")
		}

		m.Channels = append(m.Channels, channel)
		m.Table.Rows[i].Channel = channel
		m.Table.Rows[i].File = "*"
		if err := m.addChain(path, row); err != nil {
			return err
		}
	}

	return nil
}

// addChain stores the gain and the sensitivity that a row states for its channel. path is the table's path for
// messages.
func (m *Microphones) addChain(path string, row ConditionRow) error {
	for _, cond := range row.Given() {
		if cond.IsName || !slices.Contains(chainConditions, cond.Column) {
			continue
		}

		if cond.Value <= 0 && cond.Column == "sensitivity_v_per_pa" {
			return fault.At(path, fmt.Sprintf("line %d, column %s", row.Line, cond.Column), "a number above 0",
				fmt.Sprint(cond.Value), "")
		}

		m.Chains[cond.Column] = append(m.Chains[cond.Column], setting.NamedNumber{Name: row.File, Value: cond.Value})
	}

	return nil
}

// WithChannels returns the table joined with a table of channels: each row becomes a row for each channel, or for the
// channel that it names. If c is nil, WithChannels returns the table of channels.
func (c *Conditions) WithChannels(channels *Conditions) *Conditions {
	if c == nil {
		return channels
	}

	joined := *c
	joined.Rows = nil
	joined.Names = slices.Concat(c.Names, channels.Names)
	joined.Labels = slices.Concat(c.Labels, channels.Labels)
	for _, r := range c.Rows {
		for _, own := range channels.Rows {
			if r.Channel == "" || r.Channel == own.Channel {
				row := r
				row.Channel = own.Channel
				row.States = slices.Concat(r.States, own.States)
				joined.Rows = append(joined.Rows, row)
			}
		}
	}

	return &joined
}
