package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"tare/internal/driver/proxy/relay"
)

func envoy() installed {
	return installed{
		name: programEnvoy, flag: "--version", label: "Envoy ", parse: envoyVersion, start: startEnvoy,
		from: "github.com/envoyproxy/envoy/releases; for tests: scripts/setup-envoy",
	}
}

// startEnvoy starts the installed Envoy: one process with a worker thread for each CPU. Without hot restart it has no shared memory
// that could be left.
func startEnvoy(p *placedPath, cfg proxyConfig, path string) (placedProxy, error) {
	config, err := envoyConfig(cfg)
	if err != nil {
		return placedProxy{}, err
	}
	proc, err := cfg.launch(p, path, config, "--config-path", inRun(configFile), "--disable-hot-restart",
		"--concurrency", strconv.Itoa(runtime.NumCPU()), "--log-level", "error", "--log-format", "%v")
	if err != nil {
		return placedProxy{}, err
	}
	stats := filepath.Join(proc.RunDir(), statsFile)
	return placedProxy{proc: proc, isChild: true, requests: func(ctx context.Context) (uint64, error) {
		text, err := ask(ctx, stats, envoyQuery)
		if err != nil {
			return 0, err
		}
		return envoyRequests(text)
	}}, nil
}

// typed is a configuration with the name of its type below envoy.extensions, as Envoy finds extensions.
func typed(kind string, config object) object {
	config["@type"] = "type.googleapis.com/envoy.extensions." + kind
	return config
}

// seconds is a time as Envoy reads it.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

// envoyIdle is the time after which an Envoy closes an idle connection or stream: longer than any trial.
const envoyIdle = time.Hour

// envoyConfig is the configuration of an Envoy that reads requests. It has no log of requests, and its administration endpoint
// is a socket in its private /run, which nobody else can open, and which answers one question: how many requests there were. It
// adds X-Forwarded-For, repeats no request, and speaks to the next hop the version of HTTP that it is spoken to in, over connections
// of each worker thread. TLS is as in haproxyConfig: BoringSSL has the cipher suite by itself where the CPU has AES instructions.
func envoyConfig(cfg proxyConfig) (string, error) {
	var listeners, clusters []object
	for i, r := range cfg.routes {
		name, next := fmt.Sprintf("%s%d", route, i), fmt.Sprintf("next%d", i)
		manager := typed("filters.network.http_connection_manager.v3.HttpConnectionManager", object{
			"stat_prefix": name, "generate_request_id": false,
			"stream_idle_timeout": seconds(envoyIdle), "common_http_protocol_options": object{"idle_timeout": seconds(envoyIdle)},
			// Its own way to add the sender, use_remote_address, puts another address of the host in the place of a loopback's.
			"route_config": object{"request_headers_to_add": []object{
				{"header": object{"key": "x-forwarded-for", "value": "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%"}},
			}, "virtual_hosts": []object{{"name": name, "domains": []string{"*"}, "routes": []object{
				{"match": object{"prefix": "/"}, "route": object{"cluster": next, "timeout": "0s"}}, // as long as it takes
			}}}},
			"http_filters": []object{{"name": "router", "typed_config": typed("filters.http.router.v3.Router", object{"suppress_envoy_headers": true})}},
		})
		chain := object{"filters": []object{{"name": "http", "typed_config": manager}}}
		if cfg.accepts != nil {
			chain["transport_socket"] = object{"name": "tls", "typed_config": typed("transport_sockets.tls.v3.DownstreamTlsContext", object{
				"common_tls_context": envoyTLS(acceptFile, cfg.mutual, "", "h2", "http/1.1"), "require_client_certificate": cfg.mutual,
				"disable_stateless_session_resumption": true, "disable_stateful_session_resumption": true,
			})}
		}
		listeners = append(listeners, object{"name": name, "address": envoyAddress(r.Listen), "filter_chains": []object{chain}})
		clusters = append(clusters, cfg.envoyCluster(next, r.Dial))
	}
	text, err := json.Marshal(object{
		"admin": object{
			"address":     object{"pipe": object{"path": inRun(statsFile), "mode": 0o600}},
			"allow_paths": []object{{"exact": envoyPath}},
		},
		"static_resources": object{"listeners": listeners, "clusters": clusters},
	})
	return string(text), err
}

func envoyAddress(at netip.AddrPort) object {
	return object{"socket_address": object{"address": at.Addr().String(), "port_value": at.Port()}}
}

// envoyCluster is how an Envoy dials the next hop. Its limits, by default 1024 requests at a time, are above what a trial has.
func (cfg proxyConfig) envoyCluster(name string, next netip.AddrPort) object {
	common := object{"idle_timeout": seconds(envoyIdle)}
	if !cfg.reuse {
		common["max_requests_per_connection"] = 1
	}
	cluster := object{
		"name": name, "type": "STATIC", "connect_timeout": "10s",
		"load_assignment":  object{"cluster_name": name, "endpoints": []object{{"lb_endpoints": []object{{"endpoint": object{"address": envoyAddress(next)}}}}}},
		"circuit_breakers": object{"thresholds": []object{{"max_connections": maxConnections, "max_pending_requests": manyRequests, "max_requests": manyRequests}}},
		"typed_extension_protocol_options": object{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed("upstreams.http.v3.HttpProtocolOptions", object{
			"common_http_protocol_options": common, "use_downstream_protocol_config": object{"http_protocol_options": object{}, "http2_protocol_options": object{}},
		})},
	}
	if cfg.dials != nil {
		own := ""
		if cfg.mutual {
			own = dialFile
		}
		cluster["transport_socket"] = object{"name": "tls", "typed_config": typed("transport_sockets.tls.v3.UpstreamTlsContext", object{
			"common_tls_context": envoyTLS(own, true, relay.NameOf(relay.Server)), "sni": relay.NameOf(relay.Server), "max_session_keys": 0,
		})}
	}
	return cluster
}

// envoyTLS is what both sides of TLS have: their own certificate, unless it is empty, whether and as whom they verify the other, and
// the versions of HTTP that they offer, by default that of the request.
func envoyTLS(own string, verify bool, as string, offers ...string) object {
	tls := object{"tls_params": object{"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3", "ecdh_curves": []string{"X25519"}}}
	file := func(name string) object { return object{"filename": inRun(name)} }
	if own != "" {
		tls["tls_certificates"] = []object{{"certificate_chain": file(own), "private_key": file(own)}}
	}
	if verify {
		against := object{"trusted_ca": file(authorityFile)}
		if as != "" {
			against["match_typed_subject_alt_names"] = []object{{"san_type": "DNS", "matcher": object{"exact": as}}}
		}
		tls["validation_context"] = against
	}
	if len(offers) > 0 {
		tls["alpn_protocols"] = offers
	}
	return tls
}
