package private

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/study"
)

// firewallFlag is known to engines from 29 on, and directFlag to those from 28.2 on.
const (
	firewallFlag = "--firewall-backend"
	directFlag   = "--allow-direct-routing"
)

// flags returns the arguments of dockerd for the settings.
func (c Config) flags() []string {
	var flags []string
	if c.Firewall != "" && !c.oldDefault() {
		flags = append(flags, firewallFlag+"="+c.Firewall)
	}
	if c.LiveRestore {
		flags = append(flags, "--live-restore")
	}
	if c.NoProxy {
		flags = append(flags, "--userland-proxy=false")
	}
	switch c.DirectRouting {
	case study.On:
		flags = append(flags, directFlag)
	case study.Off:
		flags = append(flags, directFlag+"=false")
	}
	return append(flags, c.Args...)
}

// oldDefault reports whether the setting is what an engine without a choice does anyway.
func (c Config) oldDefault() bool { return c.Firewall == study.FirewallIptables }

// explain adds to the error of an engine that did not start what to do about it.
func (c Config) explain(err error) error {
	if c.Firewall != "" && strings.Contains(err.Error(), "unknown flag: "+firewallFlag) {
		return fmt.Errorf("it has no firewall backend %s (%w); name an engine of version 29 or later in engine: lab", c.Firewall, err)
	}
	if c.DirectRouting != "" && strings.Contains(err.Error(), "unknown flag: "+directFlag) {
		return fmt.Errorf("it has no option %s (%w); leave out direct_routing, or name an engine of version 28.2 or later in engine: lab", directFlag, err)
	}
	return err
}

// unknownTimeNamespace is in the error of runc before 1.2 for a container of an engine from 29 on, which
// names a kind of namespace that it does not know.
const unknownTimeNamespace = `namespace {"time"`

// Explain adds to an error of the engine that its runc is too old for it, or that a sandbox of gVisor
// cannot be created here, if that is the cause.
func (p *Engine) Explain(err error) error {
	if err != nil && p.Runsc != "" && strings.Contains(err.Error(), "OCI runtime") {
		return fmt.Errorf("gVisor could not start a sandbox (%w); it needs CAP_SYS_ADMIN, ptrace(2) and seccomp(2): try %s --platform=systrap do true", oneLine(err), p.Runsc)
	}
	if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), unknownTimeNamespace) {
		return err
	}
	return fmt.Errorf("runc %s is too old for Docker Engine %s (%w); put runc 1.2 or newer beside %s", p.Versions.Runc, p.Versions.Engine, err, p.Program)
}

// program returns the executable of the engine's dockerd, the only child of its first process that
// is no container's.
func (p *Engine) program() (string, error) {
	pid, err := p.pidInside() // whose id the engine's /proc shows
	if err != nil {
		return "", err
	}
	exe, err := os.Readlink(filepath.Join(p.init.root(), "proc", strconv.Itoa(pid), "exe"))
	if err != nil {
		return "", fmt.Errorf("find which dockerd runs: %w", err)
	}
	return exe, nil
}

// check returns an error unless the engine that answers is the configured one.
func (c Config) check(p *Engine, dockerd string) error {
	want, err := filepath.EvalSymlinks(dockerd)
	if err != nil {
		return err
	}
	if p.Program != want {
		return fmt.Errorf("the engine that answers is %s, not %s", p.Program, want)
	}
	return nil
}

// checkFirewall returns an error unless the engine uses the configured backend for its rules.
func (c Config) checkFirewall(p *Engine) error {
	if c.Firewall == "" {
		return nil
	}
	if got := p.Firewall(); got != c.Firewall {
		return fmt.Errorf("the engine reports the firewall backend %q, not %s", got, c.Firewall)
	}
	return nil
}

// Firewall returns the backend of the engine's rules. Engines before 29 have iptables only and do
// not report it.
func (p *Engine) Firewall() string {
	switch got := p.Versions.Firewall; {
	case got == "":
		return study.FirewallIptables
	case slices.Contains([]string{study.FirewallIptables, study.FirewallNftables}, got):
		return got
	default:
		name, _, _ := strings.Cut(got, "+") // iptables+firewalld
		return name
	}
}

// oneLine returns an error with the same text in one line.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
