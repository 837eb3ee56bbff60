//go:build linux

package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// iptables is a pair of installed programs, in a namespace of a run.
type iptables struct {
	claimed       string // the run's id
	ns            *linuxnet.NS
	restore, save string
}

// iptablesTimeout limits one call, on a real CPU. 50,000 rules take a second.
const iptablesTimeout = 60 * time.Second

// iptablesRules prepares rules of a kind that the programs of iptables install. The error says
// if the programs are missing, or what the kernel lacks of what they need.
func (b gateway) iptablesRules(ctx context.Context, kind string) (rules, error) {
	ns := b.ns
	lacks := func(err error) (rules, error) {
		return rules{}, &driver.Unsupported{Mode: b.Mode, Reason: fmt.Sprintf("%s %s: %v", settingRulesKind, kind, err)}
	}
	t, err := findIPTables(ns, kind)
	if err != nil {
		return lacks(err)
	}
	t.claimed = b.OnLab.Spec.Claim.ID
	version, err := t.run(ctx, t.restore, "", "--version")
	if err != nil {
		return lacks(err)
	}
	if kind == kindIPSet {
		if err := ns.Decoys().CreateDecoySet(maxRules); err != nil {
			return lacks(err)
		}
	}
	if err := ns.Decoys().CountDecoyMarks(); err != nil {
		return rules{}, err
	}
	if _, err := t.run(ctx, t.restore, surroundings(kind), "--noflush"); err != nil {
		return lacks(fmt.Errorf("%w; the kernel may lack ip_tables with NAT, MARK or sets (CONFIG_IP_NF_NAT, CONFIG_NFT_COMPAT, CONFIG_NETFILTER_XT_MARK, CONFIG_NETFILTER_XT_SET)", err))
	}
	r := rules{
		title: fmt.Sprintf("%s (%s)", kind, strings.TrimSpace(version)),
		install: func(n int) error {
			batch := n
			if kind == kindNft && !linuxnet.RealRoot() {
				batch = linuxnet.RulesOfBatch() // the program sends all rules up to a COMMIT at once
			}
			_, err := t.run(ctx, t.restore, services(n, batch), "--noflush")
			return err
		},
		count: func() (int, error) {
			saved, err := t.run(ctx, t.save, "", "-t", "nat")
			return strings.Count(saved, "\n-A "+linuxnet.DecoyName+" -d "), err
		},
	}
	if kind == kindIPSet {
		r.install, r.count = ns.Decoys().AddToDecoySet, ns.Decoys().DecoySetEntries
	}
	return r, nil
}

// findIPTables finds the programs for a kind; an IP set is used by whichever iptables the
// machine has.
func findIPTables(ns *linuxnet.NS, kind string) (t iptables, err error) {
	name := kind
	if kind == kindIPSet {
		name = "iptables"
	}
	t.ns = ns
	if t.restore, err = daemon.Find(name + "-restore"); err == nil {
		t.save, err = daemon.Find(name + "-save")
	}
	if err != nil {
		return t, fmt.Errorf("%w; install iptables (Debian: apt-get install iptables)", err)
	}
	return t, nil
}

// surroundings is the input of iptables-restore for what surrounds the rules: the chain that
// the first packet of every connection enters, the mark of those that leave it, and the chain
// for packets to a service.
func surroundings(kind string) string {
	var s strings.Builder
	const chain, target = linuxnet.DecoyName, linuxnet.DecoyTarget
	fmt.Fprintf(&s, "*nat\n:%s - [0:0]\n:%s - [0:0]\n", chain, target)
	fmt.Fprintf(&s, "-A %s -p tcp -j DNAT --to-destination %s\n", target, linuxnet.DecoyBackend())
	if kind == kindIPSet {
		fmt.Fprintf(&s, "-A %s -m set --match-set %s dst,dst -j %s\n", chain, linuxnet.DecoyName, target)
	}
	fmt.Fprintf(&s, "-A PREROUTING -j %s\n-A PREROUTING -j MARK --set-mark %#x\nCOMMIT\n", chain, linuxnet.DecoyMark)
	return s.String()
}

// services is the input of iptables-restore for the rules, one for each service as kube-proxy
// writes it, committed in batches.
func services(n, batch int) string {
	var s strings.Builder
	s.WriteString("*nat\n")
	for i := range n {
		if i > 0 && i%batch == 0 {
			s.WriteString("COMMIT\n*nat\n")
		}
		at := linuxnet.DecoyService(i)
		fmt.Fprintf(&s, "-A %s -d %s/32 -p tcp -m tcp --dport %d -j %s\n", linuxnet.DecoyName, at.Addr(), at.Port(), linuxnet.DecoyTarget)
	}
	s.WriteString("COMMIT\n")
	return s.String()
}

// run runs a program in the namespace with input on stdin and returns its stdout. Its error
// contains the last line that the program wrote.
func (t iptables) run(ctx context.Context, program, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(iptablesTimeout))
	defer cancel()
	// Legacy iptables locks a file of the machine; a namespace of its own needs no lock, and an
	// ordinary user may not create that file.
	dir, err := lab.MkdirTemp(t.claimed, "iptables")
	if err != nil {
		return "", fmt.Errorf("create a directory for the lock of %s: %w", program, err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Base(program)
	p := process.New(name, program, args...)
	var out bytes.Buffer
	p.Cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "XTABLES_LOCKFILE=" + filepath.Join(dir, "lock")}
	p.Cmd.Stdin, p.Cmd.Stdout = strings.NewReader(input), &out
	if err := p.StartTied(t.ns.Do); err != nil {
		return "", err
	}
	if err := p.Wait(ctx); err != nil {
		return "", errors.Join(fmt.Errorf("run %s in namespace %s: %w", name, t.ns.Name(), err), p.Kill())
	}
	if err := p.Err(); err != nil {
		return "", fmt.Errorf("run %s in namespace %s: %w: %s", name, t.ns.Name(), err, p.LastLine())
	}
	return out.String(), nil
}
