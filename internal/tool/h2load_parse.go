package tool

import (
	"fmt"
	"regexp"
)

// The lines of h2load that are read. Counts are those of the timed window, the rates those of its clients.
var (
	h2loadFinished = regexp.MustCompile(`(?m)^finished in ([0-9.]+)(us|ms|s), [0-9.]+ req/s, `)
	h2loadRequests = regexp.MustCompile(`(?m)^requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$`)
	h2loadStatuses = regexp.MustCompile(`(?m)^status codes: \d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$`)
	h2loadRates    = regexp.MustCompile(`(?m)^req/s +: +[0-9.]+ +[0-9.]+ +([0-9.]+) `)
)

// readH2load reads the totals of h2load. To it a redirect has succeeded; what failed has an error, or a status of one.
func readH2load(j job, out output) (parsed, error) {
	finished, total := h2loadFinished.FindSubmatch(out.stdout), h2loadRequests.FindSubmatch(out.stdout)
	statuses, rates := h2loadStatuses.FindSubmatch(out.stdout), h2loadRates.FindSubmatch(out.stdout)
	if finished == nil || total == nil || statuses == nil || rates == nil {
		return nil, fmt.Errorf("it printed no totals%s", out.hint())
	}
	var n [7]int64
	for i, digits := range append(total[1:], statuses[1:]...) {
		var err error
		if n[i], err = requests(string(digits), "requests"); err != nil {
			return nil, err
		}
	}
	succeeded, failures, errored, late, redirects, wrong, broken := n[0], n[1], n[2], n[3], n[4], n[5], n[6]
	a := answers{answered: succeeded - redirects}
	a.failed = []failed{
		{late, "without a response in time"}, {errored - late, "reset, or refused"}, {redirects, "answered with a redirect"},
		{wrong, "answered 4xx"}, {broken, "answered 5xx"},
	}
	if a.answered < 0 || errored < late || failures < errored {
		return nil, fmt.Errorf("its output has %d requests that succeeded and %d that failed, with other sums of both, which is impossible", succeeded, failures)
	}
	var err error
	if a.whole, err = h2loadTime(finished); err != nil {
		return nil, err
	}
	if whole := succeeded + failures - errored; whole > 0 {
		a.seconds, err = h2loadWindow(j, whole, rates, a.whole)
	}
	return a, err
}

// h2loadTime reads the time of the whole run in seconds.
func h2loadTime(finished [][]byte) (float64, error) {
	n, err := parseFinite(string(finished[1]))
	if err != nil {
		return 0, fmt.Errorf("its time is not a number: %w", err)
	}
	return n * map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1}[string(finished[2])], nil
}

// h2loadSlack bounds how far the clocks of h2load's clients and that of the whole run, which it rounds to 10 ms, may be apart.
const h2loadSlack = 0.02

// h2loadWindow returns how long the clients counted that many responses, in seconds, from their mean rate by their own clocks. h2load's rate
// is by the time that was requested, which it exceeds if it gets no CPU.
func h2loadWindow(j job, responses int64, rates [][]byte, whole float64) (float64, error) {
	mean, err := parseFinite(string(rates[1]))
	if err != nil || mean <= 0 {
		return 0, fmt.Errorf("its clients had a mean rate of %.40s/s, which is impossible", rates[1])
	}
	connections, _ := j.connections()
	seconds := float64(responses) / (mean * float64(connections))
	most := whole - j.Warmup.Seconds()
	if slack := h2loadSlack * (1 + most); seconds < j.Duration.Seconds()-slack || seconds > most+slack || most <= 0 {
		return 0, fmt.Errorf("its clients counted for %.3g s of %.3g s without the warm-up, and %s were requested", seconds, most, j.Duration)
	}
	return min(seconds, whole), nil
}
