package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/traffic"
)

// The settings of modes with placed proxies.
const (
	settingProgram   = "program"
	settingPlacement = "placement"
	settingTLS       = "tls"
	settingReuse     = "reuse"
)

// The values of settingProgram.
const (
	programHAProxy = "haproxy"
	programNginx   = "nginx"
	programCaddy   = "caddy"
	programEnvoy   = "envoy"
	programOwn     = "tare"
)

// The values of settingPlacement.
const (
	atBoth   = "both"
	atClient = "client"
	atServer = "server"
	atHop    = "hop"
)

// tlsMutual is a value of settingTLS. The others are on and off.
const tlsMutual = "mutual"

func placements() []string { return []string{atBoth, atClient, atServer, atHop} }

// oneOf is a setting with some values.
func oneOf(name, title string, values ...string) driver.OwnSetting {
	return driver.OwnSetting{
		SettingSpec: study.SettingSpec{Name: name, Values: strings.Join(values, ", "), Valid: func(v string) bool { return slices.Contains(values, v) }},
		Title:       title,
	}
}

// placementTitle is what settingPlacement does.
const placementTitle = "where proxies are: beside both endpoints, beside one, or on a host between"

// settings are the settings of a mode whose proxies forward TCP and can be in these places.
func settings(places []string) []driver.OwnSetting {
	return []driver.OwnSetting{
		oneOf(settingProgram, "the proxy: HAProxy, or tare's own", programHAProxy, programOwn),
		oneOf(settingPlacement, placementTitle, places...),
	}
}

// httpSettings are the settings of proxy/http.
func httpSettings() []driver.OwnSetting {
	tls := oneOf(settingTLS, "TLS between the proxies, in which the client's also has a certificate with mutual", study.Off, study.On, tlsMutual)
	tls.Conflict = func(with map[string]string) string {
		if place := with[settingPlacement]; with[settingTLS] != study.Off && (place == atClient || place == atServer) {
			return fmt.Sprintf("is between two proxies, and placement: %s has one; set placement: %s or %s", place, atBoth, atHop)
		}
		return ""
	}
	return []driver.OwnSetting{
		oneOf(settingProgram, "the proxy: HAProxy, nginx, Caddy or Envoy", programHAProxy, programNginx, programCaddy, programEnvoy),
		oneOf(settingPlacement, placementTitle, placements()...),
		tls,
		oneOf(settingReuse, "whether a proxy keeps connections to the next hop and shares them, or opens one for each request", study.On, study.Off),
	}
}

// build is what a variant with placed proxies is built from.
type build struct {
	program, placement string
	tls                bool // between the proxies
	mutual             bool // both of them have certificates
	http               bool // the proxies read requests
	reuse              bool // of connections to the next hop, by proxies that read requests
}

// placed returns what a variant is built from, and whether its proxies are placed, and not those that
// all endpoints of a host share. Those of proxy/tls are so only if it has one of the settings.
func (k kind) placed(o driver.Order) (b build, is bool) {
	with := func(name, otherwise string) string { return cmp.Or(o.With[name], otherwise) }
	b = build{program: with(settingProgram, programHAProxy), placement: with(settingPlacement, atBoth), tls: k.tls, mutual: k.tls, http: k.http}
	if k.http {
		tls := with(settingTLS, study.Off)
		b.tls, b.mutual, b.reuse = tls != study.Off, tls == tlsMutual, with(settingReuse, study.On) == study.On
	}
	return b, k.always || o.With[settingProgram] != "" || o.With[settingPlacement] != ""
}

// cannotForward says why proxies that forward TCP cannot carry a workload.
func (k kind) cannotForward(w study.Workload, of traffic.Spec, with map[string]string) string {
	if reason := driver.TCPOnly(tcpOnly)(w, of, with); reason != "" || w.Event != proxyReload {
		return reason
	}
	if b, placed := k.placed(driver.Order{With: with}); !placed || b.program == programOwn {
		return "its proxies are tare's own, which have no configuration to reload; set program: " + programHAProxy
	}
	return ""
}

// cannotRead says why proxies that read requests cannot carry a workload.
func cannotRead(w study.Workload, _ traffic.Spec, with map[string]string) string {
	program := cmp.Or(with[settingProgram], programHAProxy)
	switch {
	case w.Kind != "http" && w.Kind != "http2" && w.Kind != "grpc":
		return "it sends no requests of HTTP, and the mode's proxies read requests"
	case w.Streaming == study.Bidi || w.Streaming == study.ServerStreams:
		return "each of its calls is one request with many messages, and the mode's proxies count requests"
	case w.TLS == study.On:
		return "it is in TLS from client to server, and the mode's proxies must read requests; use the mode's own setting " + settingTLS
	case w.Tool != "" && w.Tool != study.BuiltIn:
		return "an external tool does not count requests at both endpoints, and each must be found at the mode's proxies"
	case w.Kind != "http" && program == programNginx:
		return "nginx speaks HTTP/1.1 to servers; use program: " + programHAProxy
	case w.Event == proxyReload && program == programCaddy:
		return "Caddy reloads within one process, which no new worker shows; use program: " + programHAProxy
	case w.Event == proxyReload && program == programEnvoy:
		return "Envoy has no signal that makes it reload its configuration; use program: " + programHAProxy
	}
	return ""
}
