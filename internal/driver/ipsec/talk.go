//go:build linux

package ipsec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/strongswan/govici/vici"

	"tare/internal/driver/daemon"
	"tare/internal/driver/tunnel"
)

// socket is charon's command socket in its /run.
const socket = "charon.vici"

// name is the name of connection and tunnel in charon.
const name = "tare"

// The algorithms in strongSwan's notation: AES-GCM with 128-bit keys.
const (
	ikeProposal = "aes128gcm16-prfsha256-curve25519"
	espProposal = "aes128gcm16"
)

// charon is the key exchange of one host and, in userspace mode, its ESP.
type charon struct {
	*daemon.Process
	session *vici.Session
	conns   []net.Conn // of the session; the first one is for commands
	answers daemon.Lockstep
	version string
}

// connect opens charon's socket and reads its version.
func (c *charon) connect() error {
	c.disconnect()
	session, err := vici.NewSession(vici.WithAddr("unix", filepath.Join(c.RunDir(), socket)),
		vici.WithDialContext(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: answerTimeout()}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			c.conns = append(c.conns, conn)
			return &packets{Conn: conn}, nil
		}))
	if err != nil {
		return err
	}
	c.session = session
	m, err := c.call("version", nil)
	if err != nil {
		return err
	}
	c.version = "strongSwan " + text(m, "version")
	return nil
}

// disconnect closes the connections, whatever the state of the session.
func (c *charon) disconnect() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns, c.answers = nil, daemon.Lockstep{}
}

// Close closes the connections to charon and ends it.
func (c *charon) Close() error {
	c.disconnect()
	return c.Process.Close()
}

// within executes a command of the session, which must end in this time.
func (c *charon) within(d time.Duration, command func() error) error {
	return c.answers.Do(func() error {
		if err := c.conns[0].SetDeadline(time.Now().Add(d)); err != nil {
			return err
		}
		return command()
	})
}

