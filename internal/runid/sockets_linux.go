package runid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket is an abstract Unix socket that has a name.
type Socket struct {
	Name string // begins with @
	User int    // who created it, or UnknownUser
}

// Bound lists the abstract Unix sockets of this network namespace whose names begin with
// prefix. The kernel tells their users since Linux 5.3, if it has CONFIG_UNIX_DIAG.
func Bound(prefix string) ([]Socket, error) {
	all, err := diagnosed()
	if err != nil {
		all, err = named()
	}
	var out []Socket
	for _, s := range all {
		if strings.HasPrefix(s.Name, prefix) {
			out = append(out, s)
		}
	}
	return out, err
}

// The parts of unix_diag that x/sys does not have (linux/unix_diag.h, sock_diag(7)).
const (
	sockDiagByFamily = 20
	showName         = 1 << 0
	showUser         = 1 << 6
	attrName         = 0
	attrUser         = 7
	diagHead         = 16         // struct unix_diag_msg, which the attributes follow
	anyState         = 0xffffffff // of sockets that do not listen too
)

// errOldKernel reports that the kernel does not tell the users of sockets.
var errOldKernel = errors.New("the kernel does not tell who has a socket")

// diagnosed lists all abstract sockets with their users.
func diagnosed() ([]Socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	const size = unix.SizeofNlMsghdr + 24 // struct unix_diag_req
	req := make([]byte, size)
	binary.NativeEndian.PutUint32(req[0:], size)
	binary.NativeEndian.PutUint16(req[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(req[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := req[unix.SizeofNlMsghdr:]
	body[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(body[4:], anyState)
	binary.NativeEndian.PutUint32(body[12:], showName|showUser)
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	return received(fd)
}

// received reads the answer to the request for sockets.
func received(fd int) ([]Socket, error) {
	var all []Socket
	buf := make([]byte, 1<<16)
	for {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if kernel, ok := from.(*unix.SockaddrNetlink); !ok || kernel.Pid != 0 {
			continue // a process sent it
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				return all, nil
			case unix.NLMSG_ERROR:
				return nil, fmt.Errorf("%w (an error was returned)", errOldKernel)
			}
			s, err := socketOf(m.Data)
			if err != nil {
				return nil, err
			}
			if s.Name != "" {
				all = append(all, s)
			}
		}
	}
}

// socketOf reads one socket. Its name is empty if it has none, or is not abstract.
func socketOf(data []byte) (Socket, error) {
	s := Socket{User: UnknownUser}
	if len(data) < diagHead {
		return s, errOldKernel
	}
	for rest := data[diagHead:]; len(rest) >= unix.SizeofNlAttr; {
		size := int(binary.NativeEndian.Uint16(rest))
		if size < unix.SizeofNlAttr || size > len(rest) {
			return s, errOldKernel
		}
		value := rest[unix.SizeofNlAttr:size]
		switch binary.NativeEndian.Uint16(rest[2:]) {
		case attrName:
			if len(value) > 1 && value[0] == 0 {
				s.Name = "@" + string(value[1:])
			}
		case attrUser:
			if len(value) == 4 {
				s.User = int(binary.NativeEndian.Uint32(value))
			}
		}
		rest = rest[min(len(rest), (size+unix.NLA_ALIGNTO-1)&^(unix.NLA_ALIGNTO-1)):]
	}
	return s, nil
}

// named lists all abstract sockets by their names alone, on kernels that tell no more.
func named() ([]Socket, error) { return namedIn("/proc/net/unix") }

func namedIn(file string) ([]Socket, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []Socket
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) > 0 && strings.HasPrefix(fields[len(fields)-1], "@") {
			all = append(all, Socket{fields[len(fields)-1], UnknownUser})
		}
	}
	return all, nil
}
