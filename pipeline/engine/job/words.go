package job

import (
	"fmt"
	"regexp"
	"strings"
)

// Words splits a command, such as one of Settings.Setup, into words. Spaces separate words. Quotes keep a word
// together: '…' takes everything literally, and "…" replaces \" and \\. Outside quotes, \ takes the next character
// literally. Characters that a shell interprets are an error: outside quotes ; | & < > ( ) { } * ? [ # ~ ! and line
// ends, and $ and ` everywhere but in '…'. Such commands belong in a script, which the command names.
func Words(command string) (words []string, err error) {
	if strings.ContainsRune(command, 0) {
		return nil, fmt.Errorf("%q contains a zero byte", command)
	}

	inWord := false // the last piece belongs to the last word
	for rest := command; rest != ""; {
		match := piece.FindStringSubmatch(rest)
		if match == nil {
			return nil, wordsError(command, rest)
		}

		rest = rest[len(match[0]):]
		if match[1] != "" { // blanks end a word
			inWord = false
			continue
		}

		if !inWord {
			inWord = true
			words = append(words, "")
		}

		words[len(words)-1] += match[2] + unescaped.Replace(match[3]) + match[4] + match[5]
	}

	if len(words) == 0 {
		return nil, fmt.Errorf("%q has no words: expected a command", command)
	}

	return words, nil
}

// piece matches the beginning of a command. Its groups are blanks, the text within '…', the text within "…", an escaped
// character, and other characters that need no quotes.
var piece = regexp.MustCompile("^(?:([ \t]+)|'([^']*)'|\"((?:[^\"$`\\\\]|\\\\[^$`])*)\"|" +
	"\\\\([^\n])|([^ \t'\"\\\\$`;|&<>()*?\\[#~\n\r{}!]+))")

// unescaped replaces the two escapes within "…".
var unescaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// wordsError returns the error of a command whose rest does not begin with a piece.
func wordsError(command, rest string) error {
	quoted, double := strings.CutPrefix(rest, `"`)
	shell := strings.IndexAny(quoted, "$`")
	switch {
	case double && shell >= 0:
		return fmt.Errorf("%q is more than a command and its words: %q is not replaced here; "+
			"write it in '…' if it is meant literally, or put it into a script and name that: source setup.sh", command,
			quoted[shell])
	case double || rest[0] == '\'':
		return fmt.Errorf("%q has a quote that does not end", command)
	case rest[0] == '\\':
		return fmt.Errorf("%q ends with a backslash", command)
	}

	return fmt.Errorf("%q is more than a command and its words: found %q; put it into a script and name that: "+
		"source setup.sh", command, rest[0])
}

// Quote quotes a word for a shell.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
