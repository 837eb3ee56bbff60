package proxy

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tare/internal/driver/proxy/relay"
)

func nginx() installed {
	return installed{name: programNginx, flag: "-v", prefix: "nginx version: ", start: startNginx}
}

// startNginx starts the installed nginx, with a worker for each CPU.
func startNginx(p *placedPath, cfg proxyConfig, path string) (placedProxy, error) {
	workers := runtime.NumCPU()
	proc, err := cfg.launch(p, path, nginxConfig(cfg, workers), "-p", "/run", "-e", "stderr", "-c", inRun(configFile))
	if err != nil {
		return placedProxy{}, err
	}
	var queries atomic.Uint64 // nginx counts them, too
	requests := func(ctx context.Context) (uint64, error) {
		text, err := ask(ctx, filepath.Join(proc.RunDir(), statsFile), nginxQuery)
		if err != nil {
			return 0, err
		}
		n, err := nginxRequests(text)
		return n - min(n, queries.Add(1)), err
	}
	return placedProxy{proc: proc, isChild: true, workers: workers, requests: requests, reload: reloading{signal: unix.SIGHUP}}, nil
}

// nginxConfig is the configuration of an nginx that reads requests. It has no log of requests, and writes no file but to its
// private /run, where its socket with statistics is. It adds X-Forwarded-For, repeats no request, and speaks HTTP/1.1 to the next
// hop. TLS is as in haproxyConfig.
func nginxConfig(cfg proxyConfig, workers int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	const files = 4 * maxConnections // a request may need two
	line("daemon off; user root; worker_processes %d; worker_rlimit_nofile %d; pid %s; error_log stderr crit;", workers, files, inRun("pid"))
	line("events { worker_connections %d; }", files)
	line("http {")
	line("access_log off; keepalive_timeout 1h; keepalive_requests %d; client_max_body_size 0;", manyRequests)
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		line("%s_temp_path %s;", of, inRun(of))
	}
	line("proxy_http_version 1.1; proxy_next_upstream off; proxy_connect_timeout 10s; proxy_read_timeout 1h; proxy_send_timeout 1h;")
	connection := "close"
	if cfg.reuse {
		connection = ""
	}
	line(`proxy_set_header Host $http_host; proxy_set_header Connection "%s"; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;`, connection)
	tls := func(of string) string {
		return fmt.Sprintf("%s_protocols TLSv1.3; %[1]s_conf_command Ciphersuites %s; ", of, suite)
	}
	accept, scheme := "", "http"
	if cfg.accepts != nil {
		accept = " ssl"
		line(tls("ssl")+"ssl_ecdh_curve X25519; ssl_session_cache off; ssl_session_tickets off; ssl_certificate %s; ssl_certificate_key %[1]s;", inRun(acceptFile))
		if cfg.mutual {
			line("ssl_verify_client on; ssl_client_certificate %s;", inRun(authorityFile))
		}
	}
	if cfg.dials != nil {
		scheme = "https"
		line(tls("proxy_ssl")+"proxy_ssl_session_reuse off; proxy_ssl_verify on; proxy_ssl_trusted_certificate %s; proxy_ssl_name %s;", inRun(authorityFile), relay.NameOf(relay.Server))
		if cfg.mutual {
			line("proxy_ssl_certificate %s; proxy_ssl_certificate_key %[1]s;", inRun(dialFile))
		}
	}
	line("server { listen unix:%s; location / { stub_status; } }", inRun(statsFile))
	for i, r := range cfg.routes {
		keep := ""
		if cfg.reuse {
			keep = fmt.Sprintf(" keepalive %d; keepalive_timeout 1h; keepalive_requests %d;", maxConnections, manyRequests)
		}
		line("upstream next%d { server %s;%s }", i, r.Dial, keep)
		line("server { listen %s%s; location / { proxy_pass %s://next%d; } }", r.Listen, accept, scheme, i)
	}
	line("}")
	return b.String()
}

// manyRequests is more requests than a connection has in a run.
const manyRequests = 1_000_000_000
