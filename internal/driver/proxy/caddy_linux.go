package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"tare/internal/driver/proxy/relay"
	"tare/internal/timelimit"
)

func caddy() installed {
	return installed{name: programCaddy, flag: "version", prefix: "v2.", label: "Caddy ", start: startCaddy}
}

// startCaddy starts the installed Caddy: one process, which takes a new configuration without another.
func startCaddy(p *placedPath, cfg proxyConfig, path string) (placedProxy, error) {
	config, err := caddyConfig(cfg)
	if err != nil {
		return placedProxy{}, err
	}
	proc, err := cfg.launch(p, path, config, "run", "--config", inRun(configFile))
	if err != nil {
		return placedProxy{}, err
	}
	stats := filepath.Join(proc.RunDir(), statsFile)
	return placedProxy{proc: proc, isChild: true, requests: func(ctx context.Context) (uint64, error) { return settledRequests(ctx, stats) }}, nil
}

// settledRequests returns how many requests a Caddy has handled as soon as it handles none: it counts a request
// when the response has ended, so that the client may have it already. The answer with the count follows one without
// requests in progress, because an answer is no snapshot.
func settledRequests(ctx context.Context, stats string) (uint64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timelimit.Scaled(readyTimeout), fmt.Errorf("it still handles requests"))
	defer cancel()
	for idle := false; ; {
		text, err := ask(ctx, stats, caddyQuery)
		if err != nil {
			return 0, err
		}
		n, inFlight, err := caddyRequests(text)
		if err != nil || idle && inFlight == 0 {
			return n, err
		}
		idle = inFlight == 0
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// caddyConfig is the configuration of a Caddy that reads requests. It has no administration endpoint, obtains no certificates, and
// listens, besides the routes, at a socket with metrics in its private /run, where it keeps all its files. It adds X-Forwarded-For,
// repeats no request, and speaks to the next hop the version of HTTP that it is spoken to in. TLS is as in haproxyConfig: Go has the
// cipher suite by itself where the CPU has AES instructions.
func caddyConfig(cfg proxyConfig) (string, error) {
	manual := object{"disable": true}
	servers := object{"stats": object{
		"listen": []string{"unix/" + inRun(statsFile) + "|0600"}, "protocols": []string{"h1"}, "automatic_https": manual,
		"routes": []object{{"handle": []object{{"handler": "metrics"}}}},
	}}
	for i, r := range cfg.routes {
		to := func(version string) []object {
			return []object{{"handler": "reverse_proxy", "upstreams": []object{{"dial": r.Dial.String()}}, "trusted_proxies": []string{"0.0.0.0/0", "::/0"}, "transport": cfg.caddyTransport(version)}}
		}
		server := object{
			"listen": []string{r.Listen.String()}, "protocols": []string{"h1", "h2", "h2c"}, "automatic_https": manual, "metrics": object{},
			"idle_timeout": "1h", "routes": []object{{"match": []object{{"protocol": "http/2"}}, "handle": to("2"), "terminal": true}, {"handle": to("1.1")}},
		}
		if cfg.accepts != nil {
			policy := object{"protocol_min": "tls1.3", "curves": []string{"x25519"}, "alpn": []string{"h2", "http/1.1"}}
			if cfg.mutual {
				policy["client_authentication"] = object{"mode": "require_and_verify", "trusted_ca_certs_pem_files": []string{inRun(authorityFile)}}
			}
			// A client names the address that it dials as the host, not the name in the certificate.
			server["tls_connection_policies"], server["strict_sni_host"] = []object{policy}, false
		}
		servers[fmt.Sprintf("%s%d", route, i)] = server
	}
	apps := object{"http": object{"servers": servers}}
	if cfg.accepts != nil {
		apps["tls"] = object{
			"certificates":    object{"load_files": []object{{"certificate": inRun(acceptFile), "key": inRun(acceptFile)}}},
			"session_tickets": object{"disabled": true},
		}
	}
	text, err := json.Marshal(object{
		"admin": object{"disabled": true, "config": object{"persist": false}}, "storage": object{"module": "file_system", "root": inRun("caddy")},
		"logging": object{"logs": object{"default": object{"level": "ERROR"}}}, "apps": apps,
	})
	return string(text), err
}

// caddyTransport is how a Caddy dials the next hop for a version of HTTP, 1.1 or 2.
func (cfg proxyConfig) caddyTransport(version string) object {
	to := object{"protocol": "http", "dial_timeout": "10s", "compression": false, "versions": []string{version}, "keep_alive": object{"enabled": false}}
	if cfg.reuse {
		to["keep_alive"] = object{"enabled": true, "idle_timeout": "1h", "max_idle_conns_per_host": maxConnections}
	}
	switch {
	case cfg.dials != nil:
		tls := object{"server_name": relay.NameOf(relay.Server), "root_ca_pem_files": []string{inRun(authorityFile)}, "curves": []string{"x25519"}}
		if cfg.mutual {
			tls["client_certificate_file"], tls["client_certificate_key_file"] = inRun(dialFile), inRun(dialFile)
		}
		to["tls"] = tls
	case version == "2":
		to["versions"] = []string{"h2c"}
	}
	return to
}
