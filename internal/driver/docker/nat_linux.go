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
)

// nat reads the address translation of a host, as the program that its engine used
// to write it sees it.
func (s *side) nat(ctx context.Context) ([]natRule, error) {
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, "iptables-save", "-c", "-t", "nat")
	cmd.Stdout, cmd.Stderr = &out, &words
	err := s.ns.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return nil, fmt.Errorf("read the address translation of host %s: %w: %s", s.At, err, strings.TrimSpace(words.String()))
	}
	rules, err := parseNAT(out.String())
	if err != nil {
		return nil, fmt.Errorf("read the address translation of host %s: %w", s.At, err)
	}
	return rules, nil
}

// translation is the rules of a host's nat table that a proof looks at.
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

// dnat names the counter of what a published port's rules have met.
func dnat(s *side, port uint16) string {
	return pathspec.CounterName(s.At, fmt.Sprintf("dnat:%d", port), "packets")
}

// masqueraded names the counter of what left the default bridge in disguise.
func masqueraded(s *side) string { return pathspec.CounterName(s.At, docker0+".masquerade", "packets") }

// translated has the counters of the rules read around each trial, and makes sure
// that they are there now: what is missing shows a mode that is not what it says.
func (p *path) translated(ctx context.Context, t translation) error {
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

// read reads the counters. A rule that has gone has none, which no proof lets pass.
func (t translation) read(ctx context.Context, into driver.Counters) (missing string, err error) {
	rules, err := t.side.nat(ctx)
	if err != nil {
		return "", err
	}
	for _, w := range t.ports {
		found := published(rules, w.port, w.to)
		if len(found) == 0 {
			missing = fmt.Sprintf("find the rule that leads port %d of host %s to %s: the nat table has none", w.port, t.side.At, w.to)
			continue
		}
		into[dnat(t.side, w.port)] = packets(found)
	}
	if !t.masquerade {
		return missing, nil
	}
	found := masquerading(rules, docker0)
	if len(found) == 0 {
		return fmt.Sprintf("find the rule that masquerades what leaves %s of host %s: the nat table has none", docker0, t.side.At), nil
	}
	into[masqueraded(t.side)] = packets(found)
	return missing, nil
}
