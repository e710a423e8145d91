package text

import (
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// This file reads sparse columns: loggers write a channel of a lower rate in every n-th row and leave its cells empty
// between. Such a column is a channel with samples of its own, at its own rate. If a caller reads it together with
// channels that have other rows, it is brought to the rows of the file: an empty cell then has the value of the last
// filled cell above it, and the rows above the first filled cell have the value of that cell.

// sparseColumn is a column with a sample in every n-th row.
type sparseColumn struct {
	column int
	rowPattern

	first  float64 // its first sample
	isHeld bool    // it is brought to the rows of the file

	nextRow    int64 // the row from which reading goes on
	nextSample int64 // the number of the next sample, if the column has samples of its own

	// The value of the last filled cell above row nextRow, if isHeld.
	last float64
}

// rowPattern describes which rows of a column are filled.
type rowPattern struct {
	firstRow  int64
	lastRow   int64
	samples   int64
	every     int64  // the most frequent distance of two samples in rows
	irregular int64  // distances that differ from it by more than a half of it
	rows      uint64 // a hash of the rows: columns with samples in the same rows have the same
}

// Limits of a sparse column. A column that misses these has cells that are missing, which are errors when it is read.
const (
	leastSparse   = 3   // samples
	mostDistances = 256 // different distances of two samples; samples at further distances count as irregular
	mostOddShare  = 0.1 // share of distances that differ by more than a half from the most frequent one
)

// isMissing reports whether a cell says that it has no sample.
func isMissing(cell []byte) bool {
	return len(cell) == 0 || slices.Contains(missingSigns, strings.ToLower(string(cell)))
}

// patternCounter finds the pattern of the filled rows of a column.
type patternCounter struct {
	rowPattern
	distances map[int64]int64 // number of samples by their distance to the sample before
	uncounted int64           // samples at distances that distances has no room for
	hash      maphash.Hash
}

var patternSeed = maphash.MakeSeed()

func newPatternCounter() *patternCounter {
	c := &patternCounter{distances: map[int64]int64{}}
	c.hash.SetSeed(patternSeed)

	return c
}

// add counts a sample in a row.
func (c *patternCounter) add(row int64) {
	if c.samples == 0 {
		c.firstRow = row
	} else {
		c.addDistance(row - c.lastRow)
	}

	c.lastRow = row
	c.samples++
	_, _ = c.hash.WriteString(strconv.FormatInt(row, 36) + " ")
}

// addDistance counts a distance of two samples.
func (c *patternCounter) addDistance(distance int64) {
	hasRoom := c.distances[distance] > 0 || len(c.distances) < mostDistances
	if hasRoom {
		c.distances[distance]++
	} else {
		c.uncounted++
	}
}

// pattern returns the pattern after all rows were counted. isSparse reports whether it is the pattern of a channel that
// is written every n-th row, rather than of one with missing samples.
func (c *patternCounter) pattern() (p rowPattern, isSparse bool) {
	p = c.rowPattern
	p.rows = c.hash.Sum64()

	most := int64(0)
	for distance, count := range c.distances {
		isMore := count > most || count == most && distance < p.every
		if isMore {
			p.every = distance
			most = count
		}
	}

	p.irregular = c.uncounted
	for distance, count := range c.distances {
		if 2*max(distance-p.every, p.every-distance) > p.every {
			p.irregular += count
		}
	}

	isRegular := float64(p.irregular) <= mostOddShare*float64(p.samples-1)

	return p, p.samples >= leastSparse && p.every > 1 && isRegular
}

// rate returns the rate of the samples of a column; rateHz is the rate of the rows. If some distances are irregular,
// the rate follows from the most frequent distance, as if there were no pauses.
func (p rowPattern) rate(rateHz float64) float64 {
	if p.irregular > 0 {
		return rateHz / float64(p.every)
	}

	return rateHz * float64(p.samples-1) / float64(p.lastRow-p.firstRow)
}

// findSparse finds the sparse columns of a recording, and gives each a channel with its own rate and samples. If the
// channels with the names in together have samples in different rows, those that are sparse are held instead. A
// recording without a rate has no sparse columns.
func (t *Reader) findSparse(together []string) error {
	counters := map[int]*patternCounter{} // by channel
	for ch, column := range t.columnOf {
		isCandidate := t.layout.isSparse(column) && ch != t.timeChannel && t.info.Channels[ch].RateHz > 0
		if isCandidate {
			counters[ch] = newPatternCounter()
		}
	}

	if len(counters) == 0 {
		return nil
	}

	if err := t.countFilledRows(counters); err != nil {
		return err
	}

	t.sparse = make([]*sparseColumn, len(t.columnOf))
	for ch, counter := range counters {
		pattern, isSparse := counter.pattern()
		if !isSparse {
			continue
		}

		t.sparse[ch] = &sparseColumn{column: t.columnOf[ch], rowPattern: pattern, nextRow: pattern.firstRow}
	}

	t.holdTogether(together)
	t.heldColumns = make([]*sparseColumn, t.layout.cols)
	for ch, sparse := range t.sparse {
		if sparse == nil {
			continue
		}

		if sparse.isHeld {
			sparse.nextRow = 0
			t.heldColumns[sparse.column] = sparse
		}

		if err := t.readFirst(ch); err != nil {
			return err
		}

		t.describeSparse(ch)
	}

	return nil
}

// countFilledRows goes over all rows and counts the filled cells of columns.
func (t *Reader) countFilledRows(counters map[int]*patternCounter) error {
	if err := t.seekRow(0); err != nil {
		return err
	}

	for row := range t.rows {
		line, err := t.mustNextRow()
		if err != nil {
			return err
		}

		t.nextIndex++
		t.cells = t.layout.split(t.cells[:0], line)
		for ch, counter := range counters {
			column := t.columnOf[ch]
			if column < len(t.cells) && !isMissing(t.cells[column]) {
				counter.add(row)
			}
		}
	}

	return nil
}

// holdTogether marks the sparse channels as held if the channels with the given names have samples in different rows.
func (t *Reader) holdTogether(names []string) {
	var channels []int
	for _, name := range names {
		if ch, err := ingest.FindChannel(t.info, name); err == nil {
			channels = append(channels, ch)
		}
	}

	differ := slices.ContainsFunc(channels, func(ch int) bool {
		return t.filledRows(ch) != t.filledRows(channels[0])
	})

	for _, ch := range channels {
		if sparse := t.sparse[ch]; sparse != nil {
			sparse.isHeld = differ
		}
	}
}

// filledRows returns the hash of the rows in which a channel has samples, and 0 for all rows.
func (t *Reader) filledRows(channel int) uint64 {
	if sparse := t.sparse[channel]; sparse != nil {
		return sparse.rows
	}

	return 0
}

// readFirst reads the first sample of a sparse channel.
func (t *Reader) readFirst(channel int) error {
	sparse := t.sparse[channel]
	value := make([]float64, 1)
	t.setDestinations([]int{channel})
	if err := t.seekRow(sparse.firstRow); err != nil {
		return err
	}

	line, err := t.mustNextRow()
	if err != nil {
		return err
	}

	t.nextIndex++
	if err := t.parseRow(line, [][]float64{value}, 0); err != nil {
		return nil //nolint:nilerr // reading the channel returns the error
	}

	sparse.first = value[0]
	sparse.last = value[0]

	return nil
}

// describeSparse sets the rate and the number of samples of a sparse channel, and warns of what a reader of the file
// cannot know.
func (t *Reader) describeSparse(channel int) {
	ch := &t.info.Channels[channel]
	sparse := t.sparse[channel]
	rate := sparse.rate(ch.RateHz)
	written := fmt.Sprintf("column %s is written in %d of %d rows, at %s Hz", ch.Name, sparse.samples, t.rows,
		fault.Digits(rate, 4))

	if sparse.isHeld {
		t.warnf("sparse-column", "%s: between, its last value is taken, because it is read together with columns that "+
			"have other rows", written)
	} else {
		t.warnf("sparse-column", "%s: it is read as a channel of its own rate", written)
		ch.RateHz = rate
		ch.Samples = sparse.samples
		ch.Attributes = append(ch.Attributes, ingest.Attribute{
			Name: ingest.RowsAttribute, Value: fmt.Sprintf("%d:%d:%d", sparse.firstRow, sparse.lastRow+1, sparse.every),
		})
	}

	if sparse.irregular > 0 {
		t.warnf("sparse-gaps", "column %s: %d of its %d samples come more than half a step of %d rows early or late",
			ch.Name, sparse.irregular, sparse.samples, sparse.every)
	}

	missing := max(sparse.firstRow, t.rows-1-sparse.lastRow)
	if 2*missing > 3*sparse.every {
		t.warnf("sparse-gaps", "column %s has samples from row %d to row %d of %d only: what is computed from it is of this "+
			"part", ch.Name, sparse.firstRow+1, sparse.lastRow+1, t.rows)
	}
}

// ownSamples returns the sparse column of a channel that has samples of its own, and nil for other channels.
func (t *Reader) ownSamples(channel int) *sparseColumn {
	if t.sparse == nil || t.sparse[channel] == nil || t.sparse[channel].isHeld {
		return nil
	}

	return t.sparse[channel]
}

// groupByRows returns the indices of channels in groups that have samples in the same rows.
func (t *Reader) groupByRows(channels []int) [][]int {
	var groups [][]int
	groupOf := map[uint64]int{}
	for i, ch := range channels {
		rows := uint64(0)
		if sparse := t.ownSamples(ch); sparse != nil {
			rows = sparse.rows
		}

		group, isKnown := groupOf[rows]
		if !isKnown {
			group = len(groups)
			groupOf[rows] = group
			groups = append(groups, nil)
		}

		groups[group] = append(groups[group], i)
	}

	return groups
}

// readSparse reads channels with samples of their own in the same rows as sparse.
func (t *Reader) readSparse(sparse *sparseColumn, channels []int, start int64, dst [][]float64) (int, error) {
	if start >= sparse.samples {
		return 0, io.EOF
	}

	if start < sparse.nextSample {
		sparse.nextSample = 0
		sparse.nextRow = sparse.firstRow
	}

	if err := t.seekRow(sparse.nextRow); err != nil {
		return 0, err
	}

	t.setDestinations(channels)

	k := 0
	for k < len(dst[0]) && sparse.nextSample < sparse.samples {
		line, err := t.mustNextRow()
		if err != nil {
			return k, err
		}

		t.nextIndex++
		sparse.nextRow = t.nextIndex
		t.cells = t.layout.split(t.cells[:0], line)
		if sparse.column < len(t.cells) && isMissing(t.cells[sparse.column]) {
			continue
		}

		sparse.nextSample++
		if sparse.nextSample <= start {
			continue
		}

		if err := t.parseRow(line, dst, k); err != nil {
			return k, err
		}

		k++
	}

	t.copyRepeated(channels, dst, k)
	if k < len(dst[0]) {
		return k, io.EOF
	}

	return k, nil
}

// heldAmong returns the held columns of channels.
func (t *Reader) heldAmong(channels []int) []*sparseColumn {
	var held []*sparseColumn
	for _, ch := range channels {
		if t.sparse != nil && t.sparse[ch] != nil && t.sparse[ch].isHeld {
			held = append(held, t.sparse[ch])
		}
	}

	return held
}

// findLast finds the value that each held column has above a row.
func (t *Reader) findLast(held []*sparseColumn, row int64) error {
	begin := row
	for _, sparse := range held {
		if sparse.nextRow > row {
			sparse.nextRow = 0
			sparse.last = sparse.first
		}

		begin = min(begin, sparse.nextRow)
	}

	if begin == row {
		return nil
	}

	if err := t.seekRow(begin); err != nil {
		return err
	}

	for t.nextIndex < row {
		line, err := t.mustNextRow()
		if err != nil {
			return err
		}

		t.nextIndex++
		t.cells = t.layout.split(t.cells[:0], line)
		for _, sparse := range held {
			t.keepLast(sparse)
		}
	}

	return nil
}

// keepLast keeps the value of a column in t.cells if its cell is filled.
func (t *Reader) keepLast(sparse *sparseColumn) {
	if sparse.column >= len(t.cells) || isMissing(t.cells[sparse.column]) {
		return
	}

	value, isNumber := t.layout.value(t.cells[sparse.column], sparse.column)
	if isNumber && !math.IsNaN(value) {
		sparse.last = value
	}
}
