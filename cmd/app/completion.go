package app

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"doubletake/docs"
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
			shell := c.Args().First()
			script, ok := completionScripts[shell]
			switch {
			case !ok || c.NArg() == 2:
				return usage("pipeline completion takes a shell (bash, zsh or fish), found %q", c.Args().Slice())
			case c.NArg() == 1:
				_, err := io.WriteString(stdout, script)
				return err
			}

			var b strings.Builder // a script asks: SHELL line WORDS…
			for _, o := range offers(c.App, shell, c.Args().Slice()[2:]) {
				b.WriteString(o.text(shell) + "\n")
			}

			_, err := io.WriteString(stdout, b.String())

			return err
		},
	}
}

// completionScripts ask the program what fits at the end of the line. Where it offers
// nothing, the shell completes the names of files. The one for bash works with bash 3.2
// (macOS) and later, the one for zsh can be sourced, or lie as _pipeline in $fpath.
var completionScripts = map[string]string{
	"bash": `# bash completion for pipeline, made by: pipeline completion bash
_pipeline() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$(printf %q "$word")")
  done < <("${COMP_WORDS[0]/#\~/$HOME}" completion bash line -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _pipeline pipeline
`,
	"zsh": `#compdef pipeline
# zsh completion for pipeline, made by: pipeline completion zsh
_pipeline() {
  local -a found
  found=(${(f)"$("${words[1]/#\~/$HOME}" completion zsh line -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then
    _describe -t values value found
  else
    _files
  fi
}
if [[ $funcstack[1] == _pipeline ]]; then
  _pipeline "$@"
else
  compdef _pipeline pipeline
fi
`,
	"fish": `# fish completion for pipeline, made by: pipeline completion fish
function __pipeline
    set -l line (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $line[1])
    $program completion fish line -- $line[2..-1] (commandline -ct) 2>/dev/null
end
complete -c pipeline -n 'count (__pipeline) >/dev/null' -f -k -a '(__pipeline)'
`,
}

// offer is a word that fits at the end of a line.
type offer struct{ word, about string }

// text is the offer as a shell's script reads it.
func (o offer) text(shell string) string {
	about, _, _ := strings.Cut(o.about, "\n")
	switch {
	case shell == "zsh":
		return strings.TrimSuffix(strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(o.word)+":"+about, ":")
	case shell == "fish" && about != "":
		return o.word + "\t" + about
	}

	return o.word
}

// offers lists the words that fit at the end of a line, whose last word is being written.
func offers(app *cli.App, shell string, line []string) (out []offer) {
	front := ""
	if shell == "bash" {
		line, front = joined(line)
	}

	if len(line) == 0 {
		return nil
	}

	last := line[len(line)-1]
	for _, o := range fitting(app, line[:len(line)-1], last) {
		if strings.HasPrefix(o.word, last) && !strings.ContainsFunc(o.word, unicode.IsControl) {
			o.word = strings.TrimPrefix(o.word, front)
			out = append(out, o)
		}
	}

	return out
}

// joined puts --flag=value and name=value together, which bash takes for three words. front is
// the part of the last word that bash keeps as it is.
func joined(words []string) (line []string, front string) {
	for i, w := range words {
		if i > 0 && (w == "=" || words[i-1] == "=") {
			line[len(line)-1] += w
			front = line[len(line)-1][:strings.LastIndex(line[len(line)-1], "=")+1]
		} else {
			line, front = append(line, w), ""
		}
	}

	return line, front
}

// fitting lists the words that may follow a line; last is what is written of the next one.
func fitting(app *cli.App, line []string, last string) (out []offer) {
	if len(line) == 0 || line[0] == "help" {
		for _, c := range visible(app) {
			out = append(out, offer{c.Name, c.Usage})
		}

		if len(line) > 0 {
			for _, p := range docs.Pages() {
				out = append(out, offer{p.Name, p.Title})
			}
		}

		return out
	}

	command := app.Command(line[0])
	if command == nil {
		return nil
	}

	flag, front := line[len(line)-1], ""
	if name, _, ok := strings.Cut(last, "="); ok && strings.HasPrefix(last, "-") {
		flag, front = name, name+"="
	}

	var flags []offer
	for _, o := range options(command) {
		if o.value && flag == "--"+o.name {
			for _, v := range slices.Concat(o.choices, names(o.name, line)) {
				out = append(out, offer{word: front + v})
			}
			return out
		}

		flags = append(flags, offer{"--" + o.name, o.usage})
	}

	if strings.HasPrefix(last, "-") {
		return flags
	}

	switch command.Name {
	case "simulate":
		for _, kind := range simulate.Kinds() {
			out = append(out, offer{word: kind})
		}

	case "completion":
		for shell := range completionScripts {
			out = append(out, offer{word: shell})
		}
	}

	return out
}

// visible are the commands people see.
func visible(app *cli.App) []*cli.Command {
	return slices.DeleteFunc(slices.Clone(app.Commands), func(c *cli.Command) bool { return c.Hidden })
}

// option is a flag as a completion and the man page need it.
type option struct {
	name, usage string
	value       bool     // it takes a value
	choices     []string // where it has a known few
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

		o.choices = choices(c.Name, o.name)
		out = append(out, o)
	}

	return append(out, option{name: "help", usage: "show help"})
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
		return []string{suggest.ByHonest, suggest.ByCov, suggest.BySpread, suggest.ByBoth}
	case "encoding":
		return []string{"pcm16", "float32"}
	case "truncated":
		return []string{"use"}
	case "format":
		return map[string][]string{"report": formats, "export": exportFormats(), "tasks": taskFormats}[command]
	}

	return nil
}

// names lists the values of --experiment: the experiments of the configuration that a line
// names, else of pipeline.yaml; or those of --split: the splits of the experiments that the
// line has chosen. A configuration that cannot be read, perhaps because it is being written,
// has none.
func names(flag string, line []string) (out []string) {
	if flag != "experiment" && flag != "split" {
		return nil
	}

	file := "pipeline.yaml"

	var chosen []string
	for i, w := range line {
		if x := filepath.Ext(w); (x == ".yaml" || x == ".yml") && !strings.HasPrefix(line[max(i-1, 0)], "-") {
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
		if flag == "split" {
			if len(chosen) > 0 && !slices.Contains(chosen, name) {
				continue
			}
			name = t.Split
		}

		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}

	return out
}
