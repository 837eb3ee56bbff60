package runner

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tare/internal/observe"
)

// work is what machines worked in windows, by the boot ids of their kernels. With both
// ends on this machine it is the one of the id here.
type work map[string]observe.Spent

// here stands for this machine, of which the collector reads; unknown for one of which
// nothing could be read.
const (
	here    = ""
	unknown = "unknown"
)

// plus is both together.
func (w work) plus(o work) work {
	sum := work{}
	for _, one := range []work{w, o} {
		for kernel, s := range one {
			sum[kernel] = sum[kernel].Plus(s)
		}
	}
	return sum
}

// busy is what all machines worked. idle tells how many CPUs of one are busy all the same;
// what that makes in these windows is taken off.
func (w work) busy(idle func(kernel string) (float64, error)) (net, resolution float64, err error) {
	if len(w) == 0 {
		return 0, 0, errors.New("CPU time was not read")
	}
	for kernel, s := range w {
		busy, err := s.Busy()
		if err != nil {
			return 0, 0, err
		}
		base, err := idle(kernel)
		if err != nil {
			return 0, 0, err
		}
		net += busy - base*s.Length().Seconds()
		resolution += s.Resolution()
	}
	return net, resolution, nil
}

// eye reads the CPU time of its machine: an agent.
type eye interface {
	CPU(ctx context.Context) (boot string, s observe.Sample, err error)
}

// eyes are the agents of a mode's ends, client first, where they run on machines of which
// nothing is read here.
func (r *run) eyes(s *stage) []eye {
	if !r.elsewhere() || s == nil || len(s.agents) == 0 || s.agents[0].client == nil || s.agents[0].server == nil {
		return nil
	}
	return []eye{s.agents[0].client, s.agents[0].server}
}

// mark is the CPU time of a machine at one moment.
type mark struct {
	kernel string
	sample observe.Sample
}

// marks reads the CPU time of the machines: of this one, or through eyes side by side.
func (r *run) marks(ctx context.Context, eyes []eye) []mark {
	if !r.elsewhere() {
		s, err := r.cpu.Read()
		if err != nil {
			s = nil // the collector of the same source tells why, once
		}
		return []mark{{here, s}}
	}
	out := make([]mark, len(eyes))
	var wg sync.WaitGroup
	for i, e := range eyes {
		wg.Go(func() {
			boot, s, err := e.CPU(ctx)
			if out[i] = (mark{boot, s}); err != nil {
				out[i] = mark{unknown, nil}
			}
		})
	}
	wg.Wait()
	return out
}

// metered does something in a window of its own. Two eyes on one machine see the same:
// it is counted once.
func (r *run) metered(ctx context.Context, eyes []eye, do func()) work {
	from := r.marks(ctx, eyes)
	do()
	to := r.marks(ctx, eyes)
	w := work{}
	for i := range from {
		kernel := from[i].kernel
		if to[i].kernel != kernel {
			kernel, from[i].sample = unknown, nil
		}
		if seen := slices.ContainsFunc(from[:i], func(m mark) bool { return m.kernel == kernel }); !seen {
			var s observe.Spent
			s.Add(from[i].sample, to[i].sample)
			w[kernel] = s
		}
	}
	return w
}
