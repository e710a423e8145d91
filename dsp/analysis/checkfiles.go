package analysis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
	"doubletake/internal/parallel"
)

// Skips reports whether err is a fault of the data and the settings say to go on without such recordings.
func (s *Source) Skips(err error) bool {
	_, ofData := errors.AsType[*fault.Error](err)
	return s.Settings.OnBadRecording != "fail" && ofData
}

// CheckFiles checks the files of a campaign as their readers would read them (Reader.Check). It reads all samples of
// the first files, up to maxScanned bytes, if their samples may not be numbers, and the first and the last second of
// any other file.
//
// CheckFiles returns the files that it could read. The warnings are the first warning of each code, with the number of
// files that have one, the reasons of files that will be left out, and those about the files together. The error joins
// the errors of at most maxFaults files.
func (s *Source) CheckFiles(ctx context.Context, readers []*Reader) (*campaign.Campaign, error) {
	n := len(readers)
	scanned := scannedFiles(readers)
	files := make([]*recording.File, n)
	errs := make([]error, n)
	parallel.Do(runtime.GOMAXPROCS(0), n, func(i int) {
		errs[i] = ctx.Err()
		if errs[i] == nil {
			files[i], errs[i] = readers[i].Check(ctx, i < scanned)
		}
	})

	return s.gather(readers, files, errs)
}

// maxFaults is the largest number of bad files that CheckFiles names.
const maxFaults = 10

// gather returns the files without an error, with the warnings about all files. The error joins the errors of the first
// maxFaults bad files and counts the others.
func (s *Source) gather(readers []*Reader, files []*recording.File, errs []error) (*campaign.Campaign, error) {
	read := &campaign.Campaign{}
	var faults []error
	affected := map[string]int{} // number of files by the code of a warning
	for i, file := range files {
		if s.Skips(errs[i]) {
			read.Warnings = append(read.Warnings,
				ingest.Warn(readers[i].Name, "", "it will be left out: %v", errs[i]))
			continue
		}

		if errs[i] != nil {
			faults = append(faults, errs[i])
			continue
		}

		read.Files = append(read.Files, file)
		for _, warning := range recording.FirstOfCodes(file.Warnings) {
			affected[warning.Code]++
			if affected[warning.Code] == 1 {
				read.Warnings = append(read.Warnings, warning)
			}
		}
	}

	for k, warning := range read.Warnings {
		if n := affected[warning.Code]; n > 0 {
			read.Warnings[k].Text += fmt.Sprintf(" (in %d of %d files)", n, len(files))
		}
	}

	if n := len(faults) - maxFaults; n > 0 {
		faults = append(faults[:maxFaults], fmt.Errorf("and %s", fault.Plural(int64(n), "more file")))
	}

	read.Warnings = append(read.Warnings, read.Check()...)

	return read, errors.Join(faults...)
}

// maxScanned bounds the bytes of a campaign's files whose samples CheckFiles reads to find samples that are not
// numbers.
const maxScanned = 256 << 20

// scannedFiles returns how many files have all their samples read: the first ones, up to maxScanned bytes.
func scannedFiles(readers []*Reader) int {
	total := int64(0)
	for i, reader := range readers {
		if info, err := os.Stat(reader.Path); err == nil {
			total += info.Size()
		}

		if total > maxScanned {
			return i
		}
	}

	return len(readers)
}
