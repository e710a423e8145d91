package stats

import "doubletake/ingest"

// sameLength restricts a run of a file whose channels differ in length to the
// channels that are as long as those in use, because all channels are read
// together. part reports that there are others.
func sameLength(r ingest.Reader, run ingest.Run) (_ ingest.Reader, _ ingest.Run, part bool) {
	info := r.Info()
	if len(info.Channels) == 0 {
		return r, run, false
	}
	length := info.Channels[0].Samples
	if len(run.Recordings) > 0 && len(run.Recordings[0].Channels) > 0 {
		if c := run.Recordings[0].Channels[0]; c >= 0 && c < len(info.Channels) {
			length = info.Channels[c].Samples
		}
	}
	v := &view{Reader: r, info: info}
	v.info.Channels = nil
	to := make([]int, len(info.Channels))
	for c, ch := range info.Channels {
		to[c] = -1
		if ch.Samples == length {
			to[c] = len(v.from)
			v.from = append(v.from, c)
			v.info.Channels = append(v.info.Channels, ch)
		}
	}
	if len(v.from) == len(info.Channels) {
		return r, run, false
	}
	w := run
	w.Recordings = nil
	for _, rec := range run.Recordings {
		m := rec
		m.Channels = nil
		for _, c := range rec.Channels {
			if c < 0 || c >= len(to) || to[c] < 0 {
				return r, run, false // campaign.Assemble refuses such recordings by name
			}
			m.Channels = append(m.Channels, to[c])
		}
		w.Recordings = append(w.Recordings, m)
	}
	return v, w, true
}

// view is some channels of a Reader.
type view struct {
	ingest.Reader
	info ingest.Info
	from []int
}

// Info implements ingest.Reader.
func (v *view) Info() ingest.Info { return v.info }

// Read implements ingest.Reader.
func (v *view) Read(channels []int, start int64, dst [][]float64) (int, error) {
	c := make([]int, len(channels))
	for i, k := range channels {
		c[i] = v.from[k]
	}
	return v.Reader.Read(c, start, dst)
}

// Quantum implements ingest.Quantized.
func (v *view) Quantum() (step, low, high float64) {
	if q, ok := v.Reader.(ingest.Quantized); ok {
		return q.Quantum()
	}
	return 0, 0, 0
}
