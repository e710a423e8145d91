// Package role proposes a role for every column of a table, and for every part of the names of files: a condition that
// was set, an outcome, a thing, a day, the number of a run, or nothing of these. It judges a column by its words
// (package vocabulary), by its values, and by the rows that it makes equal or different.
//
// ReadNames reads the names of recordings (package filename) into a sheet, and ReadTables reads tables of results. A
// sheet has columns with a cell for each row. Lists of rules decide (rules.go), and decide.go says in which order. Each
// role comes with the reason for it, in words for people.
//
// Nothing here is certain. Package scaffold, which writes the roles into a configuration, shows them with their
// reasons, so that people can correct them.
package role

// Role is the purpose that is proposed for a column of a table, or for a part of the names.
type Role string

// Roles.
const (
	Open    Role = ""         // no role yet
	Input   Role = "input"    // a condition that was set
	Outcome Role = "outcome"  // a measured quantity, which models are to predict
	Run     Role = "run"      // it tells runs apart, such as the number of a run
	Day     Role = "day"      // an occasion of the measurements
	Thing   Role = "thing"    // the name of what was measured, such as a propeller
	Remark  Role = "remark"   // none of these, such as a comment, a time or a constant
	LeftOut Role = "left out" // a column that cannot be used
)

// Reasons for roles, in words for people, on which other decisions depend or which several places give.
const (
	ReservedName = "the program's tables have a column of that name: rename it"
	OfFiles      = "an attribute of the files"
	OfHeaders    = "the header of each file states it"
	OfMerged     = "; of merged cells each needs its value" // continues a reason that cells are empty

	noRepeats     = "with it no rows are repeats"
	noSetPoints   = "no set points: add it to inputs if the outcomes depend on it"
	readSweep     = "swept: rows of different values are no repeats; if it scatters, state by how much under within"
	ofOneRun      = "some runs have several rows of equal inputs, which are no repeats: exclude all but one"
	ofCorrections = "values of one run before and after a correction are no repeats: exclude one kind"
	otherText     = "another text in almost every row"
	measuredInput = "a measured value of another input"
	changedInput  = "the inputs change it: add it to inputs if it was set"
)
