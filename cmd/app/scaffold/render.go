package scaffold

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// SchemaFile is the file next to pipeline.yaml from which editors with a YAML
// language server complete and check its keys: the JSON Schema of the configuration.
const SchemaFile = "pipeline.schema.json"

// configuration is the text of the template.
//
//go:embed pipeline.yaml.tmpl
var configuration string

// configurationTemplate returns the parsed template.
var configurationTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("pipeline.yaml").Funcs(template.FuncMap{
		"schema": func() string { return SchemaFile },
		"quote":  strconv.Quote,
		"quoted": quoted,
		"plain":  func(names []string) []string { return lists.Each(names, spelling.YAML) },
		"pairs":  pairs,
		"list":   listed,
	}).Parse(configuration))
})

// render returns the plan as commented YAML. It panics if the template, which is part of the program, does not fit the
// plan.
func render(p *plan) string {
	var b strings.Builder
	if err := configurationTemplate().Execute(&b, p); err != nil {
		panic("scaffold: " + err.Error())
	}

	return b.String()
}

// listed joins names by commas.
func listed(names []string) string { return strings.Join(names, ", ") }

// quoted joins texts in quotes by commas.
func quoted(texts []string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = strconv.Quote(text)
	}

	return listed(list)
}

// pairs joins names with their values in quotes: lift_n: "Fz", drag_n: "Fx".
func pairs(list []config.NamedString) string {
	texts := make([]string, len(list))
	for i, entry := range list {
		texts[i] = entry.Name + ": " + strconv.Quote(entry.Value)
	}

	return listed(texts)
}

// FullScale reports whether the files state no physical unit of their samples.
func (p *plan) FullScale() bool {
	return !p.InPascal && (p.StatedUnit == "" || p.StatedUnit == "full-scale")
}

// InVolts reports whether the files state that the samples are voltages.
func (p *plan) InVolts() bool { return isVoltage(p.StatedUnit) }

// VoltsUnknown reports whether all proposed outcomes of a balance are voltages, which no matrix turns into loads. A
// network would be trained on volts.
func (p *plan) VoltsUnknown() bool {
	if p.Spectra || p.Voltages != nil || p.Table != nil || len(p.Columns) == 0 {
		return false
	}

	for _, column := range p.Columns {
		i := slices.Index(p.Channels, column.Value)
		if i < 0 || !isVoltage(p.units[i]) {
			return false
		}
	}

	return true
}

// isVoltage reports whether a unit is of a voltage.
func isVoltage(unit string) bool { return unit == "V" || unit == "mV" || unit == "µV" || unit == "uV" }

// FillColumns returns the mark that asks people for the outcomes, or the proposed ones if the configuration is to be
// checked.
func (p *plan) FillColumns() string { return p.Fill("{" + pairs(p.Columns) + "}") }

// FileList returns the patterns of the files as YAML.
func (p *plan) FileList() string { return "[" + quoted(p.Files) + "]" }

// Newtons reports whether all outcomes of a balance are forces in N or moments in Nm.
func (p *plan) Newtons() bool {
	for _, column := range p.Columns {
		if !strings.HasSuffix(column.Name, "_n") && !strings.HasSuffix(column.Name, "_nm") {
			return false
		}
	}

	return len(p.Columns) > 0
}

// Source returns the source of the conditions: "the names", or a file.
func (p *plan) Source() string { return p.sheet.Source }

// Alpha reports whether the angle of attack is known.
func (p *plan) Alpha() bool { return p.sheet.HasName("alpha_deg") }

// usualPerRun is the number of triplets of a long run of a balance.
const usualPerRun = 250

// PerRun returns the number of triplets that a run of a balance gives. A triplet takes two samples.
func (p *plan) PerRun() int64 { return max(min(usualPerRun, p.shortest/2), 1) }

// manyTriplets is a number of triplets for which the default training takes minutes: its 500 passes in steps of 32 are
// made for hundreds of triplets.
const manyTriplets = 20000

// Many returns the number of triplets of a balance if there are many, and 0 otherwise.
func (p *plan) Many() int {
	n := int(p.PerRun()) * p.runCount
	if p.Table != nil || p.Spectra || n < manyTriplets {
		return 0
	}

	return n
}

// NetInputs returns the inputs of the network.
func (p *plan) NetInputs() []string {
	if p.Spectra && p.NeedSpeed {
		return append(slices.Clone(p.Inputs), "rpm_tracked")
	}

	return p.Inputs
}

// Fill returns the mark that asks people for a value, or a valid value if the configuration is to be checked.
func (p *plan) Fill(valid string) string {
	if p.fillsValid {
		return valid
	}

	return config.FillIn
}
