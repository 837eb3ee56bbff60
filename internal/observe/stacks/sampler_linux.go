package stacks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/observe"
)

// Sampler samples the stacks of all CPUs of a machine, in one window after another. It is not
// safe for concurrent use, and must be closed.
type Sampler struct {
	procRoot string
	own      observe.Own
	symbols  *symbols
	programs map[int]observe.Program // the latest known of each process
	rings    []*ring

	mu      sync.Mutex // guards into and what it points to
	into    *Samples   // of the current or the last window, nil before the first
	began   time.Time
	stop    chan struct{} // closed to stop the reader; nil unless started
	stopped sync.WaitGroup
}

// drainEvery is the interval at which the kernel's buffers are read; they have space for
// several intervals.
const drainEvery = 200 * time.Millisecond

// Open prepares sampling without starting it. procRoot and own are as in
// [observe.Collectors]. Errors wrap [ErrUnavailable]: no privilege, no perf events, no
// kernel symbols, or no process table.
func Open(procRoot string, own observe.Own) (*Sampler, error) {
	s := &Sampler{procRoot: procRoot, own: own}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnavailable, err), s.Close())
	}
	return s, nil
}

func (s *Sampler) open() error {
	cpus, err := online()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		r, err := openRing(cpu)
		switch {
		case errors.Is(err, unix.ENODEV) && len(cpus) > 1:
			continue // it went offline
		case err != nil:
			return err
		}
		s.rings = append(s.rings, r)
	}
	list := filepath.Join(s.procRoot, "kallsyms")
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.symbols, err = readSymbols(f); err != nil {
		return fmt.Errorf("read %s: %w", list, err)
	}
	s.programs, err = observe.Classify(s.procRoot, s.own)
	return err
}

// online lists the online CPUs from /sys, or as many as the program may use if that is
// hidden.
func online() ([]int, error) {
	const path = "/sys/devices/system/cpu/online"
	text, err := os.ReadFile(path)
	if err != nil {
		cpus := make([]int, runtime.NumCPU())
		for i := range cpus {
			cpus[i] = i
		}
		return cpus, nil
	}
	cpus, err := cpuList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return cpus, nil
}

// cpuList parses a list such as 0-3,8.
func cpuList(text string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err := errors.Join(err, err2); err != nil || first < 0 || last < first || last > 1<<16 {
			return nil, fmt.Errorf("%q is not a CPU list", text)
		}
		for cpu := first; cpu <= last; cpu++ {
			out = append(out, cpu)
		}
	}
	return out, nil
}

// Start starts a window on all CPUs, whose samples are added to into. On error it samples none.
func (s *Sampler) Start(into *Samples) error {
	s.mu.Lock()
	s.drain() // what is left of the window before
	s.into = into
	s.mu.Unlock()
	s.began = time.Now()
	for _, r := range s.rings {
		if err := r.enable(); err != nil {
			return errors.Join(err, s.disable())
		}
	}
	if s.stop != nil {
		return nil
	}
	stop := make(chan struct{}) // not the field, which halt clears while samples are read
	s.stop = stop
	s.stopped.Add(1)
	go func() {
		defer s.stopped.Done()
		tick := time.NewTicker(drainEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.mu.Lock()
				s.drain()
				s.mu.Unlock()
			case <-stop:
				return
			}
		}
	}()
	return nil
}

func (s *Sampler) disable() error {
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.disable())
	}
	return errors.Join(errs...)
}

// drain reads the kernel's buffers. The caller holds mu.
func (s *Sampler) drain() {
	if s.into == nil {
		return
	}
	for _, r := range s.rings {
		r.read(s.into.tally.add)
	}
}

// Pause ends the window and does nothing else: it takes microseconds and may be called during
// the timed part of a trial.
func (s *Sampler) Pause() error {
	err := s.disable()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.into.elapsed += time.Since(s.began)
	return err
}

// Identify reads which process is which program. The sampled processes should exist when it is
// called, or have existed before: others are classified as unrelated. It takes some 10 ms.
func (s *Sampler) Identify() error {
	programs, err := observe.Classify(s.procRoot, s.own)
	if err != nil {
		return fmt.Errorf("sample stacks: %w", err)
	}
	for pid, p := range s.programs {
		if _, there := programs[pid]; !there {
			programs[pid] = p
		}
	}
	s.programs = programs
	return nil
}

// Profile symbolises samples, between two windows.
func (s *Sampler) Profile(of *Samples) (Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain()
	if err := of.tally.broken; err != nil {
		return Profile{}, fmt.Errorf("sample stacks: %w", err)
	}
	out := of.tally.sampled(names{kernel: s.symbols, programs: s.programs, outside: len(s.own.Programs) > 0, function: s.functions(s.programs)})
	out.CPUs, out.Elapsed = len(s.rings), of.elapsed
	return out, nil
}

func (s *Sampler) halt() {
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
		s.stopped.Wait()
	}
}

// Close releases all resources. It may be called twice.
func (s *Sampler) Close() error {
	s.halt()
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.close())
	}
	s.rings = nil
	return errors.Join(errs...)
}
