package app

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// imports lists the packages of the module that a package may import, as the rooms
// of docs/architecture.md are ordered. The longest name that a package begins
// with counts; "x/..." means x and all below it.
var imports = []struct{ of, may string }{
	// The four packages that do the work exchange plain values.
	{"dsp", "dsp/... ingest/fault"},
	// The rooms of dsp that read recordings take settings and recordings of ingest.
	{"dsp/analysis", "dsp dsp/background dsp/balance dsp/calibration dsp/pairtable ingest ingest/... " +
		"internal/kv internal/parallel"},
	{"dsp/background", "dsp dsp/calibration ingest ingest/..."},
	{"dsp/balance", "dsp ingest ingest/..."},
	{"dsp/calibration", "dsp ingest ingest/..."},
	{"dsp/pairtable", "dsp ingest ingest/derive ingest/fault ingest/spelling ingest/table ingest/units"},
	{"dsp/kernel", ""},
	{"ingest", "ingest/..."},
	{"ingest/fault", ""},
	{"ingest/kernel", ""},
	{"ingest/spelling", ""},
	{"ingest/simulate", "ingest/fault internal/parallel"},
	{"ingest/table", "ingest/format/arrow internal/kv internal/pack"},
	{"ingest/table/tabletest", "ingest/table internal/kv"},
	{"train", "train/... ingest/fault"},
	{"train/kernel", ""},
	{"train/honest", "ingest/fault ingest/units train train/baseline train/form train/gp train/honest/interval " +
		"train/honest/scale train/score train/triplets"},
	// Results and intervals, without what fits them.
	{"train/honest/interval", "ingest/fault ingest/spelling internal/parallel train/form train/honest/scale " +
		"train/numbers train/score train/triplets"},
	{"train/honest/scale", "train/kernel train/numbers"},
	// Tables of trained results, beside their types.
	{"train/honest/leftout", "ingest/table train/honest/scale"},
	// The trainings of an experiment. They read conditions of a campaign and write messages about its settings.
	{"train/experiment", "ingest/condition ingest/setting ingest/spelling internal/kv train train/baseline train/form " +
		"train/holdout train/honest train/honest/interval train/honest/scale train/triplets"},
	{"train/results", "ingest/table ingest/units internal/kv train train/baseline train/honest/interval train/score " +
		"train/triplets"},
	{"train/numbers", ""},
	{"train/contrast", ""},
	{"train/form", ""},
	{"train/gp", "ingest/fault internal/parallel train/kernel train/triplets"},
	{"train/holdout", ""},
	// The results that it shows.
	{"report", "report/figure/... ingest/fault ingest/units train/numbers train/score train/triplets " +
		"train/honest/interval train/honest/scale docs"},
	// The lowest room that may know the outcomes of dsp and the set of train.
	{"report/pairs", "dsp dsp/analysis dsp/balance dsp/calibration ingest ingest/campaign ingest/condition " +
		"ingest/derive ingest/fault ingest/setting ingest/spelling ingest/table ingest/units train/baseline " +
		"train/experiment train/holdout train/honest train/honest/interval train/triplets"},
	// What the data show about themselves, and what mistakes cost.
	{"report/findings", "dsp dsp/analysis ingest ingest/campaign ingest/fault ingest/spelling ingest/table " +
		"ingest/units report train/honest train/honest/interval train/triplets"},
	// The content of a report, from tables and trained results.
	{"report/content", "dsp ingest/fault ingest/table report report/findings report/pairs train/baseline " +
		"train/experiment train/holdout train/honest train/honest/interval train/results train/score train/triplets"},
	{"report/variants", "ingest/table report report/pairs train/experiment train/results train/score train/triplets"},
	{"report/pairs/repeats", "ingest ingest/campaign ingest/condition ingest/fault ingest/table report/pairs " +
		"train/triplets"},
	// The answers take tables and trained results; they know no configuration, no engine and no stage.
	{"report/answer/budget", "dsp/balance ingest/condition ingest/derive ingest/fault ingest/spelling " +
		"ingest/units internal/kv report report/pairs train/numbers"},
	{"report/answer/contrast", "ingest/fault ingest/table ingest/units internal/kv report report/figure report/pairs " +
		"train/contrast train/numbers"},
	{"report/answer/export", "ingest/fault ingest/table train/numbers"},
	{"report/answer/inspect", "dsp ingest ingest/fault ingest/format ingest/recording ingest/stats ingest/table " +
		"ingest/units internal/kv report/answer/predict train/numbers"},
	{"report/answer/judge", "ingest/fault ingest/spelling ingest/table report report/pairs train/honest " +
		"train/honest/interval train/score train/triplets"},
	{"report/answer/library", "ingest/fault ingest/table report train/honest train/honest/leftout train/honest/scale"},
	{"report/answer/predict", "ingest/derive ingest/fault ingest/spelling ingest/table ingest/units internal/kv report " +
		"report/pairs train train/card train/holdout train/honest train/honest/interval train/honest/scale " +
		"train/numbers train/score train/triplets"},
	{"report/answer/suggest", "ingest/fault ingest/spelling ingest/units internal/kv report/answer/predict train/honest " +
		"train/honest/interval"},
	{"docs", ""},
	{"internal/kv", ""},
	{"internal/lists", ""},
	{"internal/longtest", ""},
	{"internal/pack", ""},
	{"internal/parallel", ""},
	{"internal/testfile", ""},

	{"pipeline/engine", "internal/parallel internal/kv internal/pack"},
	{"pipeline/engine/job", ""},
	{"pipeline/engine/taskfile", "internal/pack pipeline/engine"},
	{"pipeline/engine/command", "internal/kv pipeline/engine pipeline/engine/job"},
	// The configuration reads the settings of the packages that use them.
	{"pipeline/config", "internal/kv pipeline/engine/job ingest ingest/campaign ingest/setting ingest/sidecar " +
		"ingest/fault ingest/condition ingest/derive ingest/spelling ingest/simulate ingest/format dsp train " +
		"train/baseline train/experiment train/form train/holdout train/honest"},
	{"cmd/app/watch", "pipeline/engine"},
	{"pipeline/stages", "pipeline/stages/... pipeline/config pipeline/engine pipeline/engine/taskfile internal/kv " +
		"report/content report/findings report/pairs report/pairs/repeats report/variants ingest/table ingest/... dsp " +
		"dsp/... train/... " +
		"report internal/parallel"},
	{"pipeline/locate", "pipeline/config pipeline/engine ingest/derive ingest/fault ingest/spelling " +
		"report/answer/budget report/answer/predict report/pairs"},
	{"pipeline/runs", "pipeline/config pipeline/engine ingest/table pipeline/stages ingest/fault " +
		"ingest/spelling report train/numbers train/score"},
	// The façade knows neither models nor recordings: those who want them go to their rooms.
	{"pipeline", "pipeline/config pipeline/engine pipeline/engine/command " +
		"pipeline/engine/job internal/kv pipeline/runs pipeline/stages " +
		"pipeline/stages/plan ingest ingest/fault ingest/spelling report train " +
		"train/holdout"},
	{"pipeline/pipelinetest", "pipeline"},
	{"cmd", "pipeline pipeline/config pipeline/locate pipeline/runs cmd/app/scaffold cmd/app/watch " +
		"report/answer/... report/pairs " +
		"ingest ingest/fault ingest/spelling ingest/simulate ingest/units train train/numbers train/score report docs " +
		"ingest/format train/baseline dsp"}, // of Extensions
	{"cmd/app/scaffold", "pipeline/config ingest/..."},
	{"cmd/pipeline", "cmd/app"},
}

