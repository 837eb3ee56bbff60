package proxy

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tare/internal/version"
)

// route is how the names of an HAProxy's routes begin.
const route = "route"

// What an HAProxy is asked, see its management guide, 9.3: to expect further questions, for the statistics of its frontends, and for
// what is known of the process. After each answer it writes a prompt.
const (
	haproxyKeep    = "prompt\n"
	haproxyQuery   = "show stat -1 1 -1\n"
	haproxyProcess = "show info\n"
	haproxyPrompt  = "\n> "
)

// haproxyPID returns the process id in an answer to haproxyProcess.
func haproxyPID(text string) (int, error) {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, "Pid: "); is {
			if pid, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && pid > 0 {
				return pid, nil
			}
		}
	}
	return 0, fmt.Errorf("HAProxy does not tell its process id, but %.80q", text)
}

// haproxyRequests returns how many requests the routes of an HAProxy have received, from its answer to haproxyQuery: lines of
// CSV, of which the first names the columns after a number sign.
func haproxyRequests(text string) (n uint64, err error) {
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "# ")))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return 0, fmt.Errorf("read the statistics of HAProxy: %w", err)
	}
	if len(lines) == 0 {
		return 0, errors.New("the statistics of HAProxy are empty")
	}
	name, count := slices.Index(lines[0], "pxname"), slices.Index(lines[0], "req_tot")
	if name < 0 || count < 0 {
		return 0, errors.New("the statistics of HAProxy have no column pxname or req_tot")
	}
	found := false
	for _, l := range lines[1:] {
		if len(l) <= max(name, count) || !strings.HasPrefix(l[name], route) {
			continue
		}
		one, err := strconv.ParseUint(l[count], 10, 63)
		if err != nil || one > math.MaxInt64-n {
			return 0, fmt.Errorf("the statistics of HAProxy have %.40q requests of %.40q", l[count], l[name])
		}
		n, found = n+one, true
	}
	if !found {
		return 0, errors.New("the statistics of HAProxy have no route")
	}
	return n, nil
}

// nginxQuery asks the module stub_status of nginx.
const nginxQuery = "GET / HTTP/1.0\r\n\r\n"

// nginxRequests returns how many requests an nginx has received since its start, this query included, from the answer to
// nginxQuery (nginx's documentation of ngx_http_stub_status_module): the third number behind the line that names it.
func nginxRequests(text string) (uint64, error) {
	_, after, found := strings.Cut(text, "server accepts handled requests\n")
	line, _, whole := strings.Cut(after, "\n")
	if numbers := strings.Fields(line); found && whole && len(numbers) == 3 {
		if n, err := strconv.ParseUint(numbers[2], 10, 63); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("nginx does not tell how many requests it handled, but %.80q", text)
}

// caddyQuery asks the handler metrics of Caddy.
const caddyQuery = "GET / HTTP/1.0\r\n\r\n"

// caddyRequests returns how many requests the routes of a Caddy have handled to their end, and how many they are handling, from the
// answer to caddyQuery in Prometheus' format (Caddy's documentation of its metrics). A route before its first request has no line.
func caddyRequests(text string) (n, inFlight uint64, err error) {
	known := false
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		into := &n
		switch {
		case name == "caddy_config_last_reload_successful":
			known = true
			continue
		case !strings.Contains(name, `server="`+route):
			continue
		case strings.HasPrefix(name, "caddy_http_requests_in_flight{"):
			into = &inFlight
		case !strings.HasPrefix(name, "caddy_http_requests_total{"):
			continue
		}
		// Values are floating-point numbers, such as 1.2e+06; up to this they are exact.
		const exact = 1 << 53
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0 && x < exact) || x != math.Trunc(x) || float64(*into)+x >= exact {
			return 0, 0, fmt.Errorf("the metrics of Caddy have %.40q requests", value)
		}
		*into += uint64(x)
	}
	if !known {
		return 0, 0, fmt.Errorf("caddy does not tell how many requests it handled, but %.80q", text)
	}
	return n, inFlight, nil
}

// envoyPath is the one question that an Envoy's administration endpoint answers: the requests that its routes have received so far.
const envoyPath = "/stats?filter=^http[.]" + route + "[0-9]+[.]" + envoyCount + "$"

// envoyCount is the name of the count of a route.
const envoyCount = "downstream_rq_total"

// envoyQuery asks an Envoy.
const envoyQuery = "GET " + envoyPath + " HTTP/1.1\r\nHost: " + programEnvoy + "\r\nConnection: close\r\n\r\n"

// envoyRequests returns how many requests the routes of an Envoy have received, from its answer to envoyQuery: a line for each
// route (Envoy's documentation of its administration interface). They are counted when they begin.
func envoyRequests(text string) (n uint64, err error) {
	answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		return 0, fmt.Errorf("read the statistics of Envoy: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s: %.80q", answer.Status, body)
	}
	if err != nil {
		return 0, fmt.Errorf("read the statistics of Envoy: %w", err)
	}
	found := false
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if !strings.HasPrefix(name, "http."+route) || !strings.HasSuffix(name, "."+envoyCount) {
			continue
		}
		one, err := strconv.ParseUint(value, 10, 63)
		if err != nil || one > math.MaxInt64-n {
			return 0, fmt.Errorf("the statistics of Envoy have %.40q requests of %.40q", value, name)
		}
		n, found = n+one, true
	}
	if !found {
		return 0, errors.New("the statistics of Envoy have no route")
	}
	return n, nil
}

// envoyOldest is the first version whose administration endpoint can be limited to some paths.
const envoyOldest = "1.37"

// envoyVersion returns the version and the kind of build in the line "PATH  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL".
func envoyVersion(line string) (string, error) {
	_, said, _ := strings.Cut(line, "  version: ")
	parts := strings.Split(said, "/")
	if len(parts) != 5 || !version.Known(parts[1]) { //nolint:mnd // as in the line above
		return "", fmt.Errorf("unexpected output %.80q", line)
	}
	if version.Older(parts[1], envoyOldest) {
		return "", fmt.Errorf("it is %.20s, and must be %s or newer", parts[1], envoyOldest)
	}
	return fmt.Sprintf("%s (%s, %s)", parts[1], parts[3], parts[4]), nil
}

// forwardedFor returns the addresses in X-Forwarded-For fields, of which each proxy has added one to the last.
func forwardedFor(fields []string) (all []string) {
	for _, f := range fields {
		for one := range strings.SplitSeq(f, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}
