// Package evidence reads what is known around a trial beside its own figures: the CPU
// time of the machines, what they were short of, the processes of a mode, the counters
// of the network stacks on its path, why the kernel dropped what was sent, and the
// stacks that CPU time went to. It schedules nothing and drives no traffic: whoever does
// calls it before, around and after.
package evidence

import (
	"context"
	"slices"

	"tare/internal/driver"
	"tare/internal/facts"
	"tare/internal/observe"
	"tare/internal/observe/drops"
	"tare/internal/observe/netstack"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// Config is what an observer needs to know of its run.
type Config struct {
	Run   string         // its id, which everything of the run carries
	PID   int            // the process below which everything is the run's own
	Asked study.Evidence // which evidence the study asks for
	Hosts []driver.Host  // of the run, before any path is set up
	// Warn tells what could not be observed. It tells the same but once.
	Warn func(code warning.Code, scope, format string, args ...any)
	// AppendFile adds to a file beside the run's own: folded stacks.
	AppendFile func(name string, data []byte) error
	// CPU reads the CPU time of this machine, and Watch all that it does; nil: as the
	// kernel tells them.
	CPU   observe.Collector
	Watch *observe.CollectorSet
}

// Agent is what is asked of a process of the run on another machine.
type Agent interface {
	// CPU gives the boot id of the machine's kernel beside its CPU time: two hosts may be
	// one machine.
	CPU(ctx context.Context) (kernel string, s observe.Sample, err error)
	// Read reads memory and pressure of the machine.
	Read(ctx context.Context) (netstack.Reading, error)
}

// Mode is what a trial is of.
type Mode interface {
	// Path is nil while the mode is not set up.
	Path() *driver.Path
	// AgentOn is an agent of the mode that runs on a host, nil where there is none.
	AgentOn(host string) Agent
}

// Observer reads what is around the trials of one run. It may not be used from several
// goroutines at once.
type Observer struct {
	cfg      Config
	watch    *observe.CollectorSet
	cpu      observe.Collector // of this machine, read at the edges of what a mode does
	drops    *drops.Watcher    // nil where the kernel is not asked for drop reasons
	noStacks string            // why stacks cannot be sampled here; empty while nothing speaks against it
	idle     []idled           // the waits before trials, in order
	kernels  map[string]string // of hosts, as last read: their machines' boot ids
	unbilled []string          // trials of which the CPU cost is unknown, and why
}

// New makes the observer of a run.
func New(cfg Config) *Observer {
	o := &Observer{cfg: cfg, watch: cfg.Watch, cpu: cfg.CPU}
	if o.watch == nil {
		o.watch = observe.NewCollectorSet(o.collectors())
	}
	if o.cpu == nil {
		o.cpu = observe.NewCPU("/proc")
	}
	return o
}

// collectors are those of this machine: what is the run's own is known by its process and by
// its id. An engine that exists works for the run, too.
func (o *Observer) collectors() []observe.Collector {
	own := o.own()
	own.MemoryGroups = facts.MemoryGroups("/")
	all := observe.Collectors("/proc", own)
	if !o.counts() {
		all = slices.DeleteFunc(all, func(c observe.Collector) bool { return slices.Contains([]string{"pressure", "memory"}, c.Name()) })
	}
	return all
}

// own says what is the run's own among the processes of this machine.
func (o *Observer) own() observe.Own {
	return observe.Own{PID: o.cfg.PID, Run: o.cfg.Run, Programs: driver.HostInfo{Hosts: o.cfg.Hosts}.Programs()}
}

// counts is whether the study wants counters as evidence.
func (o *Observer) counts() bool { return o.cfg.Asked.Counters != study.Off }

// local is whether all hosts of the run are this machine.
func (o *Observer) local() bool { return driver.AllLocal(o.cfg.Hosts) }

// hostsOf are the hosts that a mode's path is on, or those of the run where it has none.
func (o *Observer) hostsOf(m Mode) []driver.Host {
	if p := m.Path(); p != nil {
		return p.Hosts
	}
	return o.cfg.Hosts
}

// Trial is one trial and what is read around it. Its methods write to the trial's record
// what belongs there.
type Trial struct {
	Planned plan.Trial
	Mode    Mode
	Record  *result.Trial
	Failed  func() bool // so far; of a trial that has failed hardly anything is read
	// Window is what was observed of this machine around the trial, and around those that
	// it took turns with where it is Shared.
	Window  observe.Window
	Shared  bool
	CPUTime CPUTime // by the machines in its own time

	observer *Observer
	kernels  endKernels // of the machines of its endpoints
	drops    *flowDrops // what the kernel dropped of it, nil where that is not known
	stacks   []stackReading
}

// Trial begins to observe a trial of which nothing has been done yet.
func (o *Observer) Trial(t plan.Trial, of Mode, record *result.Trial, failed func() bool) *Trial {
	return &Trial{Planned: t, Mode: of, Record: record, Failed: failed, observer: o}
}

// Local is whether one of the trial's hosts is this machine, whose counters are then
// those of the trial.
func (t *Trial) Local() bool { return anyLocal(t.observer.hostsOf(t.Mode)) }

func anyLocal(hosts []driver.Host) bool {
	return slices.ContainsFunc(hosts, func(h driver.Host) bool { return h.Local })
}

// Counted is whether the study wants counters as evidence.
func (t *Trial) Counted() bool { return t.observer.counts() }

// figure notes a figure of the machine.
func (t *Trial) figure(name string, v float64) {
	if t.Record.Machine == nil {
		t.Record.Machine = map[string]float64{}
	}
	t.Record.Machine[name] = v
}

// ObserveGroup reads the machines of all hosts of trials before and behind what they do
// together, while the kernel is asked why it drops what they send.
func (o *Observer) ObserveGroup(ctx context.Context, trials []*Trial, do func()) {
	after := o.pressure(ctx, trials)
	o.withDrops(trials, do)
	after()
}

// MissingCPUCost lists the trials of which the CPU cost is unknown, and why.
func (o *Observer) MissingCPUCost() []string { return o.unbilled }
