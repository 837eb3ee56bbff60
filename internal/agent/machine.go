package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/facts"
	"tare/internal/facts/link"
	"tare/internal/observe/netstack"
	"tare/internal/printable"
	"tare/internal/result"
)

// describeMachine replies with the facts of this machine.
func describeMachine(req wire.Request) wire.Reply {
	found := facts.Collect("/")
	m := &wire.Machine{Facts: found.Facts, Warnings: found.Warnings, Existing: found.Existing, BootID: netstack.Boot("/proc")}
	if cpus, err := facts.CPUs("/"); err == nil {
		m.CPUs = cpus
	}
	if req.Address != "" {
		to, err := netip.ParseAddr(req.Address)
		if err != nil {
			return errorReply(req.ID, err)
		}
		m.Device, m.Link = link.Toward(to)
	}
	return wire.Reply{ID: req.ID, Machine: m}
}

// The limits of what an agent may say of its machine: facts and warnings, and characters of
// each.
const (
	maxFacts     = 500
	maxFactName  = 100
	maxFactValue = 2000
)

// Machine describes the machine of the agent and, with an address, its link toward it. The
// facts include by how much its clock is ahead of this machine's. Do not call it while a trial
// is timed.
func (c *Client) Machine(ctx context.Context, toward netip.Addr) (wire.Machine, error) {
	req := wire.Request{Op: wire.OpMachine}
	if toward.IsValid() {
		req.Address = toward.String()
	}
	reply, err := c.callWithTimeout(ctx, req)
	if err == nil && reply.Machine == nil {
		err = fmt.Errorf("agent in %s replied without facts", c.place)
	}
	if err != nil {
		return wire.Machine{}, fmt.Errorf("read the facts of the machine: %w", err)
	}
	m := *reply.Machine
	m.Facts, m.Link = cleanFacts(m.Facts), cleanFacts(m.Link)
	m.Warnings, m.Existing = cleanWarnings(m.Warnings), cleanWarnings(m.Existing)
	m.BootID, m.Device = clean(m.BootID, maxFactName), clean(m.Device, maxFactName)
	boot := m.BootID
	if boot == "" {
		boot = "unknown: the system has none"
	}
	ahead, within, err := c.ClockOffset(ctx)
	if err != nil {
		return m, err
	}
	clock := fmt.Sprintf("%+.6f s ahead of the controller, within %.6f s", ahead.Seconds(), within.Seconds())
	m.Facts = append(m.Facts, result.Fact{Name: "boot_id", Value: boot}, result.Fact{Name: "clock_offset", Value: clock})
	return m, nil
}

// clean makes text of another machine safe to show, and bounds it.
func clean(s string, most int) string {
	if len(s) > 4*most { // Cut looks at the whole text
		s = s[:4*most]
	}
	return printable.Cut(printable.Clean(s), most)
}

func cleanFacts(in []result.Fact) (out []result.Fact) {
	for _, f := range in[:min(len(in), maxFacts)] {
		out = append(out, result.Fact{Name: clean(f.Name, maxFactName), Value: clean(f.Value, maxFactValue)})
	}
	return out
}

func cleanWarnings(in []result.Warning) (out []result.Warning) {
	for _, w := range in[:min(len(in), maxFacts)] {
		out = append(out, result.Warning{Code: clean(w.Code, maxFactName), Scope: clean(w.Scope, maxFactName), Text: clean(w.Text, maxFactValue), Values: cleanValues(w.Values)})
	}
	return out
}

func cleanValues(in result.Values) result.Values {
	var out []string
	for _, v := range in.List() {
		out = append(out, clean(v, maxFactName))
	}
	return result.NewValues(out[:min(len(out), maxValues)]...)
}

// maxValues is how many values a warning has at most.
const maxValues = 8

// clockReadings is the number of readings of a clock, of which the fastest is used.
const clockReadings = 3

// ClockOffset returns by how much the time of day of the agent's machine is ahead of this
// one's, and the largest error of that, which is half the time of a round trip.
func (c *Client) ClockOffset(ctx context.Context) (ahead, within time.Duration, err error) {
	for i := range clockReadings {
		began := time.Now()
		reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpClock})
		took := time.Since(began)
		if err == nil && reply.Time == nil {
			err = errors.New("agent replied without a time")
		}
		if err != nil {
			return 0, 0, fmt.Errorf("read the clock of %s: %w", c.place, err)
		}
		if i == 0 || took/2 < within {
			// Round drops the monotonic reading: only the time of day is compared.
			ahead, within = reply.Time.Sub(began.Round(0).Add(took/2)), took/2
		}
	}
	return ahead, within, nil
}
