package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// nat reads a host's address translation rules with the same program that its engine used
// to write them.
func (s *side) nat(ctx context.Context) ([]natRule, error) {
	text, err := s.save(ctx, "nat")
	if err != nil {
		return nil, err
	}
	rules, err := parseNAT(text)
	if err != nil {
		return nil, fmt.Errorf("read the address translation of host %s: %w", s.At, err)
	}
	return rules, nil
}

// save returns a table of a host with its counters, as iptables-save prints it.
func (s *side) save(ctx context.Context, table string) (string, error) {
	text, err := iptables(ctx, s.ns, "iptables-save", "-c", "-t", table)
	if err != nil {
		return "", fmt.Errorf("read the table %s of host %s: %w", table, s.At, err)
	}
	return text, nil
}

// iptables runs a program of iptables in a namespace and returns its output.
func iptables(ctx context.Context, ns *linuxnet.NS, args ...string) (string, error) {
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &words
	err := ns.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(words.String()))
	}
	return out.String(), nil
}

// translation is the part of a host's nat table that is verified.
type translation struct {
	side       *side
	ports      []publishedPort
	masquerade bool // of the default bridge
}

// publishedPort is a port of a host and the address of the container behind it.
type publishedPort struct {
	port uint16
	to   netip.Addr
}

// dnatCounter returns the name of the counter of connections that matched a published port's
// rules.
func dnatCounter(s *side, port uint16) string {
	return pathspec.CounterName(s.At, fmt.Sprintf("dnat:%d", port), "packets")
}

// masqueradeCounter returns the name of the counter of masqueraded connections from the default
// bridge.
func masqueradeCounter(s *side) string {
	return pathspec.CounterName(s.At, docker0+".masquerade", "packets")
}

// watchNAT reads the counters of the rules before and after each trial, and checks that
// the rules exist now: a missing rule means that the mode is not what it claims to be.
func (p *path) watchNAT(ctx context.Context, t translation) error {
	p.AddReader(func(ctx context.Context, into driver.Counters) error {
		_, err := t.read(ctx, into)
		return err
	})
	missing, err := t.read(ctx, driver.Counters{})
	if err == nil && missing != "" {
		err = errors.New(missing)
	}
	return err
}

// read reads the counters. A rule that has disappeared has no counter, which fails
// verification.
func (t translation) read(ctx context.Context, into driver.Counters) (missing string, err error) {
	rules, err := t.side.nat(ctx)
	if err != nil {
		return "", err
	}
	for _, w := range t.ports {
		found := published(rules, w.port, w.to)
		if len(found) == 0 {
			missing = fmt.Sprintf("find the DNAT rule from port %d of host %s to %s: the nat table has none", w.port, t.side.At, w.to)
			continue
		}
		into[dnatCounter(t.side, w.port)] = packets(found)
	}
	if !t.masquerade {
		return missing, nil
	}
	found := masquerading(rules, docker0)
	if len(found) == 0 {
		return fmt.Sprintf("find the masquerade rule for packets from %s of host %s: the nat table has none", docker0, t.side.At), nil
	}
	into[masqueradeCounter(t.side)] = packets(found)
	return missing, nil
}
