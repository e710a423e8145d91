package format_test

import (
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
)

// assemble calls campaign.Assemble for several files, with the conditions that their names state.
func assemble(files []string, infos func(string) (ingest.Info, error), c *campaign.Conditions, pat *campaign.Pattern,
	group campaign.Grouping,
) (runs []ingest.Run, err error) {
	rows := make([]*campaign.Conditions, len(files))
	if c != nil {
		rows, err = c.ForFiles(files)
	}

	for i := 0; i < len(files) && err == nil; i++ {
		var named []condition.Condition
		if pat != nil {
			if named, err = pat.Match(files[i]); err != nil {
				break
			}
		}

		var info ingest.Info
		if info, err = infos(files[i]); err != nil {
			break
		}

		var r []ingest.Run
		info.Path = files[i]
		r, _, err = campaign.Assemble(info, rows[i], named, group)
		runs = append(runs, r...)
	}

	if err != nil {
		return nil, err
	}

	return runs, nil
}
