package proxy

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// TLS is between two proxies, and refused where there is one.
func TestConflict(t *testing.T) {
	for _, s := range httpSettings() {
		if s.Name != settingTLS {
			continue
		}
		for _, tt := range []struct {
			placement, tls, want string
		}{
			{"", study.On, ""}, {atHop, tlsMutual, ""}, {atClient, study.Off, ""},
			{atClient, study.On, "is between two proxies, and placement: client has one; set placement: both or hop"},
			{atServer, tlsMutual, "is between two proxies, and placement: server has one; set placement: both or hop"},
		} {
			with := map[string]string{settingTLS: tt.tls}
			if tt.placement != "" {
				with[settingPlacement] = tt.placement
			}
			must.Equal(t, tt.want, s.Conflict(with))
		}
	}
}

// Each workload passes, or there is a reason why it does not.
func TestCannotRead(t *testing.T) {
	nginx, caddy, envoy := map[string]string{settingProgram: programNginx}, map[string]string{settingProgram: programCaddy}, map[string]string{settingProgram: programEnvoy}
	for _, tt := range []struct {
		w    study.Workload
		with map[string]string
		want string
	}{
		{study.Workload{Kind: "http"}, nil, ""},
		{study.Workload{Kind: "http", TLS: study.Off, Tool: study.BuiltIn}, nginx, ""},
		{study.Workload{Kind: "grpc"}, nil, ""},
		{study.Workload{Kind: "http2"}, nginx, "nginx speaks HTTP/1.1"},
		{study.Workload{Kind: "grpc"}, caddy, ""},
		{study.Workload{Kind: "http", Event: proxyReload}, nginx, ""},
		{study.Workload{Kind: "http", Event: proxyReload}, caddy, "Caddy reloads within one process"},
		{study.Workload{Kind: "http2"}, envoy, ""},
		{study.Workload{Kind: "http", Event: proxyReload}, envoy, "Envoy has no signal that makes it reload its configuration; use program: haproxy"},
		{study.Workload{Kind: "http", TLS: study.On}, nil, "it is in TLS from client to server"},
		{study.Workload{Kind: "grpc", Streaming: study.Bidi}, nil, "each of its calls is one request with many messages"},
		{study.Workload{Kind: "http", Tool: "wrk"}, nil, "an external tool does not count"},
		{study.Workload{Kind: "tcp_rr"}, nil, "it sends no requests of HTTP"},
	} {
		got := cannotRead(tt.w, traffic.Spec{}, tt.with)
		if tt.want == "" {
			must.Equal(t, "", got)
		}
		must.Contain(t, got, tt.want)
	}
	of := map[string]int{}
	for _, w := range workloads.All() {
		if cannotRead(study.Workload{Kind: w.Spec().Kind}, w.Spec(), nil) == "" {
			of[w.Spec().Kind]++
		}
	}
	must.Equal(t, map[string]int{"http": 1, "http2": 1, "grpc": 1}, of)
}

// Proxies of this program have no configuration to reload, and those that forward TCP no datagrams.
func TestCannotForward(t *testing.T) {
	l4, tls, own, placed := kind{always: true}, kind{tls: true}, map[string]string{settingProgram: programOwn}, map[string]string{settingPlacement: atBoth}
	reload := study.Workload{Kind: "tcp_rr", Event: proxyReload}
	const why = "its proxies are tare's own, which have no configuration to reload; set program: haproxy"
	for _, tt := range []struct {
		k    kind
		w    study.Workload
		of   traffic.Spec
		with map[string]string
		want string
	}{
		{l4, reload, traffic.Spec{}, nil, ""}, {l4, reload, traffic.Spec{}, own, why},
		{tls, reload, traffic.Spec{}, nil, why}, {tls, reload, traffic.Spec{}, placed, ""}, {tls, reload, traffic.Spec{}, own, why},
		{tls, study.Workload{Kind: "tcp_rr"}, traffic.Spec{}, nil, ""},
		{l4, study.Workload{Kind: "udp_rr"}, traffic.Spec{Datagrams: true}, nil, "it sends datagrams, and " + tcpOnly},
	} {
		must.Equal(t, tt.want, tt.k.cannotForward(tt.w, tt.of, tt.with))
	}
}

// shown is what a variant is built from, in words.
func shown(k kind, with map[string]string) string {
	b, _ := k.placed(driver.Order{With: with})
	text := b.program + " " + b.placement
	for _, is := range []struct {
		word string
		is   bool
	}{{"tls", b.tls}, {"mutual", b.mutual}, {"reuse", b.reuse}} {
		if is.is {
			text += " " + is.word
		}
	}
	return text
}

// What a variant is built from.
func TestPlaced(t *testing.T) {
	must.Equal(t, []string{"haproxy both", "haproxy hop tls mutual reuse", "nginx both tls"}, []string{
		shown(kind{always: true}, nil),
		shown(kind{always: true, http: true}, map[string]string{settingPlacement: atHop, settingTLS: tlsMutual}),
		shown(kind{always: true, http: true}, map[string]string{settingProgram: programNginx, settingTLS: study.On, settingReuse: study.Off}),
	})
}
