package runner

import (
	"fmt"

	"tare/internal/traffic"
)

// workload finds what makes a trial's traffic and reads its figures.
func workload(p traffic.Params) (traffic.Workload, error) { return traffic.For(p) }

// compatible refuses a trial whose two ends ran versions of an external tool that
// cannot be relied on together. It is the one place where that is checked.
//
// iperf3 answers another version at its other end with anything from an error to
// figures that mean something else, so both must be the same. The other tools
// keep to one protocol.
func compatible(client, server traffic.Report) error {
	c, s := client.Tool, server.Tool
	switch {
	case c == nil && s == nil:
		return nil
	case c == nil || s == nil || c.Name != s.Name:
		return fmt.Errorf("the two ends ran different generators: %s and %s", toolName(c), toolName(s))
	case c.Name == "iperf3" && c.Version != s.Version:
		return fmt.Errorf("iperf3 is %s at the client and %s at the server: install the same version at both ends", c.Version, s.Version)
	}
	return nil
}

func toolName(t *traffic.ToolRun) string {
	if t == nil {
		return "tare"
	}
	return t.Name + " " + t.Version
}
