package proxy

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/driver/proxy/relay"
)

func haproxy() installed {
	return installed{name: programHAProxy, flag: "-v", prefix: "HAProxy version ", start: startHAProxy}
}

// startHAProxy starts the installed HAProxy: a master process and its worker, as distributions do.
func startHAProxy(p *placedPath, cfg proxyConfig, path string) (placedProxy, error) {
	proc, err := cfg.launch(p, path, haproxyConfig(cfg), "-W", "-db", "-f", inRun(configFile))
	if err != nil {
		return placedProxy{}, err
	}
	x := placedProxy{proc: proc, isChild: true, workers: 1, starter: true, reload: reloading{signal: unix.SIGUSR2}}
	if cfg.http {
		stats := &haproxyStats{path: filepath.Join(proc.RunDir(), statsFile)}
		x.requests, x.reload.replaced, x.reload.ending = stats.requests, stats.replaced, stats.ending
		p.AtClose(stats.close)
	}
	return x, nil
}

// maxConnections is the maximum number of connections of an HAProxy at a time. Further ones wait
// in the kernel's backlog.
const maxConnections = 8192

// haproxyConfig is the configuration of an HAProxy. It has no log. Without strict-limits it starts where it may not open as
// many files. An idle connection lasts as long as any trial. TLS is that of the proxies of this program: version 1.3, AES-GCM,
// X25519, and a full handshake for each connection, in which both sides are verified, or the second proxy alone.
//
// One that forwards TCP has no statistics or control socket. One that reads requests has a socket in its private /run, which
// nobody else can open, and which only tells. It adds X-Forwarded-For, repeats no request, and speaks to the next hop the
// version of HTTP that it is spoken to in.
func haproxyConfig(cfg proxyConfig) string {
	var b strings.Builder
	fmt.Fprintf(&b, "global\n    maxconn %d\n    no strict-limits\n    tune.ssl.cachesize 0\n    ssl-default-bind-curves X25519\n", maxConnections)
	if cfg.http {
		fmt.Fprintf(&b, "    stats socket %s mode 600 level user\n    stats timeout 24d\n", inRun(statsFile))
	}
	b.WriteString("defaults\n    timeout connect 10s\n    timeout client 1h\n    timeout server 1h\n")
	switch {
	case !cfg.http:
		b.WriteString("    mode tcp\n")
	case cfg.reuse:
		b.WriteString("    mode http\n    option forwardfor\n    retries 0\n    http-reuse always\n")
	default:
		b.WriteString("    mode http\n    option forwardfor\n    retries 0\n    option http-server-close\n    http-reuse never\n")
	}
	accept, dial := cfg.haproxyTLS()
	for i, r := range cfg.routes {
		bind := r.Listen.String()
		if r.Listen.Addr().Is6() {
			bind += " v6only"
		}
		if !cfg.http {
			fmt.Fprintf(&b, "listen %s%d\n    bind %s%s\n    server next %s%s\n", route, i, bind, accept, r.Dial, dial("http/1.1"))
			continue
		}
		fmt.Fprintf(&b, "frontend %s%d\n    bind %s%s\n    use_backend next%d-h2 if { req.ver 2.0 }\n    default_backend next%d\n", route, i, bind, accept, i, i)
		kept := " pool-purge-delay 1h"
		if !cfg.reuse {
			kept = " max-reuse 0" // HTTP/2 has no field that closes a connection
		}
		fmt.Fprintf(&b, "backend next%d\n    server next %s%s%s\nbackend next%d-h2\n    server next %s%s proto h2%s\n", i, r.Dial, kept, dial("http/1.1"), i, r.Dial, kept, dial("h2"))
	}
	return b.String()
}

// haproxyTLS returns the options of TLS with which an HAProxy accepts, and dials for a version of HTTP; empty in the clear.
func (cfg proxyConfig) haproxyTLS() (accept string, dial func(version string) string) {
	trust := " verify required ca-file " + inRun(authorityFile)
	const tls = " ssl ssl-min-ver TLSv1.3 ciphersuites " + suite + " no-tls-tickets"
	if cfg.accepts != nil {
		accept = tls + " crt " + inRun(acceptFile)
		if cfg.mutual {
			accept += trust
		}
		if cfg.http {
			accept += " alpn h2,http/1.1"
		}
	}
	return accept, func(version string) string {
		if cfg.dials == nil {
			return ""
		}
		text := tls + " no-ssl-reuse" + trust + " verifyhost " + relay.NameOf(relay.Server)
		if cfg.mutual {
			text += " crt " + inRun(dialFile)
		}
		if cfg.http {
			text += " alpn " + version
		}
		return text
	}
}
