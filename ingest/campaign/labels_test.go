package campaign

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/condition"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Rows are pairs, or repeats, of one propeller: by hand, at x = 1 rows 1 and 3 are of A, 2 and 4
// of B; the row of C has no partner. A tolerance and named runs do not change that.
func TestLabelsOfTable(t *testing.T) {
	const text = "propeller,x,F,run,note\nA,1,10,a,\nB,1,20,b,\nA,1,11,c,\nB,1,21,d,\nC,1,30,e,\n"
	o := TableOptions{Inputs: []string{"x"}, Repeats: []string{"F"}, Labels: []string{"propeller"}}
	for name, c := range map[string]struct {
		change func(o *TableOptions)
		want   string
	}{
		"as read": {func(*TableOptions) {}, "[10 20] [11 21] [A B] [x=1,propeller=A x=1,propeller=B]"},
		"of runs": {func(o *TableOptions) { o.Run = "run" }, "[10 20] [11 21] [A B] [a+c b+d]"},
		"tolerance": {
			func(o *TableOptions) { o.Within = map[string]condition.Tolerance{"x": {Absolute: 0.1}} },
			"[10 20] [11 21] [A B] [x=1,propeller=A x=1,propeller=B]",
		},
		"no label": {func(o *TableOptions) { o.Labels = nil }, "[10 11] [20 21] [] [x=1 x=1]"},
	} {
		o := o
		c.change(&o)

		p, err := readTable(writeFile(t, text), o)
		require.NoError(t, err)

		assert.Equal(t, c.want, fmt.Sprint(flat(p.Y1), flat(p.Y2), flat(p.Texts), p.Run), "%v", name)

		told := strings.Contains(fmt.Sprint(p.Warnings), "column propeller holds text")
		assert.Equal(t, o.Labels == nil, told, "%s: %v", name, p.Warnings)
	}

	// The names of files may state labels too.
	o.Labels = []string{"rig"}
	o.Given = []string{"rig"}
	path := writeFile(t, text)
	west := condition.Values{Names: map[string]string{"rig": "west"}}
	p, err := ReadTables([]TableFile{{Path: path, Name: "w", Values: west}}, o)
	require.NoError(t, err)
	assert.Equal(t, "west,west", strings.Join(flat(p.Texts), ","))

	for want, bad := range map[string]func(o *TableOptions){
		"found an empty cell": func(o *TableOptions) {
			o.Labels = []string{"note"}
			o.Given = nil
		},
		"expected a column \"day\"": func(o *TableOptions) {
			o.Labels = []string{"day"}
			o.Given = nil
		},
		"text is no input of a network": func(o *TableOptions) {
			o.Labels = nil
			o.Given = nil
			o.Inputs = []string{"x", "propeller"}
		},
	} {
		changed := o
		bad(&changed)
		_, err := readTable(path, changed)
		assert.ErrorContains(t, err, want)
	}
}

// Labels come from the table of conditions and from the file's name, which must not differ. A cell
// that names nothing is a fault of a column by which rows are grouped alone.
func TestLabelsOfRecordings(t *testing.T) {
	parse := func(text string) *Conditions {
		c, err := ParseConditions("conditions.csv", []byte(text), LogOptions{})
		require.NoError(t, err)

		return c
	}

	info := func(string) (ingest.Info, error) {
		return ingest.Info{Channels: []ingest.Channel{{Name: "a", Samples: 9}, {Name: "b", Samples: 9}}}, nil
	}

	pat, err := ParsePattern("{rig:text}-{n}.wav")
	require.NoError(t, err)

	files := []string{"west-1.wav"}
	c := parse("file,channel,propeller,comment\nwest-1.wav,a,APC,\nwest-1.wav,b,HQ,good\n")
	runs, _, err := assemble(files, info, c, pat, nil, Grouping{})
	require.NoError(t, err)

	for i, want := range []string{"map[comment: propeller:APC rig:west]", "map[comment:good propeller:HQ rig:west]"} {
		assert.Equal(t, want, fmt.Sprint(runs[0].Recordings[i].Labels), "labels")
	}

	_, _, err = assemble(files, info, parse("file,rig\nwest-1.wav,east\n"), pat, nil, Grouping{})
	assert.ErrorContains(t, err, `expected "west", as in the file's name, found "east" in conditions.csv, line 2`)

	require.NoError(t, c.CheckLabels([]string{"propeller"}))
	long := parse("file,comment\nx.wav," + strings.Repeat("x", condition.MaxName+1) + "\n")
	assert.ErrorContains(t, long.CheckLabels([]string{"comment"}), "at most 100 bytes")
	assert.ErrorContains(t, c.CheckLabels([]string{"comment"}),
		"line 2, column comment: expected a name of at most 100 bytes")
	for _, mark := range []string{`"`, `-"-`, "-//-", "same as above", "Dito", "↓", "〃"} {
		assert.ErrorContains(t, condition.CheckName(mark), strconv.Quote(mark)+", a mark for the cell above")
	}

	for _, name := range []string{`8"`, "id", "do", "8/6", "above"} {
		assert.Nil(t, condition.CheckName(name), "%s", name)
	}
}
