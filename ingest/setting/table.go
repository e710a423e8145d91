package setting

// Table describes files that already hold pairs.
type Table struct {
	// the table, or a list of files and globs whose rows are one table; ingest.pattern and ingest.conditions give the
	// conditions that are not columns
	File []string `key:"file" short:"yes" path:"yes"`

	// columns that are conditions; empty: all that are not outcomes
	Inputs []string `key:"inputs"`

	// columns of the first outcomes; empty: those ending in _1
	Y1 []string `key:"y1"`

	// columns of the second outcomes; empty: those ending in _2
	Y2 []string `key:"y2"`

	// columns of single measurements instead of y1 and y2: rows of equal condition are paired
	Repeats []string `key:"repeats"`

	// repeats: conditions are equal within these tolerances, e.g. {rpm: 1 %, tsr: 0.01}; the condition of a
	// pair is the mean of the two
	Tolerances []NamedString `key:"within"`

	// repeats: outcomes are corrected to the pair's condition by a power law, e.g. {thrust_n: rpm^2}
	Correct []NamedString `key:"correct"`

	// repeats: disjoint pairs use every row once, all takes all r(r-1)/2 pairs of r rows, weighted so that r
	// rows count as r; empty: disjoint
	Use string `key:"use" enum:"|disjoint|all"`

	// names of the outcomes; empty: from the columns
	Outcomes []string `key:"outcomes"`

	// column that names the run. file makes each file a run, unless a column is called file. Empty: a column called
	// run; without such a column the rows of equal condition are a run
	Run string `key:"run"`

	// repeats: column that names the occasion of a row (a day, a session, a mounting). Rows of different occasions are
	// paired. Each row is the first of one pair, with half the weight. Each occasion can be held out, and its rows are
	// one run. pairs: {across: Day} is short for it
	Across string `key:"across"`

	// units of the columns, by condition or outcome name; they replace those of the header. Values are
	// converted to the unit that the name states
	Units []NamedString `key:"units"`

	// origin of the pairs: both from one run, from repeated runs, or drawn from a known law; empty: repeat-run with
	// repeats, otherwise same-run
	Pairs string `key:"pairs" enum:"|same-run|repeat-run|synthetic"`
}