// call executes a charon command. The command may contain the key, so it is not in any
// error.
func (c *charon) call(what string, with map[string]any) (got *vici.Message, err error) {
	m, err := message(with)
	if err == nil {
		err = c.within(answerTimeout(), func() error {
			got, err = c.session.CommandRequest(what, m)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("request %s to %s: %w", c.Name, what, err)
	}
	return got, nil
}

// list executes a charon command that answers with events, within a time.
func (c *charon) list(d time.Duration, what, event string, with map[string]any) (all []*vici.Message, err error) {
	m, err := message(with)
	if err != nil {
		return nil, err
	}
	err = c.within(d, func() error {
		all, err = c.session.StreamedCommandRequest(what, event, m)
		return err
	})
	return all, err
}

// message encodes a map for charon. Values are strings, lists and maps.
func message(of map[string]any) (*vici.Message, error) {
	m := vici.NewMessage()
	for key, v := range of {
		if section, ok := v.(map[string]any); ok {
			inner, err := message(section)
			if err != nil {
				return nil, err
			}
			v = inner
		}
		if err := m.Set(key, v); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// identity returns a host's IKE identity.
func identity(s *tunnel.Side) string { return s.At + ".tare" }

// load configures the other host, the subnets of both, and the key.
func (c *charon) load(own, other *tunnel.Side, secret string) error {
	if _, err := c.call("load-shared", map[string]any{
		"id": name, "type": "IKE", "data": secret, "owners": []string{identity(own), identity(other)},
	}); err != nil {
		return err
	}
	behind := func(s *tunnel.Side) (subnets []string) {
		for _, p := range s.Subnets {
			subnets = append(subnets, p.String())
		}
		return subnets
	}
	_, err := c.call("load-conn", map[string]any{name: map[string]any{
		"version": "2", "local_addrs": []string{own.Host.Addr[0].String()}, "remote_addrs": []string{other.Host.Addr[0].String()},
		"proposals": []string{ikeProposal}, "encap": "yes", "mobike": "no", "rekey_time": "0", "dpd_delay": "0",
		"local":  map[string]any{"auth": "psk", "id": identity(own)},
		"remote": map[string]any{"auth": "psk", "id": identity(other)},
		"children": map[string]any{name: map[string]any{
			"mode": "tunnel", "esp_proposals": []string{espProposal}, "rekey_time": "0",
			"local_ts": behind(own), "remote_ts": behind(other),
		}},
	}})
	return err
}

// initiate starts the key exchange with the other host.
func (c *charon) initiate() error {
	all, err := c.list(2*answerTimeout(), "initiate", "control-log",
		map[string]any{"child": name, "ike": name, "timeout": strconv.Itoa(int(answerTimeout().Milliseconds()))})
	var said []string
	for _, m := range all {
		if line := text(m, "msg"); line != "" {
			said = append(said, line)
		}
		err = errors.Join(err, m.Err())
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("the key exchange failed: %s (%s)", telling(said), oneLine(err))
}

// telling returns the line of a key exchange's log that best explains its failure.
func telling(said []string) string {
	last := "charon gives no reason"
	for _, line := range said {
		for _, word := range []string{"NO_PROPOSAL_CHOSEN", "AUTHENTICATION_FAILED", "failed", "unable", "giving up", "no matching", "TS_UNACCEPTABLE", "error"} {
			if strings.Contains(line, word) {
				return line
			}
		}
		last = line
	}
	return last
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ": ") }

// sa is the pair of security associations of the tunnel at one host.
type sa struct {
	in, out             uint32 // SPIs
	inBytes, outBytes   uint64
	cipher, keyExchange string
}

// installedSA reads the tunnel's security associations: there must be one pair in use.
func (c *charon) installedSA() (sa, error) {
	all, err := c.list(answerTimeout(), "list-sas", "list-sa", map[string]any{"ike": name})
	if err != nil {
		if fate := c.ExitReason(); fate != "" {
			return sa{}, errors.New(fate)
		}
		return sa{}, fmt.Errorf("list the security associations of %s: %w", c.Name, err)
	}
	var found []sa
	for _, m := range all {
		ike := section(m, name)
		children := section(ike, "child-sas")
		for _, key := range keys(children) {
			child := section(children, key)
			if text(child, "state") != "INSTALLED" {
				continue
			}
			got, err := parse(ike, child)
			if err != nil {
				return sa{}, fmt.Errorf("parse the security associations of %s: %w", c.Name, err)
			}
			found = append(found, got)
		}
	}
	if len(found) != 1 {
		return sa{}, fmt.Errorf("%s has %d tunnels in use; there must be one", c.Name, len(found))
	}
	return found[0], nil
}

// parse parses a pair of security associations.
func parse(ike, child *vici.Message) (got sa, err error) {
	for _, n := range []struct {
		key  string
		base int
		into func(uint64)
	}{
		{"spi-in", 16, func(n uint64) { got.in = uint32(n) }}, {"spi-out", 16, func(n uint64) { got.out = uint32(n) }}, //nolint:gosec // of 32 bits, below
		{"bytes-in", 10, func(n uint64) { got.inBytes = n }}, {"bytes-out", 10, func(n uint64) { got.outBytes = n }},
	} {
		bits := 64
		if n.base == 16 {
			bits = 32
		}
		v, err := strconv.ParseUint(text(child, n.key), n.base, bits)
		if err != nil {
			return got, fmt.Errorf("%s: %w", n.key, err)
		}
		n.into(v)
	}
	got.cipher = strings.TrimSuffix(fmt.Sprintf("%s-%s", text(child, "encr-alg"), text(child, "encr-keysize")), "-")
	got.keyExchange = fmt.Sprintf("IKEv2 with %s-%s, %s, %s", text(ike, "encr-alg"), text(ike, "encr-keysize"), text(ike, "prf-alg"), text(ike, "dh-group"))
	return got, nil
}

// text, section and keys read a message that may be absent.
func text(m *vici.Message, key string) string {
	if m == nil {
		return ""
	}
	s, _ := m.Get(key).(string)
	return s
}

func section(m *vici.Message, key string) *vici.Message {
	if m == nil {
		return nil
	}
	s, _ := m.Get(key).(*vici.Message)
	return s
}

func keys(m *vici.Message) []string {
	if m == nil {
		return nil
	}
	return m.Keys()
}
