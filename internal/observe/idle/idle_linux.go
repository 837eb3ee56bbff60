package idle

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Reader reads the idle time of this machine's CPUs. It has a thread on each CPU until Close. A nil
// Reader reads nothing.
type Reader struct {
	visitors []visitor
	answers  chan answer
	ended    sync.WaitGroup

	mu    sync.Mutex // one Read at a time
	round uint64
}

// visitor is a thread on one CPU.
type visitor struct {
	cpu    int
	states []string    // files with the time of each state
	wake   chan uint64 // the number of the round
}

// answer is what a visitor has read in a round. It is not ok if the visit took too long.
type answer struct {
	round uint64
	ok    bool
	Reading
}

// Open starts a thread on each CPU of the sysfs mounted at sysRoot. The error is ErrNone where there
// is no cpuidle, too many CPUs, or none on which this process may run.
func Open(sysRoot string) (*Reader, error) {
	files, err := filepath.Glob(filepath.Join(sysRoot, "devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*/time"))
	if err != nil {
		return nil, fmt.Errorf("look for the states of cpuidle: %w", err)
	}
	states := map[int][]string{}
	for _, f := range files {
		dir := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(f))))
		if cpu, err := strconv.Atoi(strings.TrimPrefix(dir, "cpu")); err == nil {
			states[cpu] = append(states[cpu], f)
		}
	}
	if len(states) > maxCPUs {
		return nil, fmt.Errorf("%d CPUs are more than %d: %w", len(states), maxCPUs, ErrNone)
	}
	r := &Reader{answers: make(chan answer, 2*len(states))}
	for cpu, files := range states {
		v := visitor{cpu: cpu, states: files, wake: make(chan uint64, 1)}
		pinned := make(chan error)
		r.ended.Go(func() { v.serve(pinned, r.answers) })
		if <-pinned == nil { // else it is offline, or not for this process
			r.visitors = append(r.visitors, v)
		}
	}
	if len(r.visitors) == 0 {
		return nil, ErrNone
	}
	slices.SortFunc(r.visitors, func(a, b visitor) int { return a.cpu - b.cpu })
	return r, nil
}

// serve reads the counters of a CPU on that CPU, once for each round.
func (v visitor) serve(pinned chan<- error, answers chan<- answer) {
	runtime.LockOSThread() // and never unlocked: the thread ends with its affinity
	var set unix.CPUSet
	set.Set(v.cpu)
	err := unix.SchedSetaffinity(0, &set)
	pinned <- err
	if err != nil {
		return
	}
	buf := make([]byte, 32)
	for round := range v.wake {
		a := answer{round: round, Reading: Reading{CPU: v.cpu, From: time.Now()}}
		a.Idle, a.ok = v.read(buf)
		a.To = time.Now()
		a.ok = a.ok && a.To.Sub(a.From) <= maxSpan
		answers <- a
	}
}

// read adds up the times of the CPU's states.
func (v visitor) read(buf []byte) (sum time.Duration, ok bool) {
	for _, file := range v.states {
		us, ok := readNumber(file, buf)
		if !ok {
			return 0, false
		}
		sum += time.Duration(us) * time.Microsecond
	}
	return sum, true
}

// readNumber reads a file with one number. Package os would take twice as long: it tries to wait
// for the file.
func readNumber(file string, buf []byte) (int64, bool) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd) // nothing was written
	if err != nil || n <= 0 {
		return 0, false
	}
	v, err := strconv.ParseInt(string(bytes.TrimSpace(buf[:n])), 10, 64)
	return v, err == nil && v >= 0 && v < math.MaxInt64/int64(time.Microsecond)
}

// Read returns the idle time of the CPUs, in increasing order. A CPU that others kept busy, or whose
// counters cannot be read, is left out. It takes about 50 us on idle CPUs, and 2 ms at most if
// this thread gets to run.
func (r *Reader) Read() []Reading {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round++
	waiting := 0
	for _, v := range r.visitors {
		select {
		case v.wake <- r.round:
			waiting++
		default: // it has not got to run since the last round
		}
	}
	var out []Reading
	late := time.NewTimer(patience)
	defer late.Stop()
	for waiting > 0 {
		select {
		case a := <-r.answers:
			if a.round != r.round {
				continue // the answer of an earlier round, come too late
			}
			waiting--
			if a.ok {
				out = append(out, a.Reading)
			}
		case <-late.C:
			waiting = 0
		}
	}
	slices.SortFunc(out, func(a, b Reading) int { return a.CPU - b.CPU })
	return out
}

// Close ends the threads. Read must not be called after it.
func (r *Reader) Close() {
	if r == nil {
		return
	}
	for _, v := range r.visitors {
		close(v.wake)
	}
	r.ended.Wait()
}
