package pairtable

import (
	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/table"
)

// AddSpectrum appends the spectra of the two halves of a recording, and the lines and bins that were used.
func (t *Table) AddSpectrum(run string, rec ingest.Recording, unit string, binHz float64, s dsp.Spectra) {
	for h, half := range s.Halves {
		t.Cells(t.Spectra, run, rec)
		table.AddCell(t.Spectra, "half", "", "1 or 2", h+1)
		table.AddCell(t.Spectra, "bin_hz", "Hz", "spacing of the bins; the first is at 0 Hz", binHz)
		table.AddCell(t.Spectra, "shaft_hz", "Hz", "shaft speed used, rev/s", half.ShaftHz)
		table.AddCell(t.Spectra, "power", unit+"²", "one-sided power per bin; a sine on a bin reads its mean square",
			half.Spectrum)

		lines := half.Lines
		table.AddCell(t.Spectra, "line_hz", "Hz", "harmonics: frequency of the largest bin", lineCells(lines, peakHz))
		table.AddCell(t.Spectra, "line_power", unit+"²", "harmonics: mean square", lineCells(lines, linePower))
		table.AddCell(t.Spectra, "floor", unit+"²", "harmonics: floor per bin",
			lineCells(lines, func(line dsp.Line) float64 { return line.Floor }))
		table.AddCell(t.Spectra, "search_lo", "", "harmonics: first bin searched",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Search[0]) }))
		table.AddCell(t.Spectra, "search_hi", "", "harmonics: last bin searched",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Search[1]) }))
		table.AddCell(t.Spectra, "band_lo", "", "harmonics: first bin of the line",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Band[0]) }))
		table.AddCell(t.Spectra, "band_hi", "", "harmonics: last bin of the line",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Band[1]) }))

		orders := half.ShaftOrders
		table.AddCell(t.Spectra, "shaft_order", "", "orders of the shaft that are no multiple of the blade count",
			lineCells(orders, func(line dsp.Line) float64 { return float64(line.Order) }))
		table.AddCell(t.Spectra, "shaft_order_hz", "Hz", "their frequency", lineCells(orders, peakHz))
		table.AddCell(t.Spectra, "shaft_order_power", unit+"²", "their mean square", lineCells(orders, linePower))
	}
}

// peakHz returns the frequency of a line's largest bin.
func peakHz(line dsp.Line) float64 { return line.PeakHz }

// linePower returns the mean square of a line.
func linePower(line dsp.Line) float64 { return line.Power }

// lineCells returns a value of each line.
func lineCells(lines []dsp.Line, value func(line dsp.Line) float64) []float32 {
	var cells []float32
	for _, line := range lines {
		cells = append(cells, float32(value(line)))
	}

	return cells
}
