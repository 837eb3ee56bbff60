package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/study/suggest"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// The limits of the question of a first run: how long it waits, and how many answers it reads.
const (
	answerTime  = time.Minute
	mostAnswers = 3
)

// firstRun reports whether a run without any choice is the first one of somebody who can be asked: at a terminal that
// this program may read, not in a CI job, and without earlier runs.
func firstRun(s command.Streams) bool {
	for _, stream := range []any{s.Stdin, s.Stdout, s.Stderr} {
		if tty, _, _ := command.Terminal(stream); !tty {
			return false
		}
	}
	if os.Getenv("CI") != "" || linuxnet.Inside() || command.InBackground(s.Stdin) {
		return false
	}
	entries, err := os.ReadDir(rundir.Default())
	return errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0
}

// askTraffic asks which traffic is the user's and returns the name of a study.Purpose, or "" for the workloads of the
// study: after Enter, at the end of the input, and without an answer in answerTime.
func askTraffic(background context.Context, s command.Streams) (purpose string, failed error) {
	ctx, stop := s.Ending(background)
	defer stop()
	if err := listPurposes(s.Stderr); err != nil {
		return "", err
	}
	// The terminal cannot be read with a time limit. What waits for it ends with the program.
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(io.LimitReader(s.Stdin, 4<<10))
		for in.Scan() {
			select {
			case lines <- strings.TrimSpace(in.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	late := time.After(answerTime)
	for range mostAnswers {
		fmt.Fprint(s.Stderr, "Your traffic [Enter]: ")
		select {
		case <-ctx.Done():
			fmt.Fprintln(s.Stderr)
			return "", command.Done(command.ExitInterrupted)
		case <-late:
			fmt.Fprintf(s.Stderr, "\ntare: no answer in %s: measuring the default\n", answerTime)
			return "", nil
		case line, more := <-lines:
			if !more {
				fmt.Fprintln(s.Stderr)
			}
			purpose, err := purposeOf(line)
			if err == nil {
				return purpose, nil
			}
			fmt.Fprintf(s.Stderr, "tare: %s\n", command.Shown(err))
		}
	}
	return "", command.Usage(fmt.Errorf("no valid answer in %d; name your traffic with --for %s", mostAnswers, strings.Join(study.PurposeNames(), "|")))
}

// purposeOf reads an answer: a number of the list, a name, or nothing.
func purposeOf(answer string) (string, error) {
	names := study.PurposeNames()
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(names) {
		return names[n-1], nil
	}
	if answer == "" || slices.Contains(names, answer) {
		return answer, nil
	}
	return "", errors.New(suggest.Unknown("traffic", answer, fmt.Sprintf(" (1 to %d, or a name)", len(names)), names))
}

// listPurposes prints the question: each kind of application, with what its workloads stand for.
func listPurposes(out io.Writer) error {
	fmt.Fprintln(out, "Which traffic is yours? (tare run --for NAME does not ask)")
	all := workloads.All()
	standsFor := func(kind string) string {
		i := slices.IndexFunc(all, func(w traffic.Workload) bool { return w.Spec().Kind == kind })
		if i < 0 {
			return ""
		}
		return all[i].Spec().StandsFor
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, p := range study.Purposes() {
		fmt.Fprintf(t, "  %d %s\t%s\t\n", i+1, p.Name, p.Title)
		var kinds []string
		for _, w := range p.Workloads {
			if means := standsFor(w.Kind); means != "" && !slices.Contains(kinds, w.Kind) { // the title says it of one without traffic
				kinds = append(kinds, w.Kind)
				fmt.Fprintf(t, "\t%s: %s\t\n", w.Kind, means)
			}
		}
	}
	var first []string
	for _, kind := range firstWorkloads() {
		first = append(first, kind+": "+standsFor(kind))
	}
	fmt.Fprintf(t, "  Enter\ta first look\t\n\t%s\t\n", strings.Join(first, "\t\n\t"))
	return t.Flush()
}

// firstWorkloads are those of every study that a run chooses itself.
func firstWorkloads() []string { return []string{"tcp_stream", "tcp_rr"} }
