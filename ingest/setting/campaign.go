// Package setting contains what a user states about a campaign: which files it has, how they are read, what their
// columns and channels mean, and how samples become physical units. The types have no behaviour beyond their own
// values. The rooms that read, calibrate and analyse recordings take them, and the configuration decodes them: a
// field with the tag key is a key of pipeline.yaml, and the zero value of a field means that the user did not state it.
package setting

import (
	"doubletake/ingest"
	"doubletake/ingest/condition"
)

// Campaign selects the files and describes their channels and conditions. A setting with the tag only:"others" is not
// an input of the tasks that read files: other tasks use it, and a change of it does not make a file be read again.
//
// The comment of each field that is a key is the documentation of the key: keys.txt, the reference and the schema have
// it.
type Campaign struct {
	// recordings: one or more globs, relative to this file
	Files []string `key:"files" path:"yes" only:"others"`

	// measurements to leave out: names or globs of files, or conditions of recordings and of rows of a table, e.g.
	// [take3.wav, {propeller: APC-8x6, rpm: 5000, reason: a blade was loose}], or {file: take4.wav, reason: …}. With
	// channel (name or number from 1) only one microphone of these recordings is left out: {file: take5.wav, channel:
	// 12, reason: clipped}. The page lists them
	Exclude Exclusions `key:"exclude" only:"others"`

	// a simulated campaign instead of files
	Simulate *Simulate `key:"simulate" only:"others"`

	// a table that already holds pairs of repeated measurements: a path, or a mapping that names the columns
	Table *Table `key:"table"`

	// measured, or simulated; everything made from simulated data is called simulated
	Data string `key:"data" enum:"measured|simulated" only:"others"`

	// CSV file, or a log as it was typed, with the columns file[,channel][,row0,row1] and one column per condition;
	// names in a column of text can be held out and be groups
	Conditions string `key:"conditions" path:"yes" only:"others"`

	// how to read the table of conditions, if its content does not show it
	Log Log `key:"log" only:"others"`

	// conditions from the file name, e.g. naca0012_a{alpha_deg}_u{u_inf_m_s}.csv, and names as {propeller:text}
	Pattern string `key:"pattern" path:"yes"`

	// column (of the table of conditions or of results), field of pattern or attribute that names the run: rows and
	// recordings of one run share its set-up. Empty: a column called run; without such a column each row or interval of
	// a file is a run of its own
	Run string `key:"run"`

	// columns whose cells are names of things (propellers, wings, motors), even if they look like numbers. Each thing
	// is a group: only measurements of the same thing are repeats
	Things []string `key:"things"`

	// columns whose cells are names of occasions (days, sessions, mountings), even if they look like numbers. Each
	// occasion is a group
	Occasions []string `key:"occasions"`

	// writings of names and the name that each means, in all columns of names, e.g. {apc8x6: APC 8x6, Apc-8x6: APC 8x6}
	Spellings []NamedString `key:"spellings" omit:"zero"`

	// conditions with the same value for every recording, e.g. blades: 2; with a table, numbers that derive can use
	Constants []NamedNumber `key:"constants"`

	// how far measured values of a condition may lie from the middle of their set point, e.g. {rpm: 0.5 %,
	// u_inf_m_s: 0.2}. The model uses the measured values; conditions, repeats, groups and splits use the set points:
	// 2994 … 3008 are 3000 ± 8
	Tolerances []NamedString `key:"within" only:"others"`

	// conditions and outcomes by expressions of conditions, constants and outcomes, e.g. ct:
	// thrust_n/(rho*n_rps^2*diameter_m^4). A condition that is a name can be compared: 'profile == "Clark-Y" ? 0.03 :
	// 0'. Functions: abs acos asin atan atan2 cos exp floor hypot log log10 max min round sin sqrt tan
	Derive []NamedString `key:"derive" only:"others"`

	// uncertainties of constants, conditions, outcomes and of the references of dsp, for budget, e.g. rho_kg_m3: "± 1
	// %, k 2", span_m: "± 0.5e-3, rectangular", lift_n: "u 0.02, dof 12"
	Uncertainty []NamedString `key:"uncertainty" only:"others"`

	// format of the files; empty: found from their content
	Format string `key:"format" choices:"formats"`

	// sampling rate in Hz, if the files do not state it
	RateHz float64 `key:"rate_hz"`

	// a program of yours that reads files of other formats: it and its arguments, e.g. [python3, convert.py,
	// "{file}"], or a mapping
	Reader *Reader `key:"reader" only:"others"`

	// numbers that mark missing values, e.g. [-9999]. Rows of tables of results that contain one are left out, a cell
	// of a log counts as empty, and samples of recordings are interpolated between their neighbours; warnings count
	// them
	Missing []string `key:"missing" omit:"zero"`

	// for a file shorter than its header claims: error refuses it, use takes the part that exists
	Truncated string `key:"truncated" enum:"error|use"`

	// conditions from attributes of the files: an attribute, a single number among the arrays, or @NAME, an attribute
	// of the channel. The attribute is a name if things, occasions or run list the condition
	Attributes []NamedString `key:"attributes"`

	// conditions from a YAML (or JSON) file next to each recording: its ending, e.g. .yaml, or a mapping that
	// names the numbers
	Sidecar *Sidecar `key:"sidecar"`

	// conditions from a table inside the files (MAT, HDF5, NPZ, TDMS), as condition: array. The array has a
	// value for each channel used
	InFile []NamedString `key:"inside"`

	// names of attributes in files of named arrays (MAT, HDF5, TDMS, NPZ), if they are not the usual ones
	Arrays ingest.ArrayOptions `key:"arrays"`

	// how to read delimited text, if its content does not show it
	Text ingest.TextOptions `key:"text"`

	// how the data count theta_deg: from the rotor plane (0 in it, as in the tables), or from the axis (0 on
	// the inflow side, 90 in the plane, 180 downstream), which is converted to 90 - theta_deg
	ThetaFrom string `key:"theta_from" enum:"plane|axis"`

	// channels to use, by name or number from 1; empty: all
	Channels []string `key:"channels"`

	// columns by outcome name: lift_n, drag_n (wind axes) or fx_n, fz_n (body axes), or any other name
	Columns []NamedString `key:"columns"`

	// units of the data, by outcome or condition; they replace what the files state. Values are converted to
	// the unit that the name states: lift_n: kN is multiplied by 1000
	Units []NamedString `key:"units"`

	// axes of the balance: wind, or body (Fx aft, Fz up), which are rotated by alpha_deg
	Axes string `key:"axes" enum:"wind|body" only:"others"`

	// a channel that counts the shaft's revolutions; it replaces the condition rpm and track
	Tachometer *Tachometer `key:"tachometer"`

	// a balance that records voltages: its matrix, its tare, the flow
	Balance *Balance `key:"balance" only:"others"`

	// table of the microphones: channel (name or number from 1), sensitivity_v_per_pa, gain_db, and conditions of each
	// microphone, such as theta_deg. Its channels are used if the key channels is empty. A path, or a mapping that also
	// names the columns
	Microphones *Microphones `key:"microphones" only:"others"`

	// how microphone samples become Pa; without it levels are relative to full scale
	Calibration *Calibration `key:"calibration"`

	// recordings without the source under test. Their level in the bins of each harmonic or band is stored beside its
	// level, and is subtracted on request
	Background *Background `key:"background" only:"others"`

	// fail stops the run; skip leaves the recording out and lists it in the report
	OnBadRecording string `key:"on_bad_recording" enum:"fail|skip" only:"others"`
}

