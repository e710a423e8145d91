package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/report/answer/inspect"
)

const (
	// drawnColumns is the greatest number of columns of a drawn spectrum.
	drawnColumns = 72
	// drawnRows is the number of rows of a drawn spectrum.
	drawnRows = 12
	// drawnRangeDB is the greatest range of the levels of a drawn spectrum. Levels below it are empty columns.
	drawnRangeDB = 96
)

// drawSpectrum draws the levels of a channel over a linear axis of frequency, and lists its lines. It draws nothing if
// the spectrum has no power, or if the samples are so large that their power is not a finite number.
func drawSpectrum(w io.Writer, channel inspect.Channel) {
	spectrum := channel.Spectrum
	levels := columnLevels(spectrum.Power)

	top := math.Inf(-1)
	bottom := math.Inf(1)
	for _, level := range levels {
		if !math.IsInf(level, -1) {
			top = max(top, level)
			bottom = min(bottom, level)
		}
	}

	if math.IsInf(top, 0) || math.IsNaN(top) { // one level that is NaN makes top NaN
		return
	}

	bottom = max(bottom, top-drawnRangeDB)
	stepDB := max(1, math.Ceil((top-bottom)/drawnRows)) // of a row

	fmt.Fprintf(w, "\nspectrum of channel %s: dB re 1 %s rms, mean of %s, %s Hz resolution\n", channel.Name,
		cmp.Or(channel.Unit, "unit"), fault.Plural(int64(spectrum.Segments), "segment"), fault.Digits(spectrum.BinHz, 4))
	drawLevels(w, levels, math.Ceil(top), stepDB)

	maxHz := spectrum.BinHz * float64(len(spectrum.Power)-1)
	end := fault.Digits(maxHz, 6) + " Hz"
	gap := strings.Repeat(" ", max(1, len(levels)-1-len(end)))
	fmt.Fprintf(w, "       └%s\n        0%s%s\n", strings.Repeat("─", len(levels)), gap, end)

	for _, peak := range spectrum.Peaks {
		fmt.Fprintf(w, "line at %s Hz: %.1f dB, %.0f dB above its surroundings\n", fault.Digits(peak.Hz, 6),
			10*math.Log10(peak.Power), peak.AboveDB)
	}
}

// columnLevels returns the level in dB of each column: of the strongest of its bins. It leaves out the bin of 0 Hz. The
// level of no power is −∞, and the level of a power that is NaN is NaN.
func columnLevels[T ~float64](power []T) []float64 {
	bins := len(power) - 1
	levels := make([]float64, max(0, min(drawnColumns, bins)))
	for i := range levels {
		strongest := 0.0
		for bin := 1 + i*bins/len(levels); bin < 1+(i+1)*bins/len(levels); bin++ {
			strongest = max(strongest, float64(power[bin]))
		}

		levels[i] = 10 * math.Log10(strongest)
	}

	return levels
}

// drawLevels draws levels as columns of blocks. The rows cover stepDB each, from topDB downwards.
func drawLevels(w io.Writer, levels []float64, topDB, stepDB float64) {
	blocks := []rune(" ▁▂▃▄▅▆▇█") // by the share of a row that is filled, in eighths

	for row := range drawnRows {
		lowDB := topDB - stepDB*float64(row+1)

		var line strings.Builder
		for _, level := range levels {
			share := max(0, min(1, (level-lowDB)/stepDB))
			eighths := int(math.Round(share * 8))
			line.WriteRune(blocks[eighths])
		}

		fmt.Fprintf(w, "%6.0f │%s\n", topDB-stepDB*float64(row), strings.TrimRight(line.String(), " "))
	}
}
