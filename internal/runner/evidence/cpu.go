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

// CPUTime is the CPU time of machines in windows, by the boot ids of their kernels. If
// both endpoints are on this machine, there is one entry.
type CPUTime map[string]observe.CPUTime

// Here is the id of this machine, which the collector reads; unknown is the id of a
// machine that could not be read.
const (
	LocalKernel = ""
	unknown     = "unknown"
)

// Plus returns the sum of both.
func (w CPUTime) Plus(o CPUTime) CPUTime {
	sum := CPUTime{}
	for _, one := range []CPUTime{w, o} {
		for kernel, s := range one {
			sum[kernel] = sum[kernel].Plus(s)
		}
	}
	return sum
}

// busySeconds is the CPU time of all machines minus their idle baselines in these
// windows. idle returns the baseline of a machine in busy CPUs.
func (w CPUTime) busySeconds(idle func(kernel string) (float64, error)) (net, resolution float64, err error) {
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
	// read returns the boot id of the host's kernel and the sample: two hosts may be one
	// machine.
	read func(ctx context.Context) (kernel string, s observe.Sample, err error)
}

// readers returns one reader for each host of the modes; all hosts that are this machine
// share one. A host on another machine without an agent of the path cannot be read. The
// CPU time of a guest is a part of this machine's, if this system counts it so.
func (o *Observer) readers(of ...Mode) []cpuReader {
	var out []cpuReader
	for _, m := range of {
		for _, h := range o.hostsOf(m) {
			one := cpuReader{host: h.Name, read: readNothing}
			if h.Local || h.Guest && observe.CountsGuests() {
				one = cpuReader{host: LocalKernel, read: o.readHere}
			} else if h.Guest {
				one.read = readGuest
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

// readHere reads this machine. If that fails, the collector of the same source reports
// the reason once.
func (o *Observer) readHere(context.Context) (string, observe.Sample, error) {
	s, err := o.cpu.Read()
	return LocalKernel, s, err
}

// errNoAgent is the reason why a host could not be read.
var errNoAgent = errors.New("no agent of the path runs there")

// errGuest is the reason why the CPU time of a guest is not added to that of this machine.
var errGuest = errors.New("this system does not tell whether its CPU time contains that of a virtual machine")

func readGuest(context.Context) (string, observe.Sample, error) { return unknown, nil, errGuest }

func readNothing(context.Context) (string, observe.Sample, error) { return unknown, nil, errNoAgent }

// mark is the CPU time of a machine at one moment.
type mark struct {
	kernel string
	sample observe.Sample
}

// marks reads the CPU time of machines in parallel.
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

// Meter runs a part of a trial, and returns the CPU time of the machines of its mode's
// hosts meanwhile.
func (t *Trial) Meter(ctx context.Context, do func()) CPUTime {
	return t.observer.metered(ctx, t.observer.readers(t.Mode), do)
}

// metered calls do, and returns the CPU time of each machine meanwhile. Two hosts on one
// machine count once.
func (o *Observer) metered(ctx context.Context, readers []cpuReader, do func()) CPUTime {
	from := marks(ctx, readers)
	do()
	to := marks(ctx, readers)
	mergeLocal(from, to)
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

// mergeLocal merges an agent's reading of this machine with this machine's own reading if
// both exist.
func mergeLocal(all ...[]mark) {
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

// kernelOf is the boot id of a host's machine, as last read.
func (o *Observer) kernelOf(h driver.Host) string {
	if h.Local || h.Guest {
		return o.kernels[LocalKernel]
	}
	return o.kernels[h.Name]
}
