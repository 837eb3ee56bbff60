// Package evidence reads the evidence around a trial: the CPU time of the machines, their
// pressure and memory, the processes of a mode, the counters of the network stacks on its
// path, the kernel's drop reasons, and the stacks that used CPU time. It neither
// schedules trials nor drives traffic; the runner calls it before, during and after them.
package evidence

import (
	"context"
	"slices"

	"tare/internal/driver"
	"tare/internal/facts"
	"tare/internal/observe"
	"tare/internal/observe/idle"
	"tare/internal/observe/netstack"
	"tare/internal/observe/stacks"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// Config configures an observer.
type Config struct {
	Run   string         // id of the run, which labels everything that it creates
	PID   int            // all its descendants belong to the run
	Asked study.Evidence // evidence that the study asks for
	Hosts []driver.Host  // of the run, before any path is set up
	// Warn reports what could not be observed, each warning once.
	Warn func(code warning.Code, scope, format string, args ...any)
	// AppendFile appends to a file in the run's directory: folded stacks.
	AppendFile func(name string, data []byte) error
	// CPU reads the CPU time of this machine, Watch its counters around trials, and Proc is
	// its procfs. OpenDrops and OpenStacks open what records the kernel's drop reasons and
	// samples stacks. Zero values use those of this machine.
	CPU        observe.Collector
	Watch      *observe.CollectorSet
	Proc       string
	OpenDrops  func() (DropWatcher, error)
	OpenStacks func() (StackSampler, error)
}

// Agent reads another machine through an agent of the run.
type Agent interface {
	// CPU returns the boot id of the machine's kernel and its CPU time: two hosts may be
	// one machine.
	CPU(ctx context.Context) (kernel string, s observe.Sample, err error)
	// Read reads memory and pressure of the machine.
	Read(ctx context.Context) (netstack.Reading, error)
}

// Mode is the mode of a trial.
type Mode interface {
	// Path is nil while the mode is not set up.
	Path() *driver.Path
	// AgentOn returns an agent of the mode that runs on a host, nil if there is none.
	AgentOn(host string) Agent
}

// Observer reads the evidence around the trials of one run. It is not safe for concurrent
// use.
type Observer struct {
	cfg            Config
	watch          *observe.CollectorSet
	cpu            observe.Collector // of this machine, read before and after each part of a trial
	idleTimes      *idle.Reader      // what cpu reads, nil if there is none
	drops          DropWatcher       // nil if drop reasons are not recorded
	noStacks       string            // why stacks cannot be sampled here; empty if they may be
	idle           []idlePeriod      // the waits before trials that baselines need, in order
	kernels        map[string]string // boot ids of the hosts' machines, as last read
	missingCPUCost int               // trials with unknown CPU cost
	firstMissing   string            // the first of them, and why
}

// New returns the observer of a run.
func New(cfg Config) *Observer {
	o := &Observer{cfg: cfg, watch: cfg.Watch, cpu: cfg.CPU}
	if o.watch == nil {
		o.watch = observe.NewCollectorSet(o.collectors())
	}
	if o.cpu == nil {
		o.idleTimes, _ = idle.Open("/sys") // without it, idle time has steps of 10 ms
		o.cpu = observe.NewCPU("/proc").WithIdle(o.idleTimes)
	}
	if o.cfg.Proc == "" {
		o.cfg.Proc = "/proc"
	}
	if o.cfg.OpenDrops == nil {
		o.cfg.OpenDrops = openDrops
	}
	if o.cfg.OpenStacks == nil {
		o.cfg.OpenStacks = func() (StackSampler, error) { return stacks.Open("/proc", o.ownProcesses()) }
	}
	return o
}

// collectors are those of this machine. They recognise the run's own processes by its
// process and its id. An existing engine also works for the run.
func (o *Observer) collectors() []observe.Collector {
	own := o.ownProcesses()
	own.MemoryGroups = facts.MemoryGroups("/")
	all := observe.Collectors("/proc", own)
	if !o.counts() {
		all = slices.DeleteFunc(all, func(c observe.Collector) bool { return slices.Contains([]string{"pressure", "memory"}, c.Name()) })
	}
	return all
}

// ownProcesses defines which processes of this machine belong to the run.
func (o *Observer) ownProcesses() observe.Own {
	return observe.Own{PID: o.cfg.PID, Run: o.cfg.Run, Programs: driver.HostInfo{Hosts: o.cfg.Hosts}.Programs()}
}

// counts reports whether the study asks for counters.
func (o *Observer) counts() bool { return o.cfg.Asked.Counters != study.Off }

// local reports whether all hosts of the run are this machine.
func (o *Observer) local() bool { return driver.AllLocal(o.cfg.Hosts) }

// hostsOf are the hosts of a mode's path, or those of the run if it has none.
func (o *Observer) hostsOf(m Mode) []driver.Host {
	if p := m.Path(); p != nil {
		return p.Hosts
	}
	return o.cfg.Hosts
}

// Trial is one trial and the evidence read around it. Its methods write to the trial's
// record.
type Trial struct {
	Planned plan.Trial
	Mode    Mode
	Record  *result.Trial
	Failed  func() bool // so far; a failed trial gets little evidence
	// Window is what was observed of this machine around the trial, and around the trials
	// interleaved with it if Shared is set.
	Window  observe.Window
	Shared  bool
	CPUTime CPUTime // of the machines, in the trial's own time

	observer *Observer
	kernels  endKernels // of the machines of its endpoints
	drops    *flowDrops // drop reasons, nil if unknown
	stacks   []stackReading
	// readAfter tells that the counters of the stacks were read after the trial.
	readAfter bool
}

// Trial begins to observe a trial that has not started.
func (o *Observer) Trial(t plan.Trial, of Mode, record *result.Trial, failed func() bool) *Trial {
	return &Trial{Planned: t, Mode: of, Record: record, Failed: failed, observer: o}
}

// Local reports whether one of the trial's hosts is this machine, so that this machine's
// counters apply to the trial.
func (t *Trial) Local() bool { return anyLocal(t.observer.hostsOf(t.Mode)) }

func anyLocal(hosts []driver.Host) bool {
	return slices.ContainsFunc(hosts, func(h driver.Host) bool { return h.Local })
}

// Counted reports whether the study asks for counters.
func (t *Trial) Counted() bool { return t.observer.counts() }

// setMachine records a metric of the machine.
func (t *Trial) setMachine(name string, v float64) {
	if t.Record.Machine == nil {
		t.Record.Machine = map[string]float64{}
	}
	t.Record.Machine[name] = v
}

// ObserveGroup calls do for trials that run together, reads the machines of all their
// hosts before and after, and records drop reasons meanwhile.
func (o *Observer) ObserveGroup(ctx context.Context, trials []*Trial, do func()) {
	after := o.pressure(ctx, trials)
	o.recordDrops(trials, do)
	after()
}

// MissingCPUCost is the number of trials with unknown CPU cost, and the first of them, with
// the reason.
func (o *Observer) MissingCPUCost() (n int, first string) { return o.missingCPUCost, o.firstMissing }