// Roles returns the roles that the settings state for columns. Columns named in other settings, such as splits, may
// have further roles.
func (c *Campaign) Roles() condition.Roles {
	return condition.Roles{Run: c.Run, Things: c.Things, Occasions: c.Occasions, Spellings: ByName(c.Spellings)}
}

// Log guides the reader of the table of conditions.
type Log struct {
	// columns by condition, as the header calls them, e.g. {rpm: "Drehzahl [1/min]"}; file: the recordings
	Columns []NamedString `key:"columns"`

	// columns that are not conditions, such as counters and readings: runs that differ only in them are repeats
	Ignore []string `key:"ignore"`

	// texts that mark missing values, besides -, n/a, NaN, #N/A and the like
	Missing []string `key:"missing"`

	// decimal sign of numbers like 1,234 that no other cell shows, in tables of results too
	Decimal string `key:"decimal" enum:"|point|comma"`
}

// Reader describes a program that converts files that no known format reads.
type Reader struct {
	// the program and its arguments; {file} is the path of the file. It writes an Arrow IPC stream to its
	// standard output
	Program []string `key:"program" short:"yes"`

	// any text: after a change of it the files are read again. Changes of the program and of files among its arguments
	// are noticed without it, because they are hashed
	Version string `key:"version"`

	// longest time for one file in s
	TimeoutS float64 `key:"timeout_s"`
}

// SetDefaults stores the default values of the section.
func (r *Reader) SetDefaults() { r.TimeoutS = 600 }

// Background names the recordings without the source under test.
type Background struct {
	// recordings of the background: one or more globs; files that ingest.files also names are background only
	Files []string `key:"files" path:"yes"`

	// true: levels are corrected for the background in power, as ISO 3744 does: harmonics, bands and sums of
	// frequencies. The standard deviations of the levels contain the background's. A level less than 3 dB above the
	// background is lowered by 3 dB, and is an upper bound. It is for rooms whose background is the same in all runs
	Subtract bool `key:"subtract"`
}

// Tachometer is a channel that counts the shaft's revolutions.
type Tachometer struct {
	// the channel, by name or number from 1
	Channel string `key:"channel"`

	// pulses in one revolution of the shaft
	PulsesPerRev int `key:"pulses_per_rev"`

	// the edge of a pulse that counts
	Edge string `key:"edge" enum:"rising|falling"`

	// level of an edge in the file's unit, more than a fifth of the channel's range from both its extremes;
	// not given: midway between them
	Threshold *float64 `key:"threshold"`
}

// SetDefaults stores the default values of the section.
func (t *Tachometer) SetDefaults() {
	t.PulsesPerRev = 1
	t.Edge = "rising"
}
