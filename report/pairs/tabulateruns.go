package pairs

import (
	"slices"

	"doubletake/ingest/campaign"
	"doubletake/ingest/table"
	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// TabulateRuns returns the triplets of a table of pairs, and the index of its runs with a row for each run and file.
// across is the label across which repeats are paired, or "" if there is none. names and digests belong to the files.
func TabulateRuns(pairTable *campaign.PairTable, across string, names, digests []string) (trip, runs *table.Table) {
	if across != "" {
		pairAcross(pairTable, across)
	}

	var firstPairs []int
	var files, sums []string
	var counts []int64
	for _, part := range partsOf(pairTable) {
		firstPairs = append(firstPairs, part.firstPair)
		files = append(files, names[part.file])
		sums = append(sums, digests[part.file])
		counts = append(counts, part.pairs)
	}

	trip = Tabulate(pairTable)
	given := trip.Columns[:2+len(pairTable.Inputs)+len(pairTable.Labels)]
	runs = (&table.Table{Columns: given}).Select(firstPairs)
	runs.Columns[1].Strings = runs.Columns[0].Strings // the recording has the name of the run, which may have several
	runs.Make("file", "", "raw file").Strings = files
	runs.Make("pairs", "", "pairs of the run with a row of the file").Ints = counts
	runs.Make("sha256", "", "content hash of the raw file").Strings = sums

	return trip, runs
}

// pairAcross replaces the second value of each row by the first value of its partner: a repeat of the row with another
// value of a label.
func pairAcross(pairTable *campaign.PairTable, label string) {
	set := triplets.Set{N: pairTable.N}
	set.SetRuns(pairTable.Run)
	partner := set.PairAcross(pairTable.Recording, pairTable.Texts[slices.Index(pairTable.Labels, label)])
	pairTable.Y2 = nil
	for _, first := range pairTable.Y1 {
		second := make([]float64, len(partner))
		for i, other := range partner {
			second[i] = first[other]
		}

		pairTable.Y2 = append(pairTable.Y2, second)
	}
}

// runPart is the part of a run that lies in one file.
type runPart struct {
	firstPair int
	file      int
	pairs     int64 // number of pairs of the run with a row of the file
}

// partsOf lists the parts of the runs in files, in the order of their first pairs.
func partsOf(pairTable *campaign.PairTable) []runPart {
	type key struct{ run, file int }
	runs, _ := lists.Index(pairTable.Run)
	index := map[key]int{} // of parts
	var parts []runPart
	for i, files := range pairTable.Files {
		for _, f := range slices.Compact(files[:]) {
			own := key{run: runs[i], file: int(f)}
			k, known := index[own]
			if !known {
				k = len(parts)
				index[own] = k
				parts = append(parts, runPart{firstPair: i, file: int(f)})
			}

			parts[k].pairs++
		}
	}

	return parts
}
