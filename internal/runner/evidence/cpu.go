package evidence

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tare/internal/driver"
	"tare/internal/observe"
	"tare/internal/observe/netstack"
)

// CPUTime is what machines worked in windows, by the boot ids of their kernels. With both
// ends on this machine it is the one of the id here.
type CPUTime map[string]observe.CPUTime

// Here stands for this machine, of which the collector reads; unknown for one of which
// nothing could be read.
const (
	LocalKernel = ""
	unknown     = "unknown"
)

// Plus is both together.
func (w CPUTime) Plus(o CPUTime) CPUTime {
	sum := CPUTime{}
	for _, one := range []CPUTime{w, o} {
		for kernel, s := range one {
			sum[kernel] = sum[kernel].Plus(s)
		}
	}
	return sum
}

// busy is what all machines worked. idle tells how many CPUs of one are busy all the same;
// what that makes in these windows is taken off.
func (w CPUTime) busy(idle func(kernel string) (float64, error)) (net, resolution float64, err error) {
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

// cpuReader reads the CPU time of one host's machine.
type cpuReader struct {
	host string
	// read gives the boot id of the host's kernel beside the sample: two hosts may be one machine.
	read func(ctx context.Context) (kernel string, s observe.Sample, err error)
}

// readers are those of the hosts of modes, each host once; all hosts that are this
// machine are one. A host that is neither this machine nor has an agent of the path on
// it cannot be read.
func (o *Observer) readers(of ...Mode) []cpuReader {
	var out []cpuReader
	for _, m := range of {
		for _, h := range o.hostsOf(m) {
			one := cpuReader{host: h.Name, read: unread}
			if h.Local {
				one = cpuReader{host: LocalKernel, read: o.readHere}
			} else if c := m.AgentOn(h.Name); c != nil {
				one.read = c.CPU
			}
			if !slices.ContainsFunc(out, func(c cpuReader) bool { return c.host == one.host }) {
				out = append(out, one)
			}
		}
	}
	return out
}

// readHere reads this machine. The collector of the same source tells, once, why that
// cannot be done.
func (o *Observer) readHere(context.Context) (string, observe.Sample, error) {
	s, err := o.cpu.Read()
	return LocalKernel, s, err
}

// errUnread is why nothing is known of a host.
var errUnread = errors.New("no agent of the path runs there")

func unread(context.Context) (string, observe.Sample, error) { return unknown, nil, errUnread }

// mark is the CPU time of a machine at one moment.
type mark struct {
	kernel string
	sample observe.Sample
}

// marks reads the CPU time of machines, side by side.
func marks(ctx context.Context, readers []cpuReader) []mark {
	out := make([]mark, len(readers))
	var wg sync.WaitGroup
	for i, one := range readers {
		wg.Go(func() {
			kernel, s, err := one.read(ctx)
			switch {
			case err == nil:
				out[i] = mark{kernel, s}
			case one.host == LocalKernel:
				out[i] = mark{LocalKernel, nil}
			default:
				out[i] = mark{unknown, nil}
			}
		})
	}
	wg.Wait()
	return out
}

// Meter does a part of a trial, and gives what the machines of its mode's hosts worked
// meanwhile.
func (t *Trial) Meter(ctx context.Context, do func()) CPUTime {
	return t.observer.metered(ctx, t.observer.readers(t.Mode), do)
}

// metered does something, and gives what each machine worked meanwhile. Two hosts on one
// machine are counted once.
func (o *Observer) metered(ctx context.Context, readers []cpuReader, do func()) CPUTime {
	from := marks(ctx, readers)
	do()
	to := marks(ctx, readers)
	join(from, to)
	w := CPUTime{}
	for i := range from {
		kernel := from[i].kernel
		if to[i].kernel != kernel {
			kernel, from[i].sample = unknown, nil
		}
		if o.kernels == nil {
			o.kernels = map[string]string{}
		}
		o.kernels[readers[i].host] = kernel
		if seen := slices.ContainsFunc(from[:i], func(m mark) bool { return m.kernel == kernel }); !seen {
			var s observe.CPUTime
			s.Add(from[i].sample, to[i].sample)
			w[kernel] = s
		}
	}
	return w
}

// join has an agent's reading of this very machine count as this machine's own, where
// both were read.
func join(all ...[]mark) {
	for _, m := range all {
		if !slices.ContainsFunc(m, func(m mark) bool { return m.kernel == LocalKernel }) {
			continue
		}
		own := netstack.Boot("/proc")
		for i := range m {
			if own != "" && m[i].kernel == own {
				m[i].kernel = LocalKernel
			}
		}
	}
}

// kernelOf is the machine of a host, as readers last found it.
func (o *Observer) kernelOf(h driver.Host) string {
	if h.Local {
		return o.kernels[LocalKernel]
	}
	return o.kernels[h.Name]
}
