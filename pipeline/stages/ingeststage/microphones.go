package ingeststage

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
)

// chainWords matches the beginning of column names that state a sensitivity or a gain.
var chainWords = regexp.MustCompile(`(?i)^(?:sens|gain|empfindlichkeit|verstärkung|amplification)`)

// chainConditions lists the columns of the table of microphones that describe a channel's measuring chain.
var chainConditions = []string{"gain_db", "sensitivity_v_per_pa"}

// joinMicrophones reads the table of microphones, which has a row for each channel, and joins it to the table of
// conditions, which has a row for each run. It stores the channels' gains and sensitivities, and uses the listed
// channels if the configuration names none.
func (r *Recordings) joinMicrophones(exp plan.Experiment) error {
	r.Chains = map[string][]setting.NamedNumber{}
	if c := r.Ingest.Calibration; c != nil {
		r.Chains["gain_db"] = c.ChannelGainDB
	}

	if r.Ingest.Microphones == nil {
		return nil
	}

	t, err := r.readMicrophones(exp)
	if err != nil {
		return err
	}

	gaps, err := t.FillGaps(exp.Mentions, chainConditions)
	if err != nil {
		return err
	}

	if err := r.checkChainNames(t); err != nil {
		return err
	}

	channels, err := r.readChannels(t)
	if err != nil {
		return err
	}

	if len(r.Ingest.Channels) == 0 {
		r.Ingest.Channels = channels
		r.channelsListed = true
	}

	r.warnings = slices.Concat(r.warnings, t.Warnings, gaps)
	r.Table = r.Table.WithChannels(t)

	return nil
}

// readMicrophones reads the table of microphones. Its rows name channels in the place of files.
func (r *Recordings) readMicrophones(exp plan.Experiment) (*campaign.Conditions, error) {
	path := exp.File.Resolve(r.Ingest.Microphones.File)
	columns, err := r.microphoneColumns(path)
	if err != nil {
		return nil, err
	}

	t, err := campaign.ReadLog(path, campaign.LogOptions{
		Columns: columns, Decimal: decimalSigns[r.Ingest.Log.Decimal],
		Names: append(exp.Roles().Names(), "serial", "serial_number", "Seriennummer"), Units: byName(r.Ingest.Units),
		Spellings: r.Roles.Spellings,
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

// microphoneColumns returns the headers of the table of microphones by the names that the program reads them as. Its
// column of channels takes the place of the column of files. Headers that cannot be read are not looked for: ReadLog
// reports the fault. It returns an error if a header says that angles are counted from the axis, and the configuration
// does not.
func (r *Recordings) microphoneColumns(path string) (map[string]string, error) {
	columns := byName(r.Ingest.Microphones.Columns)
	if cells, err := campaign.ReadCells(path, mostMicrophones); err == nil {
		maps.Copy(columns, campaign.MicrophoneColumns(cells.Heads, columns))
	}

	if head := columns["theta_deg"]; campaign.IsFromAxis(head) && r.Ingest.ThetaFrom != "axis" {
		return nil, fault.At(r.Ingest.Microphones.File, "column "+head,
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
func (r *Recordings) checkChainNames(t *campaign.Conditions) error {
	for _, name := range t.Names {
		if chainWords.MatchString(name) && !slices.Contains(chainConditions, name) {
			return fault.At(r.Ingest.Microphones.File, "column "+name,
				"gain_db or sensitivity_v_per_pa", "another name", "in mV/Pa: sensitivity_v_per_pa [mV/Pa]")
		}
	}

	return nil
}

// readChannels returns the channels that the rows of the table of microphones name, and stores their gains and
// sensitivities. It changes each row so that it applies to its channel in every file.
func (r *Recordings) readChannels(t *campaign.Conditions) ([]string, error) {
	path := r.Ingest.Microphones.File
	var channels []string
	for i, row := range t.Rows {
		channel := row.File
		if slices.Contains(channels, channel) {
			return nil, fault.At(path, fmt.Sprintf("line %d", row.Line),
				"a row for each channel", "a second one for "+channel, "correct the channel, or delete the row")
		}

		channels = append(channels, channel)
		t.Rows[i].Channel = channel
		t.Rows[i].File = "*"
		if err := r.addChain(path, row); err != nil {
			return nil, err
		}
	}

	return channels, nil
}

// addChain stores the gain and the sensitivity that a row of the table of microphones states for its channel. path is
// the table's path for messages.
func (r *Recordings) addChain(path string, row campaign.ConditionRow) error {
	for _, cond := range row.Given() {
		if cond.IsName {
			continue
		}

		if cond.Value <= 0 && cond.Column == "sensitivity_v_per_pa" {
			return fault.At(path, fmt.Sprintf("line %d, column %s", row.Line, cond.Column), "a number above 0",
				fmt.Sprint(cond.Value), "")
		}

		r.Chains[cond.Column] = append(r.Chains[cond.Column], setting.NamedNumber{Name: row.File, Value: cond.Value})
	}

	return nil
}
