package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"tare/internal/observe"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// backgroundLoadTime is how long doctor samples the background load.
const backgroundLoadTime = time.Second

// backgroundLoad is the current load by other programs and other guests, with a warning where
// it exceeds the default limits of a study for a trial that runs alone. Unknown loads are left
// out.
func backgroundLoad(ctx context.Context, limits study.Invalid) ([]result.Fact, []result.Warning) {
	session := observe.NewCollectorSet(observe.Collectors("/proc", observe.Own{PID: os.Getpid()})).Start()
	select {
	case <-time.After(backgroundLoadTime):
	case <-ctx.Done():
	}
	w := session.Stop()
	long := w.Metrics["clock_elapsed"]
	if long <= 0 {
		return nil, nil
	}
	var facts []result.Fact
	var warnings []result.Warning
	for _, what := range []struct {
		name         warning.Code
		figure, text string
		most         study.Share
	}{
		{warning.OthersNow, "others_cpu", "other programs use", limits.Others},
		{warning.StealNow, "cpu_steal", "the hypervisor takes", limits.Steal},
	} {
		used, known := w.Metrics[what.figure]
		if !known {
			continue
		}
		share, rest := fmt.Sprintf("%.0f %%", 100*used/long), ""
		if words := w.Notes[what.figure]; words != "" {
			rest = ", " + words
		}
		facts = append(facts, result.Fact{Name: string(what.name), Value: share + " of a CPU" + rest})
		if what.most.On() && used/long > what.most.Of {
			warnings = append(warnings, warning.New(what.name, "run",
				"%s %s of a CPU%s: trials that run alone would be invalid (above %.0f %%), interleaved trials share it. Wait, or use a quieter machine.", what.text, warning.Said(share), rest, 100*what.most.Of))
		}
	}
	return facts, warnings
}
