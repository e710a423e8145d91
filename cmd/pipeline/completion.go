package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/simulate"
	"doubletake/pipeline"
	"doubletake/pipeline/suggest"
	"doubletake/train/score"
)

func newCompletionCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a script that completes commands, flags and values", ArgsUsage: "bash|zsh|fish",
		Description: "Where each shell looks for the script: bash in ~/.local/share/bash-completion/completions/pipeline, " +
			"zsh in a file _pipeline of a folder in $fpath, " +
			"fish in ~/.config/fish/completions/pipeline.fish. It holds for the shells opened after it was written. " +
			"Names of experiments and splits come from the configuration on the line, else from pipeline.yaml of the " +
			"current folder.\n\n" +
			"Example: pipeline completion bash\n\nExit status: 0 success, 2 usage error.",
		Action: func(c *cli.Context) error {
			if c.NArg() == 1 {
				if script, ok := completions[c.Args().First()]; ok {
					_, err := io.WriteString(stdout, script(visible(c.App)))
					return err
				}
			}
			if kind := c.Args().First(); kind == "experiments" || kind == "splits" { // what the scripts ask
				for _, name := range completeNames(kind, c.Args().Tail()) {
					if _, err := fmt.Fprintln(stdout, name); err != nil {
						return err
					}
				}
				return nil
			}
			return usage("pipeline completion takes a shell (bash, zsh or fish), found %q", c.Args().Slice())
		},
	}
}

var completions = map[string]func([]*cli.Command) string{
	"bash": bashCompletion, "zsh": zshCompletion,
	"fish": fishCompletion,
}

// visible are the commands people see, without the library's own.
func visible(app *cli.App) []*cli.Command {
	return slices.DeleteFunc(slices.Clone(app.Commands), func(c *cli.Command) bool { return c.Hidden || c.Name == "help" })
}

// choices are the values of a flag that has a known few, else nil.
func choices(command, flag string) []string {
	switch flag {
	case "stage", "from", "to":
		return pipeline.Stages()
	case "executor":
		return pipeline.Executors()
	case "progress":
		return []string{"auto", "plain", "json", "none"}
	case "calibrated":
		return score.Kinds()
	case "by":
		return []string{suggest.ByCov, suggest.BySpread, suggest.ByBoth}
	case "encoding":
		return []string{"pcm16", "float32"}
	case "truncated":
		return []string{"use"}
	case "format":
		switch command {
		case "report":
			return formats
		case "export":
			return exportFormats()
		case "tasks":
			return taskFormats
		}
	}
	return nil
}

// completeNames lists the experiments of the configuration that a command line
// names, else of pipeline.yaml, or the splits of those experiments the line has
// chosen. A configuration that cannot be read, perhaps because it is being
// written, has none.
func completeNames(kind string, line []string) (out []string) {
	file := "pipeline.yaml"
	var chosen []string
	for i, w := range line {
		if x := filepath.Ext(w); (x == ".yaml" || x == ".yml") && !strings.HasPrefix(w, "-") &&
			(i == 0 || !strings.HasPrefix(line[i-1], "-")) {
			file = w
		}
		if name, ok := strings.CutPrefix(w, "--experiment="); ok {
			chosen = append(chosen, name)
		} else if w == "--experiment" && i+1 < len(line) {
			chosen = append(chosen, line[i+1])
		}
	}
	p, err := pipeline.Load(file)
	if err != nil {
		return nil
	}
	for _, t := range p.Plan.Tasks {
		name := t.Experiment
		if kind == "splits" {
			if len(chosen) > 0 && !slices.Contains(chosen, name) {
				continue
			}
			name = t.Split
		}
		if name != "" && !slices.Contains(out, name) && !strings.ContainsFunc(name, unicode.IsControl) {
			out = append(out, name)
		}
	}
	return out
}

// words are the arguments of a command that are no files.
func words(command string) []string {
	switch command {
	case "simulate":
		return simulate.Kinds()
	case "completion":
		return []string{"bash", "zsh", "fish"}
	}
	return nil
}

