package proxy

import (
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/proxy/relay"
)

// startProxy starts a proxy and adds it to the processes of a path.
type startProxy func(ctx context.Context, p *placedPath, cfg proxyConfig) (placedProxy, error)

// starter returns what starts a program's proxies.
func starter(ctx context.Context, mode, program string) (startProxy, error) {
	if program == programOwn {
		return startOwn, nil
	}
	path, err := daemon.Find(programHAProxy)
	if err != nil {
		return nil, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("%s is not installed: %v; install it (Debian: apt-get install haproxy), or set program: %s", programHAProxy, err, programOwn)}
	}
	version, err := daemon.VersionLine(ctx, path, "-v", "HAProxy version ")
	if ctx.Err() != nil {
		return nil, ctx.Err() // interrupted, which does not tell whether it can be used
	}
	if err != nil {
		return nil, &driver.Unsupported{Mode: mode, Reason: err.Error() + "; install a current haproxy, or leave this mode out"}
	}
	version, _, _ = strings.Cut(version, " - ")
	return func(ctx context.Context, p *placedPath, cfg proxyConfig) (placedProxy, error) {
		x, err := startHAProxy(p, cfg, path)
		if err == nil {
			p.AddFact(cfg.name, fmt.Sprintf("%s (%s), congestion control %s", version, path, cfg.congestion))
		}
		return x, err
	}, nil
}

// startOwn starts this program as a proxy.
func startOwn(_ context.Context, p *placedPath, cfg proxyConfig) (placedProxy, error) {
	own := relay.Config{Side: relay.Client, Routes: cfg.routes, TLS: cfg.dials}
	if cfg.accepts != nil {
		own.Side, own.TLS = relay.Server, cfg.accepts
	}
	proc, err := daemon.StartSelf(cfg.name, Command, cfg.run, cfg.at.ns.Start)
	if err != nil {
		return placedProxy{}, err
	}
	p.AddProcess(proc)
	exchange := daemon.NewExchange(proc)
	var listening relay.Counters
	if err := exchange.Send(own); err != nil {
		return placedProxy{}, err
	}
	if err := exchange.Receive(&listening); err != nil {
		return placedProxy{}, err
	}
	p.AddFact(cfg.name, "tare, congestion control "+listening.Congestion)
	flush := func() error {
		var c relay.Counters
		return exchange.Ask(askFlush, &c)
	}
	return placedProxy{proc: proc, pid: proc.PID(), flush: flush}, nil
}

// startHAProxy starts the installed HAProxy. Its configuration, certificate and key are files in
// its private /run, which is in memory and ends with it.
func startHAProxy(p *placedPath, cfg proxyConfig, path string) (placedProxy, error) {
	files := map[string]string{configFile: haproxyConfig(cfg)}
	for name, c := range map[string]*relay.Credentials{acceptFile: cfg.accepts, dialFile: cfg.dials} {
		if c != nil {
			files[name], files[authorityFile] = bundle(c), encode("CERTIFICATE", c.Authority)
		}
	}
	proc, err := daemon.Program{Name: cfg.name, Run: cfg.run, Path: path, Args: []string{"-db", "-f", filepath.Join("/run", configFile)}, Files: files, Start: cfg.at.ns.Start}.Launch()
	if err != nil {
		return placedProxy{}, err
	}
	p.AddProcess(proc)
	return placedProxy{proc: proc, isChild: true}, nil
}

// The files of HAProxy below its /run.
const (
	configFile    = "haproxy.cfg"
	acceptFile    = "accepts.pem"
	dialFile      = "dials.pem"
	authorityFile = "authority.pem"
)

// bundle is a certificate with its key as HAProxy reads them.
func bundle(c *relay.Credentials) string {
	return encode("CERTIFICATE", c.Certificate) + encode("PRIVATE KEY", c.Private)
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// maxConnections is the maximum number of connections of an HAProxy at a time. Further ones wait
// in the kernel's backlog.
const maxConnections = 8192

// haproxyConfig is the configuration of an HAProxy that forwards TCP. It has no log, statistics
// or control socket. Without strict-limits it starts where it may not open as many files. An
// idle connection lasts as long as any trial. TLS is that of the proxies of this program: version
// 1.3, AES-GCM, X25519, and a full handshake for each connection, in which both sides are verified.
func haproxyConfig(cfg proxyConfig) string {
	var b strings.Builder
	fmt.Fprintf(&b, `global
    maxconn %d
    no strict-limits
    tune.ssl.cachesize 0
    ssl-default-bind-curves X25519
defaults
    mode tcp
    timeout connect 10s
    timeout client 1h
    timeout server 1h
`, maxConnections)
	const tls = " ssl verify required ca-file /run/" + authorityFile + " ssl-min-ver TLSv1.3 ciphersuites " + suite + " no-tls-tickets"
	var accept, dial string
	if cfg.accepts != nil {
		accept = tls + " crt /run/" + acceptFile
	}
	if cfg.dials != nil {
		dial = tls + " no-ssl-reuse crt /run/" + dialFile + " verifyhost " + relay.NameOf(relay.Server)
	}
	for i, r := range cfg.routes {
		bind := r.Listen.String()
		if r.Listen.Addr().Is6() {
			bind += " v6only"
		}
		fmt.Fprintf(&b, "listen route%d\n    bind %s%s\n    server next %s%s\n", i, bind, accept, r.Dial, dial)
	}
	return b.String()
}

// suite is the TLS cipher suite that HAProxy is given.
const suite = "TLS_AES_128_GCM_SHA256"

// threads returns the number of threads of a process.
func threads(pid int) (int, error) {
	all, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	return len(all), err
}
