//go:build linux

package ipsec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/tunnel"
	"tare/internal/timelimit"
)

// installed is an installed strongSwan.
type installed struct{ charon, plugins string }

// charonDirs lists where distributions install charon, which is not in PATH.
func charonDirs() []string {
	return []string{"/usr/lib/ipsec", "/usr/libexec/ipsec", "/usr/lib/strongswan", "/usr/libexec/strongswan", "/usr/lib64/strongswan", "/usr/local/libexec/ipsec"}
}

// plugin is a plugin that a mode requires, and its Debian package.
type plugin struct{ name, debian string }

// find finds strongSwan with the plugins that a mode requires.
func find(mode string, esp implementation, dirs []string) (installed, error) {
	const all = "apt-get install --no-install-recommends strongswan-charon strongswan-swanctl libcharon-extra-plugins libstrongswan-standard-plugins libstrongswan-extra-plugins"
	path, err := daemon.Find("charon", dirs...)
	if err != nil {
		return installed{}, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("strongSwan's charon is not installed: %v; install it (Debian: %s)", err, all)}
	}
	in := installed{charon: path}
	for _, dir := range []string{filepath.Join(filepath.Dir(path), "plugins"), "/usr/lib64/strongswan/plugins", "/usr/lib/strongswan/plugins"} {
		if s, err := os.Stat(dir); err == nil && s.IsDir() {
			in.plugins = dir
			break
		}
	}
	if in.plugins == "" {
		return in, nil // charon finds them itself and reports missing ones
	}
	needs := []plugin{{"vici", "strongswan-swanctl"}, {"socket-default", "libstrongswan"}}
	if !esp.kernel {
		needs = append(needs, plugin{"kernel-libipsec", "libcharon-extra-plugins"})
	}
	var missing []string
	for _, p := range needs {
		if _, err := os.Stat(filepath.Join(in.plugins, "libstrongswan-"+p.name+".so")); err != nil {
			missing = append(missing, fmt.Sprintf("%s (Debian: %s)", p.name, p.debian))
		}
	}
	if len(missing) > 0 {
		return in, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("strongSwan in %s lacks the plugin %s; install it (%s)", path, strings.Join(missing, " and "), all)}
	}
	return in, nil
}

// config returns strongswan.conf for one host, which replaces the machine's.
// kernel-libipsec, if used, must come before kernel-netlink, which is still used for
// addresses and routes. A plugin may miss a feature that another provides; charon starts
// nevertheless.
func (b *build) config() string {
	esp, routes := "kernel-libipsec ", "yes"
	if b.kernel {
		esp, routes = "", "no"
	}
	return `charon {
  load = random nonce aes aesni gcm sha1 sha2 hmac kdf mgf1 curve25519 openssl pem pkcs1 x509 constraints pubkey ` + esp + `kernel-netlink socket-default vici
  install_routes = ` + routes + `
  install_virtual_ip = no
  retransmit_tries = 2
  retransmit_timeout = 1.0
  plugins {
    vici { socket = unix:///run/` + socket + ` }
  }
  filelog {
    stderr {
      default = 1
      flush_line = yes
    }
  }
}
`
}

// answerTimeout limits how long charon may take to start or to execute a command.
func answerTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// start starts charon on a host.
func (b *build) start(s *tunnel.Side) (*charon, error) {
	proc, err := daemon.Program{
		Name: "charon of host " + s.At, Run: b.Lab().Spec.Claim.ID, Path: b.program.charon, Start: s.NS.Start,
		Env: []string{"STRONGSWAN_CONF=/run/strongswan.conf"}, Files: map[string]string{"strongswan.conf": b.config()},
	}.Launch()
	if err != nil {
		return nil, err
	}
	b.AddProcess(proc)
	return &charon{Process: proc}, nil
}

// ready waits until charon accepts commands.
func (c *charon) ready(ctx context.Context, mode string) error {
	within := answerTimeout()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		err := c.connect()
		if err == nil {
			return nil
		}
		select {
		case <-c.Done():
			return c.startError(mode)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: timed out after %v (%w)", c.Name, within, err)
		case <-poll.C:
		}
	}
}

// startError returns why charon exited before it accepted commands.
func (c *charon) startError(mode string) error {
	for line := range strings.Lines(c.StderrTail()) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "failed to load") || strings.Contains(line, "dependency") {
			return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("%s does not start: %s", c.Name, line)}
		}
	}
	return errors.New(c.ExitReason())
}
