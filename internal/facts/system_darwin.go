package facts

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// system records what macOS tells.
func (m *machine) system() { m.mac(variables{}) }

// variables are those of this machine.
type variables struct{}

func (variables) Text(name string) (string, error) {
	text, err := unix.Sysctl(name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// Number reads a variable of four or eight bytes.
func (variables) Number(name string) (uint64, error) {
	raw, err := unix.SysctlRaw(name)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read %s: %w", name, err)
	case len(raw) == 4:
		return uint64(binary.NativeEndian.Uint32(raw)), nil
	case len(raw) == 8:
		return binary.NativeEndian.Uint64(raw), nil
	}
	return 0, fmt.Errorf("read %s: it has %d bytes", name, len(raw))
}
