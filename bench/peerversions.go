package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// versions prints which peers stand in a section.
func versions(ctx context.Context, names ...string) error {
	commands := map[string][]string{
		"iperf3": {"iperf3", "--version"}, "iperf2": {"iperf", "-v"}, "nuttcp": {"nuttcp", "-V"},
		"sockperf": {"sockperf", "--version"}, "qperf": {"qperf", "--version"}, "gcc": {"gcc", "--version"},
	}
	number := regexp.MustCompile(`\d+\.\d+[0-9.]*`)
	var said []string
	for _, name := range names {
		line := commands[name]
		// Some print their version with an exit code of failure.
		out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
		v := number.Find(out)
		if v == nil {
			return fmt.Errorf("ask %s for its version: %w: scripts/setup-bench installs it", name, err)
		}
		said = append(said, name+" "+string(v))
	}
	fmt.Printf("Against %s.\n\n", strings.Join(said, ", "))
	return nil
}

// onStand prints a section's title and runs it on a stand of its own.
func onStand(ctx context.Context, b bench, title string, peers []string, run func(context.Context, *stand) error) (err error) {
	fmt.Printf("### %s\n\n", title)
	if err := versions(ctx, peers...); err != nil {
		return err
	}
	s, err := newStand(b)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.close(); err == nil {
			err = cerr
		}
	}()
	if err := run(ctx, s); err != nil {
		return err
	}
	fmt.Println()
	return nil
}
