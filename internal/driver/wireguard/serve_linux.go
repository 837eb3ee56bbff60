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

// library is the module whose code the tunnel is.
const library = "golang.zx2c4.com/wireguard"

// comm is what the process is called in the process table: tare-wireguard, so that what
// it spends is told from tare itself.
const comm = "tare-wireguard"

// ready is the first line that Serve writes.
type ready struct {
	Ready   bool   `json:"ready"`
	Version string `json:"version"` // of the library
	Batch   int    `json:"batch"`   // packets that the device takes at once; 1 is without segmentation offload
}

// Serve is one end of a WireGuard tunnel in the network that it was started in. It reads
// its configuration, with the keys, as the first line of stdin, makes the device, and
// writes a line when it stands; then to every further line it answers with its counters
// in one. It ends with stdin.
func Serve(stdin io.Reader, stdout io.Writer) error {
	if err := os.WriteFile("/proc/self/comm", []byte(comm), 0); err != nil {
		return fmt.Errorf("take a name: %w", err)
	}
	in, out := bufio.NewReader(stdin), json.NewEncoder(stdout)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var e end
	if err := json.Unmarshal(line, &e); err != nil {
		return errors.New("read the configuration: it is not one of a tunnel") // whose text has a key
	}
	t, err := tun.CreateTUN(e.Device, e.MTU)
	if err != nil {
		return fmt.Errorf("make the device %s: %w", e.Device, err)
	}
	d := wg.NewDevice(t, conn.NewDefaultBind(), wg.NewLogger(wg.LogLevelError, ""))
	defer d.Close()
	if err := d.IpcSet(e.uapi()); err != nil {
		return fmt.Errorf("configure %s: %w", e.Device, err)
	}
	if err := d.Up(); err != nil {
		return fmt.Errorf("listen at UDP port %d: %w", e.Port, err)
	}
	if err := out.Encode(ready{true, libraryVersion(), t.BatchSize()}); err != nil {
		return err
	}
	for {
		if _, err := in.ReadBytes('\n'); err != nil {
			return nil //nolint:nilerr // the end of stdin is the tunnel's
		}
		answer, err := d.IpcGet()
		if err != nil {
			return errors.New("read the tunnel's counters")
		}
		c, err := counted(answer)
		if err != nil {
			return err
		}
		if err := out.Encode(c); err != nil {
			return err
		}
	}
}

// libraryVersion is that of the library in this program.
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
