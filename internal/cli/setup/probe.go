package setup

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"tare/internal/cli/command"
	"tare/internal/driver"
	"tare/internal/study"
)

// probed is the result of trying a mode.
type probed struct {
	Mode   string `json:"mode"`
	Status string `json:"status"` // one of the below
	Reason string `json:"reason,omitempty"`
}

// The results of trying a mode.
const (
	probedOK      = "ok"
	probedLacking = "unsupported"
	probedFailed  = "failed"
	probedNeeds   = "name needed" // the mode asks for a name, and none was given
)

// mostProbes is how many modes are tried at a time: enough to use the CPUs while engines
// start, few enough that none waits long.
const mostProbes = 4

// probe tries modes, several at a time, and returns the results in order. It reports progress
// on stderr, because docker modes take seconds.
func (a commands) probe(ctx context.Context, modes []string) []probed {
	out := make([]probed, len(modes))
	next := make(chan int)
	var told sync.Mutex
	done := 0
	var all sync.WaitGroup
	for range min(mostProbes, max(2, runtime.NumCPU()), len(modes)) {
		all.Go(func() {
			for i := range next {
				out[i] = a.probeMode(ctx, modes[i])
				told.Lock()
				done++
				fmt.Fprintf(a.Stderr, "tried %d of %d: %s %s\n", done, len(modes), out[i].Mode, out[i].Status)
				told.Unlock()
			}
		})
	}
	for i := range modes {
		next <- i
	}
	close(next)
	all.Wait()
	return out
}

// probeMode builds a mode and removes it again.
func (a commands) probeMode(ctx context.Context, mode string) probed {
	if study.Asks(mode) {
		return probed{mode, probedNeeds, "replace NAME by a name, as in tare modes --probe " + strings.TrimSuffix(mode, "NAME") + "mine"}
	}
	drv, _, err := a.hosts.Target.Drivers.For(mode)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = drv.Probe(ctx, driver.Order{Mode: mode})
	}
	u, lacking := driver.AsUnsupported(err)
	switch {
	case err == nil:
		return probed{mode, probedOK, ""}
	case lacking:
		return probed{mode, probedLacking, command.OneLine(u.Reason)}
	}
	return probed{mode, probedFailed, command.OneLine(err.Error())}
}
