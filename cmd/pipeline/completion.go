package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/simulate"
	"doubletake/pipeline"
	"doubletake/pipeline/stages"
	"doubletake/train/score"
)

func newCompletionCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a script that completes commands, flags and values", ArgsUsage: "bash|zsh|fish",
		Description: "Where each shell looks for the script: bash in ~/.local/share/bash-completion/completions/pipeline, zsh in a file _pipeline of a folder in $fpath, " +
			"fish in ~/.config/fish/completions/pipeline.fish. It holds for the shells opened after it was written.\n\n" +
			"Example: pipeline completion bash\n\nExit status: 0 success, 2 usage error.",
		Action: func(c *cli.Context) error {
			if c.NArg() == 1 {
				if script, ok := completions[c.Args().First()]; ok {
					_, err := io.WriteString(stdout, script(visible(c.App)))
					return err
				}
			}
			return usage("pipeline completion takes a shell (bash, zsh or fish), found %q", c.Args().Slice())
		},
	}
}

var completions = map[string]func([]*cli.Command) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

// visible are the commands people see, without the library's own.
func visible(app *cli.App) []*cli.Command {
	return slices.DeleteFunc(slices.Clone(app.Commands), func(c *cli.Command) bool { return c.Hidden || c.Name == "help" })
}

// choices are the values of a flag that has a known few, else nil.
func choices(command, flag string) []string {
	switch flag {
	case "stage", "from", "to":
		return stages.Names()
	case "executor":
		return []string{"local", "slurm"}
	case "progress":
		return []string{"auto", "plain", "json", "none"}
	case "calibrated":
		return []string{score.Scaled, score.Isotonic}
	case "by":
		return []string{pipeline.ByCov, pipeline.BySpread, pipeline.ByBoth}
	case "encoding":
		return []string{"pcm16", "float32"}
	case "truncated":
		return []string{"use"}
	case "format":
		switch command {
		case "report":
			return formats
		case "tasks":
			return []string{"tsv", "json"}
		}
	}
	return nil
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
// nothing, bash completes file names.
func bashCompletion(list []*cli.Command) string {
	var b strings.Builder
	b.WriteString(`# bash completion for pipeline, made by: pipeline completion bash
_pipeline() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
  # bash takes --flag=value for three words.
  if [[ $cur == "=" ]]; then
    cur=
  elif [[ $prev == "=" ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
`)
	fmt.Fprintf(&b, "    COMPREPLY=($(compgen -W %q -- \"$cur\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]} $prev\" in\n", strings.Join(append(names(list), "help"), " "))
	for _, c := range list {
		for _, o := range options(c) {
			if len(o.choices) > 0 {
				fmt.Fprintf(&b, "    \"%s --%s\") words=%q ;;\n", c.Name, o.name, strings.Join(o.choices, " "))
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
	b.WriteString("#compdef pipeline\n# zsh completion for pipeline, made by: pipeline completion zsh\n_pipeline() {\n  local -a commands\n  commands=(\n")
	for _, c := range list {
		fmt.Fprintf(&b, "    '%s:%s'\n", c.Name, escape(c.Usage))
	}
	b.WriteString("    'help:show the help of a command'\n  )\n  if ((CURRENT == 2)); then\n    _describe -t commands command commands\n    return\n  fi\n" +
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
	b.WriteString("# fish completion for pipeline, made by: pipeline completion fish\n")
	for _, c := range list {
		fmt.Fprintf(&b, "complete -c pipeline -n __fish_use_subcommand -f -a %s -d %s\n", c.Name, quote(c.Usage))
	}
	fmt.Fprintf(&b, "complete -c pipeline -n __fish_use_subcommand -f -a help -d %s\n", quote("show the help of a command"))
	for _, c := range list {
		when := fmt.Sprintf("complete -c pipeline -n '__fish_seen_subcommand_from %s'", c.Name)
		for _, o := range options(c) {
			value := ""
			switch {
			case len(o.choices) > 0:
				value = " -x -a " + quote(strings.Join(o.choices, " "))
			case o.value:
				value = " -r"
			}
			fmt.Fprintf(&b, "%s -l %s%s -d %s\n", when, o.name, value, quote(o.usage))
		}
		if w := words(c.Name); w != nil {
			fmt.Fprintf(&b, "%s -a %s\n", when, quote(strings.Join(w, " ")))
		}
	}
	fmt.Fprintf(&b, "complete -c pipeline -n '__fish_seen_subcommand_from help' -f -a %s\n", quote(strings.Join(names(list), " ")))
	return b.String()
}
