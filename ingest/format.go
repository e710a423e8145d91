package ingest

// Format is a file format: how it is recognised, how it is opened, and its
// description for people.
type Format struct {
	Name    string   // in pipeline.yaml and in Info.Format
	Title   string   // as people write it; a row of docs/how-to.md with this title lists the data read
	Endings []string // endings of file names, lower case with the dot; the usual one first

	// Attributes says that files contain numbers about themselves. The command
	// pipeline init turns them into conditions.
	Attributes bool

	// A file has this format if it begins with one of the texts in Magic, or if
	// Detect returns true. head is the beginning of the file, at most HeadBytes. A
	// format with neither is taken for files that have no other format.
	Magic  []string
	Detect func(head []byte, src Source) bool

	// Open reads the headers and returns a Reader, which will close src. If Open
	// fails, the caller closes src. Open does not trust any length that it reads. Its
	// errors are, or wrap, *fault.Error.
	Open func(src Source, o Options) (Reader, error)
}

// Binary reports whether b contains bytes that do not occur in text.
func Binary(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v' && c != 0x1a {
			return true
		}
	}

	return false
}
