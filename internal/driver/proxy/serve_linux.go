package proxy

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"tare/internal/driver/proxy/relay"
)

// comm is the process's name in the process table: its CPU time is the mode's, not tare's own.
const comm = "tare-proxy"

// The requests to a proxy.
const (
	askCounters = "counters"
	askFlush    = "flush" // end all connections first
)

// Serve runs a proxy in the network in which it was started. It reads its configuration,
// including its private key, as the first line of stdin, and writes a line of counters when it
// listens. It answers every further line, a request, with such a line. It exits when stdin is closed.
func Serve(stdin io.Reader, stdout io.Writer) error {
	if err := os.WriteFile("/proc/self/comm", []byte(comm), 0); err != nil {
		return fmt.Errorf("set the process name: %w", err)
	}
	in, out := bufio.NewReader(stdin), json.NewEncoder(stdout)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var cfg relay.Config
	if err := json.Unmarshal(line, &cfg); err != nil {
		return errors.New("read the configuration: it does not describe a proxy") // the decoder's error could contain a key
	}
	r, err := relay.Start(cfg)
	if err != nil {
		return err
	}
	for {
		if err := out.Encode(r.Counters()); err != nil {
			return err
		}
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil //nolint:nilerr // the proxy ends with stdin, and its connections with the process
		}
		var request string
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if request == askFlush {
			if err := r.Flush(); err != nil {
				return err
			}
		}
	}
}
