package traffic

import (
	"cmp"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic/thread"
)

// Params are the parameters of one endpoint of a trial: those of its workload, which study declares,
// and what belongs to the endpoint and the trial. Address is where to listen or what to dial. A peer
// without Token is refused.
type Params struct {
	// Workload has the keys that the workload takes. Streams is also the number of flows, a Rate of 0 is
	// unlimited, and Tool is empty for the built-in generator: see ParamsOf.
	study.Workload `json:"workload"`

	Address string `json:"address"`
	// Host is what requests of HTTP name as their host instead of Address: by it a proxy finds the server,
	// which then counts requests with X-Forwarded-For. Empty without such a proxy.
	Host  string `json:"host,omitempty"`
	Token string `json:"token"`
	CPU   int    `json:"cpu"` // to pin to, -1 for none

	// The times of this transfer: those of the workload, or of a part of it such as one slice.
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	Slice    time.Duration `json:"slice,omitempty"`  // 0 runs the trial in one piece
	Rounds   int           `json:"rounds,omitempty"` // number of slices, 0 without slices
	Limit    time.Duration `json:"limit,omitempty"`  // the trial fails after this time; 0 is Warmup + Duration + 10 s

	// Progress is the interval of progress messages from the endpoint that counts, at least
	// MinProgressInterval; 0 sends none.
	Progress time.Duration `json:"progress,omitempty"`
	Meter    *Meter        `json:"-"` // nil if progress is not requested

	// EventClock is that of a client whose trial has an event, else nil.
	EventClock *EventClock `json:"-"`
}

// ParamsOf are the parameters of a workload of a resolved study, without what belongs to one endpoint or
// trial.
func ParamsOf(w study.Workload) Params {
	w.Streams = cmp.Or(w.Streams, w.Flows)
	if w.Rate == quantity.Unlimited || w.PacketRate > 0 {
		w.Rate = 0
	}
	if w.Tool == study.BuiltIn {
		w.Tool = ""
	}
	return Params{Workload: w, Warmup: w.Warmup.Std(), Duration: w.Duration.Std()}
}

// Reverse reports whether the server alone sends the payload.
func (p Params) Reverse() bool { return p.Direction == study.Reverse }

// Both reports whether both endpoints send payload at once.
func (p Params) Both() bool { return p.Direction == study.Both }

// Spins reports whether a sender with a schedule polls the clock until its next slot instead of sleeping.
func (p Params) Spins() bool { return p.Wait == study.Spin }

// RealTime reports whether the threads have real-time priority (SCHED_FIFO).
func (p Params) RealTime() bool { return p.Scheduling == study.FIFOScheduling }

// Pinned is the CPU that the endpoint is pinned to, nil for none.
func (p Params) Pinned() *int {
	if p.CPU < 0 {
		return nil
	}
	cpu := p.CPU
	return &cpu
}

// Threading returns how the endpoint's threads run.
func (p Params) Threading() thread.Settings {
	return thread.Settings{CPU: p.CPU, FIFO: p.RealTime(), Spin: p.Spins()}
}
