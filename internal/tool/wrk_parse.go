package tool

import (
	"errors"
	"fmt"
	"regexp"
)

// The lines of wrk that are read. The bytes in the first are rounded, and so is its time; the latencies, which precede it, are not
// those that were measured: wrk adds some that it thinks it would have measured with a schedule.
var (
	wrkTotal    = regexp.MustCompile(`(?m)^ +(\d+) requests in [0-9.]+(?:us|ms|s|m|h), `)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec: +(\d+\.\d+)$`)
	wrkSocket   = regexp.MustCompile(`(?m)^ +Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`)
	wrkStatuses = regexp.MustCompile(`(?m)^ +Non-2xx or 3xx responses: (\d+)$`)
)

// readWrk reads the totals of wrk. Its requests are those that were answered, with whatever status and however late.
func readWrk(_ job, out output) (parsed, error) {
	total, rate := wrkTotal.FindSubmatch(out.stdout), wrkRate.FindSubmatch(out.stdout)
	if total == nil || rate == nil {
		return nil, fmt.Errorf("it printed no totals%s", out.hint())
	}
	a := answers{}
	var err error
	if a.answered, err = requests(string(total[1]), "requests"); err != nil {
		return nil, err
	}
	var late, status int64
	if m := wrkSocket.FindSubmatch(out.stdout); m != nil {
		var n [4]int64
		for i, of := range []string{"connect errors", "read errors", "write errors", "timeouts"} {
			if n[i], err = requests(string(m[i+1]), of); err != nil {
				return nil, err
			}
		}
		late = n[3]
		a.failed = []failed{{n[0], "refused"}, {n[1], "reset, or not answered in HTTP"}, {n[2], "reset before they were sent"}, {n[3], fmt.Sprintf("answered after more than %d s", wrkTimeout)}}
	}
	if m := wrkStatuses.FindSubmatch(out.stdout); m != nil {
		if status, err = requests(string(m[1]), "responses with an error"); err != nil {
			return nil, err
		}
		a.failed = append(a.failed, failed{status, "answered 4xx or 5xx"})
	}
	perSecond, err := parseFinite(string(rate[1]))
	if err != nil {
		return nil, fmt.Errorf("its rate is not a number: %w", err)
	}
	if perSecond > 0 { // the time to the microsecond, which it prints rounded
		a.seconds = float64(a.answered) / perSecond
		a.whole = a.seconds
	}
	if a.answered -= late + status; a.answered < 0 {
		return nil, errors.New("its output has more errors than responses, which is impossible")
	}
	return a, nil
}
