package guest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
)

// confinement is how a guest's QEMU is kept from the rest of this machine, in case the guest breaks
// out of it. A system may lack a part; QEMU then starts without it, and why is recorded.
type confinement struct {
	user       *syscall.Credential // nil: the user of this program
	whyUser    string              // why user is nil
	sandbox    bool                // QEMU allows itself only the system calls that it needs (seccomp)
	whySandbox string              // why sandbox is false
}

// sandboxArgument is QEMU's filter of system calls. It denies obsolete calls, others that a guest
// never causes, starting programs, and changing user.
const sandboxArgument = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"

// The user ids that systemd gives to services for as long as they run (systemd, UIDS-GIDS: 61184 to
// 65519). No file belongs to them, and nobody logs in with them.
const (
	firstUID  = 61184
	countUIDs = 65519 - firstUID + 1
)

// confine returns the confinement of the guests of a run. Without root, QEMU already runs as an
// unprivileged user. Go changes the user before it starts QEMU, so that QEMU never has rights, and
// needs no call for it that its filter would have to allow.
func confine(run string) confinement {
	if !linuxnet.RealRoot() {
		return confinement{sandbox: true, whyUser: "this program does not run as root"}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(run)) // it never fails
	id := firstUID + h.Sum32()%countUIDs
	c := confinement{sandbox: true, user: &syscall.Credential{Uid: id, Gid: id, Groups: []uint32{}}}
	var st unix.Stat_t
	if unix.Stat(kvmDevice, &st) == nil && st.Mode&0o060 == 0o060 && st.Gid != 0 {
		c.user.Groups = append(c.user.Groups, st.Gid)
	}
	return c
}

// relax returns a weaker confinement if a boot failed because this system cannot confine QEMU so. m
// is the machine of that boot.
func (c confinement) relax(m *Machine, err error) (confinement, bool) {
	said, state := "", ""
	if m.qemu != nil && m.qemu.Cmd.ProcessState != nil {
		said, state = m.qemu.LastLine(), m.qemu.State()
	}
	var denied syscall.Errno
	switch {
	case c.sandbox && (strings.Contains(said, "sandbox") || strings.Contains(state, "bad system call")):
		c.sandbox, c.whySandbox = false, "QEMU does not run with -sandbox: "+firstOf(said, state)
	case c.user != nil && strings.Contains(said, "ermission denied"):
		c.user, c.whyUser = nil, "QEMU does not run as another user: "+said
	case c.user != nil && state == "" && errors.As(err, &denied) && (denied == syscall.EPERM || denied == syscall.EACCES || denied == syscall.EINVAL):
		c.user, c.whyUser = nil, "QEMU cannot be started as another user: "+denied.Error()
	default:
		return c, false
	}
	return c, true
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// userText and sandboxText describe the confinement for people.
func (c confinement) userText() string {
	if c.user == nil {
		return fmt.Sprintf("uid %d (%s)", os.Geteuid(), c.whyUser)
	}
	return "uid " + strconv.Itoa(int(c.user.Uid)) + ", which nothing else uses"
}

func (c confinement) sandboxText() string {
	if !c.sandbox {
		return "none (" + c.whySandbox + ")"
	}
	return "seccomp"
}

// own gives QEMU's user a pipe, which QEMU opens once more by its path.
func (c confinement) own(pipe *os.File) error {
	if c.user == nil {
		return nil
	}
	return pipe.Chown(int(c.user.Uid), int(c.user.Gid))
}

// readable returns a file with the content of path that QEMU's user can open, or nil if that is path
// itself.
func (c confinement) readable(path string) (*os.File, error) {
	if c.user == nil {
		return nil, nil //nolint:nilnil // no file is needed
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := memory("tare-kernel")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, in); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return f, nil
}
