package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/vocabulary"
)

// A log is a table that people typed or a program kept during a campaign: a row for each recording, with columns of
// conditions, counters, dates and readings. splitLog finds it among the files, and fromLog in logs.go reads it.
const (
	mostLog   = 4 << 20 // bytes of a log: greater files are not looked at
	manyAlike = 3       // files whose names differ only in numbers, from which they are data, not logs
)

var (
	digits     = regexp.MustCompile(`\d+`)
	logEndings = []string{".csv", ".txt", ".tsv", ".dat", ".log"}
)

// splitLog finds the log among the files: a table with a column file, otherwise the table whose cells name the most of
// the other files. It returns the files that are not logs.
func (p *plan) splitLog(files []string) (others []string) {
	alike := map[string]int{} // number of files whose names differ only in numbers, by the name without numbers
	for _, file := range files {
		alike[withoutNumbers(file)]++
	}

	var logs []string
	count := map[string]int{} // of the files that a log names
	for _, file := range files {
		if p.mayBeLog(file) && alike[withoutNumbers(file)] < manyAlike {
			count[file] = countNamed(p.dir, file, files)
		}

		if count[file] > 0 {
			logs = append(logs, file)
		} else {
			others = append(others, file)
		}
	}

	if len(logs) == 0 {
		return others
	}

	p.Conditions = slices.MaxFunc(logs, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
	for _, file := range logs {
		if file != p.Conditions {
			p.note("another table of conditions, %s, is not used", file)
		}
	}

	return others
}

// withoutNumbers returns a name with 0 in place of each of its numbers.
func withoutNumbers(name string) string { return digits.ReplaceAllString(name, "0") }

// mayBeLog reports whether a file has the size and the name of a log.
func (p *plan) mayBeLog(file string) bool {
	info, err := os.Stat(filepath.Join(p.dir, file))
	if err != nil || info.Size() > mostLog {
		return false
	}

	return slices.Contains(logEndings, strings.ToLower(path.Ext(file))) && !vocabulary.Prose.MatchString(path.Base(file))
}

// countNamed returns how many of the files a table names, or 0 if it is not a log. A table with a column file counts
// as if it named all. A table whose rows cannot be read is judged by its text.
func countNamed(dir, log string, files []string) int {
	logPath := filepath.Join(dir, log)
	_, err := campaign.ReadLog(logPath, campaign.LogOptions{})
	if err == nil || isDataError(err) && vocabulary.Log.MatchString(path.Base(log)) {
		return len(files)
	}

	others := except(files, log)
	c, err := readLog(logPath, others, nil)
	if err != nil {
		return countMentioned(logPath, others)
	}

	named := slices.Sorted(slices.Values(slices.Concat(c.FilesOf(others)...)))
	n := len(slices.Compact(named))
	rows := len(c.Rows) + c.Others
	isOneRow := n == 1 && rows == 1
	if 2*n >= rows && (n > 1 || isOneRow) {
		return n
	}

	return 0
}

// countMentioned returns how many files a text mentions if it mentions most of them, and 0 otherwise or if it cannot be
// read. A text that mentions most files is taken for a log in which a cell does not fit. The note about reading the log
// then names the cell.
func countMentioned(name string, files []string) int {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}

	n := 0
	for _, file := range files {
		if bytes.Contains(text, []byte(path.Base(file))) {
			n++
		}
	}

	if 2*n <= len(files) {
		return 0
	}

	return n
}

// isDataError reports whether an error is about the contents of a file.
func isDataError(err error) bool {
	_, ok := errors.AsType[*fault.Error](err)
	return ok
}
