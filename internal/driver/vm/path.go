//go:build linux

package vm

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"tare/internal/driver/pathspec"
	"tare/internal/guest"
	"tare/internal/guest/kernel"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/result"
)

// path is a mode that is set up, with its specification.
type path struct {
	pathspec.Path
	kind
	lab      *lab.Lab
	kernel   kernel.Kernel
	accel    string
	whyAccel string
	passt    string // the program

	mu       sync.Mutex
	machines []*guest.Machine   // one for each pair, or one
	helpers  []*process.Process // passt, one for each machine
	ports    []port
	gateway  *guest.Stack // where connections are tracked
}

// port is a port of a host on which only one process may listen.
type port struct {
	number uint16
	who    string
	pid    int
}

// about returns the facts about the guest.
func (p *path) about() []result.Fact {
	m := p.machines[0]
	accel := m.Accel
	if p.whyAccel != "" {
		accel += " (" + p.whyAccel + ")"
	}
	cpu := m.Hello.CPU
	if m.Accel == guest.TCG {
		cpu += ", emulated by QEMU; its speed does not tell how fast a real one is"
	}
	out := []result.Fact{
		result.Deciding("guest kernel", m.Hello.Kernel), result.Deciding("guest CPU", cpu), {Name: "guest CPUs", Value: "1"},
		{Name: "accelerator", Value: accel}, {Name: "adapter", Value: p.model.Device},
	}
	if version, err := versionOf(guest.Emulator); err == nil {
		out = append(out, result.Deciding("QEMU", strings.TrimPrefix(version, "QEMU emulator version ")))
	}
	out = append(out, result.Fact{Name: "QEMU user", Value: m.User}, result.Fact{Name: "QEMU sandbox", Value: m.Sandbox})
	if p.attach == passt {
		if version, err := versionOf(p.passt); err == nil {
			out = append(out, result.Deciding("passt", strings.TrimPrefix(version, "passt ")))
		}
	}
	return out
}

// versionOf returns the first line of a program's version output.
func versionOf(program string) (string, error) {
	out, err := exec.Command(program, "--version").Output() //nolint:noctx // it prints and ends
	line, _, _ := strings.Cut(string(out), "\n")
	return line, err
}

// Lab returns the lab of the path, for tests that interrupt the path.
func (p *path) Lab() *lab.Lab { return p.lab }

// emulated returns which part of the path an emulated CPU runs, empty for none.
func (p *path) emulated() string {
	if p.accel != guest.TCG {
		return ""
	}
	return "the guest (" + p.whyAccel + ")"
}

// processes returns the mode's processes on this machine.
func (p *path) processes() []int {
	var out []int
	for _, m := range p.machines {
		out = append(out, m.PID())
	}
	for _, h := range p.helpers {
		out = append(out, h.PID())
	}
	return out
}

// forget flushes the connection tracking of the guest that uses it.
func (p *path) forget(ctx context.Context) error {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.FlushTracked(ctx)
}

// owned checks that only this path's processes listen on its ports of the host.
func (p *path) owned() error {
	for _, at := range p.ports {
		if err := at.owned(p.lab.A.NS); err != nil {
			return err
		}
	}
	return nil
}

// owned returns an error if another process than the expected one listens on a port.
func (x port) owned(ns *linuxnet.NS) error {
	pids, err := ns.Sockets().Listeners(x.number)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if pid != x.pid {
			return fmt.Errorf("process %d listens on port %d of host a, where only %s (%d) may listen", pid, x.number, x.who, x.pid)
		}
	}
	if len(pids) == 0 {
		return fmt.Errorf("%s (%d) no longer listens on port %d of host a", x.who, x.pid, x.number)
	}
	return nil
}

// close stops the guests and removes the lab.
func (p *path) close(context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, len(p.machines)+len(p.helpers))
	for i, m := range p.machines {
		wg.Go(func() { errs[i] = m.Close() })
	}
	for i, h := range p.helpers {
		wg.Go(func() { errs[len(p.machines)+i] = h.Kill() })
	}
	wg.Wait()
	if p.lab != nil {
		errs = append(errs, p.lab.Close())
	}
	return errors.Join(errs...)
}

// hostA returns the network stack of host a.
func (p *path) hostA() pathspec.Place {
	return pathspec.Place{At: p.lab.A.Name, Host: p.lab.A.Name, Stack: pathspec.NamespaceStack{NS: p.lab.A.NS}}
}
