package stacks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/observe"
)

// Sampler samples the stacks of all CPUs of a machine. It is for one Start and one
// Stop, by one goroutine, and has to be closed.
type Sampler struct {
	procRoot string
	own      observe.Own
	symbols  *symbols
	before   map[int]observe.Program
	rings    []*ring

	mu      sync.Mutex // of tally
	tally   tally
	began   time.Time
	stop    chan struct{} // closed to end the reader; nil unless started
	stopped sync.WaitGroup
}

// drainEvery is how often what was sampled is taken out of the kernel's buffers, which
// have room for some times as much.
const drainEvery = 200 * time.Millisecond

// Open gets ready to sample and samples nothing yet. What procRoot and own are, see
// [observe.Collectors]. Errors wrap [ErrUnavailable]: no right, no perf events, no names
// of the kernel's functions, no process table.
func Open(procRoot string, own observe.Own) (*Sampler, error) {
	s := &Sampler{procRoot: procRoot, own: own, tally: tally{counts: map[string]int{}}}
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
	s.before, err = observe.Classify(s.procRoot, s.own)
	return err
}

// online lists the CPUs that are, from /sys, or as many as the program may use where
// that is hidden.
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

// cpuList reads a list as 0-3,8.
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
			return nil, fmt.Errorf("%q is no list of CPUs", text)
		}
		for cpu := first; cpu <= last; cpu++ {
			out = append(out, cpu)
		}
	}
	return out, nil
}

// Start begins to sample. A part of the CPUs is never sampled alone: on error none is.
func (s *Sampler) Start() error {
	s.began = time.Now()
	for _, r := range s.rings {
		if err := r.enable(); err != nil {
			return errors.Join(err, s.disable())
		}
	}
	s.stop = make(chan struct{})
	s.stopped.Add(1)
	go func() {
		defer s.stopped.Done()
		tick := time.NewTicker(drainEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.drain()
			case <-s.stop:
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

func (s *Sampler) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rings {
		r.read(s.tally.take)
	}
}

// Pause ends the sampling and nothing else: it takes microseconds, and may come while a
// trial is still timed. [Sampler.Stop] then works on what there is.
func (s *Sampler) Pause() (time.Duration, error) {
	long := time.Since(s.began)
	return long, s.disable()
}

// Stop ends the sampling, unless Pause has, and puts names to what was sampled in so
// long, which takes some 10 ms. The sampled processes should still be there, or have
// been when the Sampler was opened: others are taken for strangers.
func (s *Sampler) Stop(long time.Duration) (Profile, error) {
	err := s.disable()
	s.halt()
	s.drain()
	if err := errors.Join(err, s.tally.broken); err != nil {
		return Profile{}, fmt.Errorf("sample stacks: %w", err)
	}
	programs, err := observe.Classify(s.procRoot, s.own)
	if err != nil {
		return Profile{}, fmt.Errorf("sample stacks: %w", err)
	}
	for pid, p := range s.before {
		if _, there := programs[pid]; !there {
			programs[pid] = p
		}
	}
	out := s.tally.sampled(names{kernel: s.symbols, programs: programs, outside: len(s.own.Programs) > 0, function: function, own: s.ownBinary(programs)})
	out.CPUs, out.Elapsed = len(s.rings), long
	return out, nil
}

func (s *Sampler) halt() {
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
		s.stopped.Wait()
	}
}

// Close lets go of everything. It may be called twice.
func (s *Sampler) Close() error {
	s.halt()
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.close())
	}
	s.rings = nil
	return errors.Join(errs...)
}

// function names a function of this program's own binary.
func function(address uint64) string {
	if f := runtime.FuncForPC(uintptr(address)); f != nil {
		return f.Name()
	}
	return ""
}

// ownBinary tells which agents run this very binary at the same addresses, so that this
// program's table of functions is theirs, too. In a container it is another file of the
// same size. It is nil for a binary that is loaded anywhere.
func (s *Sampler) ownBinary(programs map[int]observe.Program) func(int) bool {
	self, err := os.Stat(filepath.Join(s.procRoot, "self", "exe"))
	if err != nil || reflect.ValueOf(Open).Pointer() > 1<<32 {
		return nil
	}
	known := map[int]bool{}
	return func(pid int) bool {
		if own, ok := known[pid]; ok {
			return own
		}
		p := programs[pid].Relation
		if p == observe.Agent || p == observe.Self {
			its, err := os.Stat(filepath.Join(s.procRoot, strconv.Itoa(pid), "exe"))
			known[pid] = err == nil && its.Size() == self.Size()
		} else {
			known[pid] = false
		}
		return known[pid]
	}
}