// foreign lists the packages that may import a module of others.
var foreign = []struct{ module, by string }{
	{"github.com/apache/arrow", "ingest/table"},
	{"github.com/klauspost/compress", "ingest/format/internal/inflate ingest/format/parquet"},
	{"github.com/pierrec/lz4", "ingest/format/arrow"},
	{"github.com/mewkiz/flac", "ingest/format/flac"},
	{"github.com/parquet-go/parquet-go", "ingest/format/parquet report/answer/export"},
	{"github.com/expr-lang/expr", "ingest/derive"},
	{"github.com/urfave/cli", "cmd/app"},
	{"go.yaml.in/yaml", "pipeline/config ingest/sidecar"},
	{"github.com/mjibson/go-dsp", "dsp"},
	{"codeberg.org/go-pdf/fpdf", "report/figure/paper"},
	{"codeberg.org/go-fonts/liberation", "report/figure/paper"},
	{"git.sr.ht/~sbinet/gg", "report/figure/paper"},
	{"golang.org/x/image", "report/figure/paper"},
	{"github.com/stretchr/testify", "internal/testfile train/baseline/baselinetest"},
	{"golang.org/x/text", "report ingest/spelling"},
	{"gonum.org/v1/gonum", "dsp train/... report/answer/budget report/answer/export"},
	{"golang.org/x/sys", "dsp/kernel pipeline/engine ingest/... train/kernel cmd/app"},
}

// has reports whether a list of names contains a package. A name with /... contains all packages below it, too.
func has(list, pkg string) bool {
	for _, name := range strings.Fields(list) {
		parent, isTree := strings.CutSuffix(name, "/...")
		isBelow := isTree && strings.HasPrefix(pkg, parent+"/")
		if pkg == parent || isBelow {
			return true
		}
	}

	return false
}

// importRule returns the rule of a package: the longest name of the table that is the package or a parent of it. It
// returns the packages that may be imported.
func importRule(pkg string) (rule, allowed string) {
	for _, r := range imports {
		if len(r.of) > len(rule) && has(r.of+"/...", pkg) {
			rule = r.of
			allowed = r.may
		}
	}

	return rule, allowed
}

// foreignImporters returns the packages that may import a foreign path, and "" if none may.
func foreignImporters(path string) string {
	for _, f := range foreign {
		if strings.HasPrefix(path, f.module) {
			return f.by
		}
	}

	return ""
}

// No package imports one that it must not know. Packages for tests may import more.
func TestImports(t *testing.T) {
	count := 0
	for _, p := range packages(t) {
		pkg := strings.TrimPrefix(p.path, "doubletake/")
		rule, allowed := importRule(pkg)
		assert.NotEmpty(t, rule, "%s has no rule: list the packages it may import", pkg)

		allowed += " internal/lists"
		if strings.HasSuffix(pkg, "test") {
			allowed += " internal/testfile internal/longtest"
		}

		for _, imported := range strings.Fields(p.imports) {
			host, _, _ := strings.Cut(imported, "/")
			own, isOwn := strings.CutPrefix(imported, "doubletake/")
			isForeign := strings.Contains(host, ".")
			switch {
			case isOwn:
				count++
				assert.True(t, has(allowed, own), "%s imports %s; %s may import: %s", pkg, own, rule, allowed)
			case isForeign:
				importers := foreignImporters(imported)
				assert.True(t, has(importers, pkg), "%s imports %s, which only these may: %s", pkg, imported, importers)
			}
		}
	}

	assert.GreaterOrEqual(t, count, 50, "imports")
}