// option is a flag as a completion needs it.
type option struct {
	name, usage  string
	value, again bool // it takes a value; it may be given again
	choices      []string
	names        string // "experiments", "splits": what completeNames lists
}

// options are the flags of a command.
func options(c *cli.Command) (out []option) {
	for _, f := range c.Flags {
		o := option{name: f.Names()[0]}
		if o.name == "help" {
			continue
		}
		if d, ok := f.(cli.DocGenerationFlag); ok {
			o.usage, o.value = d.GetUsage(), d.TakesValue()
		}
		if s, ok := f.(cli.DocGenerationSliceFlag); ok {
			o.again = s.IsSliceFlag()
		}
		if _, ok := f.(*cli.GenericFlag); ok {
			o.again = true
		}
		o.choices = choices(c.Name, o.name)
		if o.name == "experiment" || o.name == "split" {
			o.names = o.name + "s"
		}
		out = append(out, o)
	}
	return append(out, option{name: "help", usage: "show help"})
}

// names of commands.
func names(list []*cli.Command) (out []string) {
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

// bashCompletion works with bash 3.2 (macOS) and later. Where it offers
// nothing, bash completes file names. Names of the user's never go through
// compgen -W, which expands its argument.
func bashCompletion(list []*cli.Command) string {
	var b strings.Builder
	b.WriteString(`# bash completion for pipeline, made by: pipeline completion bash
_pipeline() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= names= front= at=$COMP_CWORD name
  # bash takes --flag=value, and a name=value, for three words.
  if [[ $cur == "=" ]]; then
    cur= at=$((COMP_CWORD - 1))
  elif [[ $prev == "=" ]]; then
    at=$((COMP_CWORD - 2))
  fi
  if ((at < COMP_CWORD)); then
    prev=${COMP_WORDS[at]}
    if [[ $prev != -* ]]; then
      front=$prev= cur=$prev=$cur prev=${COMP_WORDS[at-1]}
      [[ $prev == "=" ]] && prev=${COMP_WORDS[at-2]}
    fi
  fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
`)
	fmt.Fprintf(&b, "    COMPREPLY=($(compgen -W %q -- \"$cur\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]} $prev\" "+
		"in\n", strings.Join(append(names(list), "help"), " "))
	for _, c := range list {
		for _, o := range options(c) {
			if len(o.choices) > 0 {
				fmt.Fprintf(&b, "    \"%s --%s\") words=%q ;;\n", c.Name, o.name, strings.Join(o.choices, " "))
			} else if o.names != "" {
				fmt.Fprintf(&b, "    \"%s --%s\") names=%s ;;\n", c.Name, o.name, o.names)
			} else if o.value {
				fmt.Fprintf(&b, "    \"%s --%s\") return ;;\n", c.Name, o.name)
			}
		}
	}
	b.WriteString("    *)\n      case \"${COMP_WORDS[1]} $cur\" in\n")
	for _, c := range list {
		var flags []string
		for _, o := range options(c) {
			flags = append(flags, "--"+o.name)
		}
		fmt.Fprintf(&b, "        \"%s -\"*) words=%q ;;\n", c.Name, strings.Join(flags, " "))
		if w := words(c.Name); w != nil {
			fmt.Fprintf(&b, "        \"%s \"*) words=%q ;;\n", c.Name, strings.Join(w, " "))
		}
	}
	fmt.Fprintf(&b, "        \"help \"*) words=%q ;;\n", strings.Join(names(list), " "))
	b.WriteString(`      esac
      ;;
  esac
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ -n $names ]]; then
    while IFS= read -r name; do
      if [[ $name == "$cur"* ]]; then
        COMPREPLY+=("$(printf %q "${name#"$front"}")")
      fi
    done < <("${COMP_WORDS[0]/#\~/$HOME}" completion "$names" -- "${COMP_WORDS[@]:1}" 2>/dev/null)
  fi
}
complete -o bashdefault -o default -F _pipeline pipeline
`)
	return b.String()
}

// zshCompletion can be sourced, or lie as _pipeline in $fpath.
func zshCompletion(list []*cli.Command) string {
	var b strings.Builder
	// In a specification of _arguments brackets and colons have a meaning.
	escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`, "'", `'\''`).Replace
	b.WriteString("#compdef pipeline\n# zsh completion for pipeline, made by: pipeline completion zsh\n" +
		`_pipeline_names() {
  local kind=$argv[-1]
  argv[-1]=()
  local -a found
  found=(${(f)"$("${pipeline_words[1]/#\~/$HOME}" completion $kind -- "${(@)pipeline_words[2,-1]}" 2>/dev/null)"})
  compadd "$@" -a found
}
_pipeline() {
  local -a commands pipeline_words
  pipeline_words=("${words[@]}")
  commands=(
`)
	for _, c := range list {
		fmt.Fprintf(&b, "    '%s:%s'\n", c.Name, escape(c.Usage))
	}
	b.WriteString("    'help:show the help of a command'\n  )\n  if ((CURRENT == 2)); then\n    _describe -t commands " +
		"command commands\n    return\n  fi\n" +
		"  shift words\n  ((CURRENT--))\n  case $words[1] in\n")
	for _, c := range list {
		fmt.Fprintf(&b, "    %s)\n      _arguments \\\n", c.Name)
		for _, o := range options(c) {
			star, value := "", ""
			if o.again {
				star = "*"
			}
			if o.value {
				value = ":value:_files"
				if len(o.choices) > 0 {
					value = ":value:(" + strings.Join(o.choices, " ") + ")"
				} else if o.names != "" {
					value = ":value:_pipeline_names " + o.names
				}
				fmt.Fprintf(&b, "        '%s--%s=[%s]%s' \\\n", star, o.name, escape(o.usage), value)
			} else {
				fmt.Fprintf(&b, "        '%s--%s[%s]' \\\n", star, o.name, escape(o.usage))
			}
		}
		if w := words(c.Name); w != nil {
			fmt.Fprintf(&b, "        '1:%s:(%s)' \\\n", c.Name, strings.Join(w, " "))
		}
		b.WriteString("        '*:file:_files'\n      ;;\n")
	}
	b.WriteString("    help)\n      _describe -t commands command commands\n      ;;\n  esac\n}\n" +
		"if [[ $funcstack[1] == _pipeline ]]; then\n  _pipeline \"$@\"\nelse\n  compdef _pipeline pipeline\nfi\n")
	return b.String()
}

func fishCompletion(list []*cli.Command) string {
	var b strings.Builder
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	b.WriteString(`# fish completion for pipeline, made by: pipeline completion fish
function __pipeline_names
    set -l line (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $line[1])
    $program completion $argv[1] -- $line[2..-1] 2>/dev/null
end
`)
	for _, c := range list {
		fmt.Fprintf(&b, "complete -c pipeline -n __fish_use_subcommand -f -a %s -d %s\n", c.Name, quote(c.Usage))
	}
	fmt.Fprintf(&b, "complete -c pipeline -n __fish_use_subcommand -f -a help -d %s\n",
		quote("show the help of a command"))
	for _, c := range list {
		when := fmt.Sprintf("complete -c pipeline -n '__fish_seen_subcommand_from %s'", c.Name)
		for _, o := range options(c) {
			value := ""
			switch {
			case len(o.choices) > 0:
				value = " -x -a " + quote(strings.Join(o.choices, " "))
			case o.names != "":
				value = " -x -a " + quote("(__pipeline_names "+o.names+")")
			case o.value:
				value = " -r"
			}
			fmt.Fprintf(&b, "%s -l %s%s -d %s\n", when, o.name, value, quote(o.usage))
		}
		if w := words(c.Name); w != nil {
			fmt.Fprintf(&b, "%s -a %s\n", when, quote(strings.Join(w, " ")))
		}
	}
	fmt.Fprintf(&b, "complete -c pipeline -n '__fish_seen_subcommand_from help' -f -a %s\n",
		quote(strings.Join(names(list), " ")))
	return b.String()
}
