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

// path is a mode that stands, with the notes taken while it was built.
type path struct {
	pathspec.Path
	kind
	lab      *lab.Lab
	kernel   kernel.Kernel
	accel    string
	whyAccel string
	passt    string // the program

	mu       sync.Mutex
	machines []*guest.Machine   // one a pair, or one
	helpers  []*process.Process // passt, one a machine
	ports    []port
	gateway  *guest.Stack // where connections are tracked
}

// port is a port of a host at which one process alone may listen.
type port struct {
	number uint16
	who    string
	pid    int
}

// about is what the guest is.
func (p *path) about() []result.Fact {
	m := p.machines[0]
	accel := m.Accel
	if p.whyAccel != "" {
		accel += " (" + p.whyAccel + ")"
	}
	cpu := m.Hello.CPU
	if m.Accel == guest.TCG {
		cpu += ", emulated by QEMU: its speed says nothing of a real one's"
	}
	out := []result.Fact{
		{Name: "guest kernel", Value: m.Hello.Kernel}, {Name: "guest CPU", Value: cpu}, {Name: "guest CPUs", Value: "1"},
		{Name: "accelerator", Value: accel}, {Name: "adapter", Value: p.model.Device},
	}
	if version, err := versionOf(guest.Emulator); err == nil {
		out = append(out, result.Fact{Name: "QEMU", Value: strings.TrimPrefix(version, "QEMU emulator version ")})
	}
	if p.attach == passt {
		if version, err := versionOf(p.passt); err == nil {
			out = append(out, result.Fact{Name: "passt", Value: strings.TrimPrefix(version, "passt ")})
		}
	}
	return out
}

// versionOf is the first line of what a program says of its version.
func versionOf(program string) (string, error) {
	out, err := exec.Command(program, "--version").Output() //nolint:noctx // it prints and ends
	line, _, _ := strings.Cut(string(out), "\n")
	return line, err
}

// Lab is the lab that the path is on, for tests that cut across it.
func (p *path) Lab() *lab.Lab { return p.lab }

// emulated says which part of the path an emulated CPU runs, empty for none.
func (p *path) emulated() string {
	if p.accel != guest.TCG {
		return ""
	}
	return "the guest (" + p.whyAccel + ")"
}

// processes are the processes that the mode has on this machine.
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

// forget empties the connection tracking of the guest that has it.
func (p *path) forget(ctx context.Context) error {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.FlushTracked(ctx)
}

// owned says whether it is this path's processes that listen at its ports of the host.
func (p *path) owned() error {
	for _, at := range p.ports {
		if err := at.owned(p.lab.A.NS); err != nil {
			return err
		}
	}
	return nil
}

// owned is an error if another process than the one expected listens at a port.
func (x port) owned(ns *linuxnet.NS) error {
	pids, err := ns.Listeners(x.number)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if pid != x.pid {
			return fmt.Errorf("at port %d of host a process %d listens, and not %s (%d) alone", x.number, pid, x.who, x.pid)
		}
	}
	if len(pids) == 0 {
		return fmt.Errorf("at port %d of host a %s (%d) does not listen any more", x.number, x.who, x.pid)
	}
	return nil
}

// close switches the guests off and takes the lab down.
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

// hostA is the network stack of host a.
func (p *path) hostA() pathspec.Place {
	return pathspec.Place{At: p.lab.A.Name, Host: p.lab.A.Name, Stack: pathspec.NamespaceStack{NS: p.lab.A.NS}}
}
