package proxy

import (
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// haproxyAnswer is what HAProxy 2.6 says of two routes, with fewer columns.
const haproxyAnswer = "# pxname,svname,scur,stot,req_rate,req_rate_max,req_tot,cli_abrt,\nroute0,FRONTEND,1,7,0,3,120,0,\nroute1,FRONTEND,0,0,0,0,3,0,\nstats,FRONTEND,0,0,0,0,9,0,\n\n"

const nginxAnswer = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nConnection: close\r\n\r\nActive connections: 2 \nserver accepts handled requests\n 11 11 1234 \nReading: 0 Writing: 1 Waiting: 1 \n"

const caddyAnswer = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n# TYPE caddy_config_last_reload_successful gauge\ncaddy_config_last_reload_successful 1\n" +
	"caddy_http_requests_in_flight{handler=\"metrics\",server=\"stats\"} 1\ncaddy_http_requests_in_flight{handler=\"reverse_proxy\",server=\"route0\"} 2\n" +
	"caddy_http_requests_total{handler=\"metrics\",server=\"stats\"} 7\ncaddy_http_requests_total{handler=\"reverse_proxy\",server=\"route0\"} 1.2e+06\ncaddy_http_requests_total{handler=\"reverse_proxy\",server=\"route12\"} 34\n"

// Those of Caddy are of requests that have ended, beside those in progress; before the first request there is none.
func TestCaddyCounts(t *testing.T) {
	n, inFlight, err := caddyRequests(caddyAnswer)
	must.Do(t, err)
	must.Equal(t, [2]uint64{1_200_034, 2}, [2]uint64{n, inFlight})
	n, inFlight, err = caddyRequests("caddy_config_last_reload_successful 1\n")
	must.Do(t, err)
	must.Equal(t, [2]uint64{}, [2]uint64{n, inFlight})
	for text, want := range map[string]string{
		"": "does not tell how many requests", "HTTP/1.0 404 Not Found\r\n\r\n": "does not tell how many requests",
		strings.Replace(caddyAnswer, "} 34", "} NaN", 1): "have \"NaN\" requests", strings.Replace(caddyAnswer, "} 34", "}", 1): "have \"\" requests",
		strings.Replace(caddyAnswer, "} 34", "} 3.5", 1): "have \"3.5\" requests", strings.Replace(caddyAnswer, "} 34", "} 1e+300", 1): "have \"1e+300\" requests",
	} {
		_, _, err := caddyRequests(text)
		must.FailLine(t, text, err, want)
	}
}

// Counts are those of the routes; an answer without them is an error, and never 0.
func TestRequestCounts(t *testing.T) {
	must.Equal(t, uint64(123), must.Get(haproxyRequests(haproxyAnswer))(t))
	must.Equal(t, uint64(1234), must.Get(nginxRequests(nginxAnswer))(t))
	for text, want := range map[string]string{
		"":                                 "are empty",
		"# pxname,svname\nroute0,FRONTEND": "have no column",
		"# pxname,req_tot\nstats,3":        "have no route",
		"# pxname,req_tot\nroute0,":        "have \"\" requests of \"route0\"",
		"# pxname,req_tot\nroute0,-3":      "have \"-3\" requests",
		"# pxname,req_tot\n\"route0":       "read the statistics",
		"Permission denied\n":              "have no column",
	} {
		_, err := haproxyRequests(text)
		must.FailLine(t, text, err, want)
	}
	for _, text := range []string{"", "HTTP/1.1 404 Not Found\r\n\r\n", strings.Replace(nginxAnswer, "1234", "x", 1), strings.Replace(nginxAnswer, " 11 11 1234 \n", " 11 11 1234", 1)[:150], strings.Replace(nginxAnswer, "11 11 ", "11 ", 1)} {
		_, err := nginxRequests(text)
		must.FailLine(t, text, err, "does not tell how many requests")
	}
}

// envoyAnswer has the answer in two chunks, of which the second begins within a number.
const envoyAnswer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=UTF-8\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n" +
	"27\r\nhttp.route0.downstream_rq_total: 120000\r\n2b\r\n0\nhttp.route12.downstream_rq_total: 34\nx: y\r\n0\r\n\r\n"

// Counts are those of all routes, and an answer that does not have them is an error, and never 0.
func TestEnvoyCounts(t *testing.T) {
	must.Equal(t, uint64(1_200_034), must.Get(envoyRequests(envoyAnswer))(t))
	const head = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
	must.Equal(t, uint64(0), must.Get(envoyRequests(head+"http.route0.downstream_rq_total: 0\n"))(t))
	for text, want := range map[string]string{
		"": "read the statistics of Envoy", "http.route0.downstream_rq_total: 3": "read the statistics of Envoy", envoyAnswer[:len(envoyAnswer)-20]: "unexpected EOF",
		"HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\nrequest to path /stats not allowed": "it answers 403 Forbidden: \"request to path /stats not allowed\"",
		head: "have no route", head + "http.admin.downstream_rq_total: 3\n": "have no route", head + "http.route0.downstream_rq_active: 3\n": "have no route",
		head + "http.route0.downstream_rq_total: -3\n":                                     "have \"-3\" requests of",
		head + "http.route0.downstream_rq_total\n":                                         "have \"\" requests of",
		head + strings.Repeat("http.route0.downstream_rq_total: 9223372036854775807\n", 2): "have \"9223372036854775807\" requests of",
	} {
		_, err := envoyRequests(text)
		must.FailLine(t, text, err, want)
	}
}

// A version has its kind of build with it; one that is too old, and another program, are refused by name.
func TestEnvoyVersion(t *testing.T) {
	must.Equal(t, "1.40.0 (RELEASE, BoringSSL)", must.Get(envoyVersion("/a b/envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL"))(t))
	for line, want := range map[string]string{
		"envoy  version: 9e55/1.36.2/Clean/RELEASE/BoringSSL": "it is 1.36.2, and must be 1.37 or newer",
		"something else": "unexpected output \"something else\"", "": "unexpected output", "envoy  version: 9e55/new/Clean/RELEASE/BoringSSL": "unexpected output",
		"envoy  version: 1.40.0": "unexpected output",
	} {
		_, err := envoyVersion(line)
		must.FailLine(t, line, err, want)
	}
}

func TestHAProxyPID(t *testing.T) {
	must.Equal(t, 12433, must.Get(haproxyPID("Name: HAProxy\nNbthread: 2\nPid: 12433\nUptime: 0d\n"))(t))
	for _, text := range []string{"", "Pid: \n", "Pid: -4\n", "Unknown command\nPid 3\n"} {
		_, err := haproxyPID(text)
		must.FailLine(t, text, err, "does not tell its process id")
	}
}

// FuzzRequestCounts checks that any answer gives an error in one line, or a count that it has in it.
func FuzzRequestCounts(f *testing.F) {
	f.Add(haproxyAnswer)
	f.Add(nginxAnswer)
	f.Add(caddyAnswer)
	f.Add(envoyAnswer)
	f.Add("# pxname,req_tot\nroute,9223372036854775807\nroute,9223372036854775807\nroute,9223372036854775807\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := haproxyRequests(text)
		if err == nil && (!strings.Contains(text, route) || !strings.Contains(text, "req_tot")) {
			t.Errorf("%q has %d requests", text, n)
		}
		if pid, err := haproxyPID(text); err == nil && (pid < 1 || !strings.Contains(text, "Pid: ")) {
			t.Errorf("%q has process id %d", text, pid)
		}
		if n, inFlight, err := caddyRequests(text); err == nil && n+inFlight > 0 && !strings.Contains(text, "server=\""+route) {
			t.Errorf("%q has %d requests, %d of them in progress", text, n, inFlight)
		}
		if n, err := envoyRequests(text); err == nil && (n >= 1<<63 || !strings.Contains(text, "HTTP/")) {
			t.Errorf("%q has %d requests", text, n)
		}
		if n, err := nginxRequests(text); err == nil && (n == 0 || !strings.Contains(text, "requests\n")) {
			t.Errorf("%q has %d requests", text, n)
		}
	})
}

func TestForwardedFor(t *testing.T) {
	must.Equal(t, []string{"127.0.0.1", "198.18.0.1", "::1"}, forwardedFor([]string{"127.0.0.1, 198.18.0.1", "", " ::1,"}))
}
