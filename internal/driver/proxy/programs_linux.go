package proxy

import (
	"cmp"
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

// installed is a program that can be a proxy.
type installed struct {
	name string
	// flag makes it print its version, after prefix in the first line.
	flag, prefix string
	label        string // what that line lacks
	// parse returns the version in that line, or why it cannot be used; nil: the line is the version.
	parse func(line string) (string, error)
	from  string // where it is, if Debian has no package of its name
	start func(p *placedPath, cfg proxyConfig, path string) (placedProxy, error)
}

// find finds the program and its version. otherwise is what to do without it.
func (i installed) find(ctx context.Context, mode, otherwise string) (path, version string, err error) {
	if path, err = daemon.Find(i.name); err != nil {
		return "", "", &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("%s is not installed: %v; install it (%s), or %s", i.name, err, cmp.Or(i.from, "Debian: apt-get install "+i.name), otherwise)}
	}
	version, err = daemon.VersionLine(ctx, path, i.flag, i.prefix)
	if ctx.Err() != nil {
		return "", "", ctx.Err() // interrupted, which does not tell whether it can be used
	}
	if err == nil && i.parse != nil {
		if version, err = i.parse(version); err != nil {
			err = fmt.Errorf("read the version of %s: %w", path, err)
		}
	}
	if err != nil {
		return "", "", &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("%v; install a current %s, or leave this mode out", err, i.name)}
	}
	version, _, _ = strings.Cut(version, " - ")
	version, _, _ = strings.Cut(version, " h1:") // the checksum of a Go module
	return path, i.label + version, nil
}

// starter returns what starts the program's proxies.
func (b build) starter(ctx context.Context, mode string) (startProxy, error) {
	if b.program == programOwn {
		return startOwn, nil
	}
	program, otherwise := haproxy(), "set program: "+programOwn
	if b.http {
		otherwise = "set program: " + programNginx
	}
	switch b.program {
	case programNginx:
		program, otherwise = nginx(), "set program: "+programHAProxy
	case programCaddy:
		program, otherwise = caddy(), "set program: "+programHAProxy
	case programEnvoy:
		program, otherwise = envoy(), "set program: "+programHAProxy
	}
	path, version, err := program.find(ctx, mode, otherwise)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *placedPath, cfg proxyConfig) (placedProxy, error) {
		x, err := program.start(p, cfg, path)
		if err == nil {
			p.AddDeciding(cfg.name, fmt.Sprintf("%s (%s), congestion control %s", version, path, cfg.congestion))
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
	p.AddDeciding(cfg.name, "tare, congestion control "+listening.Congestion)
	flush := func() error {
		var c relay.Counters
		return exchange.Ask(askFlush, &c)
	}
	return placedProxy{proc: proc, pids: []int{proc.PID()}, flush: flush}, nil
}

// launch starts an installed proxy with its configuration. That, certificate and key are files in its
// private /run, which is in memory and ends with it.
func (cfg proxyConfig) launch(p *placedPath, path, config string, args ...string) (*daemon.Process, error) {
	files := map[string]string{configFile: config}
	for name, c := range map[string]*relay.Credentials{acceptFile: cfg.accepts, dialFile: cfg.dials} {
		if c != nil {
			files[name], files[authorityFile] = bundle(c), encode("CERTIFICATE", c.Authority)
		}
	}
	proc, err := daemon.Program{Name: cfg.name, Run: cfg.run, Path: path, Args: args, Files: files, Start: cfg.at.ns.Start}.Launch()
	if err != nil {
		return nil, err
	}
	p.AddProcess(proc)
	return proc, nil
}

// The files of an installed proxy below its /run.
const (
	configFile    = "proxy.cfg"
	acceptFile    = "accepts.pem"
	dialFile      = "dials.pem"
	authorityFile = "authority.pem"
	statsFile     = "stats"
)

// inRun is a file as the proxy names it.
func inRun(file string) string { return filepath.Join("/run", file) }

// bundle is a certificate with its key as proxies read them.
func bundle(c *relay.Credentials) string {
	return encode("CERTIFICATE", c.Certificate) + encode("PRIVATE KEY", c.Private)
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// object is an object of JSON in the configuration of a proxy.
type object map[string]any

// suite is the TLS cipher suite that installed proxies are given.
const suite = "TLS_AES_128_GCM_SHA256"

// threads returns the number of threads of processes.
func threads(pids ...int) (n int, err error) {
	for _, pid := range pids {
		all, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil {
			return 0, err
		}
		n += len(all)
	}
	return n, nil
}
