package plan

import (
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic/workloads"
)

// loadAfter is how much longer the load beside a trial lasts than the trial's window: the two do not begin at the same moment.
const loadAfter = quantity.Duration(200 * time.Millisecond)

// LoadBeside is the workload that fills the path beside one with a load: a stream from client to server with its address family, congestion control,
// placement and warm-up, over the whole of its window. ok is false for a workload without a load.
func LoadBeside(w study.Workload) (load study.Workload, ok bool) {
	if w.WithLoad == "" {
		return study.Workload{}, false
	}
	stream, err := workloads.Named(w.WithLoad)
	if err != nil {
		return study.Workload{}, false
	}
	load = stream.Spec().Defaults
	load.Kind, load.ID = w.WithLoad, w.WithLoad
	load.Family, load.Congestion, load.Placement = w.Family, w.Congestion, w.Placement
	load.Warmup, load.Duration, load.Slice = w.Warmup, w.Duration+loadAfter, quantity.AtOnce
	return load, true
}
