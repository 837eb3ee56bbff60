package wireguard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.zx2c4.com/wireguard/conn"
	wg "golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
)

// library is the Go module that implements the tunnel.
const library = "golang.zx2c4.com/wireguard"

// comm is the process's name in the process table: tare-wireguard, so that its CPU time is
// distinguished from tare's own.
const comm = "tare-wireguard"

// ready is the first line that Serve writes.
type ready struct {
	Ready   bool   `json:"ready"`
	Version string `json:"version"` // of the library
	Batch   int    `json:"batch"`   // packets that the device handles at once; 1 means no segmentation offload
}

// Serve runs one endpoint of a WireGuard tunnel in the network in which it was started. It
// reads its configuration, including the keys, as the first line of stdin, creates the
// device, and writes a line when it is ready. It answers every further line with a line of
// counters. It exits when stdin is closed.
func Serve(stdin io.Reader, stdout io.Writer) error {
	if err := os.WriteFile("/proc/self/comm", []byte(comm), 0); err != nil {
		return fmt.Errorf("set the process name: %w", err)
	}
	in, out := bufio.NewReader(stdin), json.NewEncoder(stdout)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var e endpointConfig
	if err := json.Unmarshal(line, &e); err != nil {
		return errors.New("read the configuration: it does not describe a tunnel") // the decoder's error would contain a key
	}
	t, err := tun.CreateTUN(e.Device, e.MTU)
	if err != nil {
		return fmt.Errorf("create device %s: %w", e.Device, err)
	}
	d := wg.NewDevice(t, conn.NewDefaultBind(), wg.NewLogger(wg.LogLevelError, ""))
	defer d.Close()
	if err := d.IpcSet(e.uapi()); err != nil {
		return fmt.Errorf("configure %s: %w", e.Device, err)
	}
	if err := d.Up(); err != nil {
		return fmt.Errorf("listen on UDP port %d: %w", e.Port, err)
	}
	if err := out.Encode(ready{true, libraryVersion(), t.BatchSize()}); err != nil {
		return err
	}
	for {
		if _, err := in.ReadBytes('\n'); err != nil {
			return nil //nolint:nilerr // the tunnel ends with stdin
		}
		answer, err := d.IpcGet()
		if err != nil {
			return errors.New("read the tunnel's counters")
		}
		c, err := parseCounters(answer)
		if err != nil {
			return err
		}
		if err := out.Encode(c); err != nil {
			return err
		}
	}
}

// libraryVersion returns the version of the library in this program.
func libraryVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, d := range info.Deps {
		if d.Path == library {
			return d.Version
		}
	}
	return "unknown"
}
