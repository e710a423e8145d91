package recording

import (
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/setting"
)

// Check returns the warnings about a run of the file that info describes: values that are unlikely in their unit,
// channels that are constant for a while, and microphones that are apart from their neighbours. It returns a
// *fault.Error about a value that cannot be. flow names the columns of air, and may be nil.
func (r *Run) Check(info ingest.Info, flow *setting.Flow) ([]ingest.Warning, error) {
	implausible, err := Plausible(info, *r, flow)
	if err != nil {
		return nil, err
	}

	return slices.Concat(implausible, Dropouts(info, *r), DeadMicrophones(info, *r)), nil
}
