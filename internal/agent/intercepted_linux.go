package agent

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// otherEndHere reports whether the other end of a connection over TCP is a socket of this network namespace, which a direct
// connection to another one does not have: redirection has led it to a proxy here. is tells that end by its addresses, as it has them.
func otherEndHere(is func(local, remote netip.AddrPort) bool) (here bool, err error) {
	for _, name := range []string{"tcp", "tcp6"} {
		file, err := os.Open("/proc/self/net/" + name)
		if name == "tcp6" && errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err == nil {
			err = eachConnection(file, func(local, remote netip.AddrPort) { here = here || is(local, remote) })
			file.Close()
		}
		if err != nil {
			return false, fmt.Errorf("list the connections of the network namespace: %w", err)
		}
	}
	return here, nil
}

// eachConnection calls fn with the addresses of each connection that is open in a file with the form of /proc/net/tcp (kernel:
// Documentation/networking/proc_net_tcp.rst): number, local address, remote address, state, ...
func eachConnection(file io.Reader, fn func(local, remote netip.AddrPort)) error {
	const timeWait, listen = "06", "0A"
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || f[3] == timeWait || f[3] == listen {
			continue
		}
		local, err := procAddress(f[1])
		remote, errRemote := procAddress(f[2])
		if err == nil && errRemote == nil { // the first line has titles
			fn(local, remote)
		}
	}
	return lines.Err()
}

// procAddress parses an address as in /proc/net/tcp: words of 32 bits in the CPU's byte order, and the port.
func procAddress(text string) (netip.AddrPort, error) {
	words, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(words)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for at := 0; at+4 <= len(raw); at += 4 {
		binary.NativeEndian.PutUint32(raw[at:], binary.BigEndian.Uint32(raw[at:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%.40q is no address", text)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}
