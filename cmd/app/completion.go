package app

import (
	"fmt"
	"slices"
)

// completionFlag is the last argument of the lines that shells ask for completions of. The library answers them.
const completionFlag = "--generate-bash-completion"

// asksCompletion reports whether a shell asks for the completions of a line.
func asksCompletion(args []string) bool { return slices.Contains(args, completionFlag) }

// bashCompletion and zshCompletion ask the program for the words that can follow; files are completed otherwise.
const (
	bashCompletion = `_pipeline() {
  local current=${COMP_WORDS[COMP_CWORD]} words
  if [[ $current == -* ]]; then
    words=$("${COMP_WORDS[@]:0:COMP_CWORD}" "$current" ` + completionFlag + ` 2>/dev/null)
  else
    words=$("${COMP_WORDS[@]:0:COMP_CWORD}" ` + completionFlag + ` 2>/dev/null)
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _pipeline pipeline
`
	zshCompletion = `#compdef pipeline
_pipeline() {
  local -a words_found asked=(${words[1,CURRENT-1]})
  local current=${words[CURRENT]}
  if [[ $current == -* ]]; then
    asked+=($current)
  fi
  words_found=(${(f)"$(_CLI_ZSH_AUTOCOMPLETE_HACK=1 $asked ` + completionFlag + ` 2>/dev/null)"})
  if [[ -n "${words_found[1]}" ]]; then
    _describe 'words' words_found
  fi
  _files
}
compdef _pipeline pipeline
`
)

// runCompletion prints the script with which a shell completes commands and flags.
func runCompletion(c *call) error {
	script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion}[c.arg(0)]
	if c.arg(0) == "fish" {
		text, err := newApp(commands(), c.stdout, c.stderr).ToFishCompletion()
		if err != nil {
			return fmt.Errorf("write completion: %w", err)
		}

		script = text
	}

	if script == "" {
		return usage("pipeline completion takes bash, zsh or fish, found %q", c.arg(0))
	}

	return emit(c.stdout, "print completion", []byte(script))
}
