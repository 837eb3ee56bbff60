package facts

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"

	"tare/internal/result"
)

// Rights are the privileges of this process, as far as they are known without trying. The
// probe of a mode or a lab tries and is authoritative.
type Rights struct {
	EUID int // effective user id, -1 if the system has none

	// NetAdmin and SysAdmin tell whether CAP_NET_ADMIN and CAP_SYS_ADMIN are effective in
	// this process's user namespace. MachineWide tells whether that is the machine's own.
	NetAdmin, SysAdmin Answer
	MachineWide        Answer

	// UserNamespaces tells, from the kernel's settings, whether an unprivileged process can
	// probably create a user namespace and be root in it.
	UserNamespaces Answer
}

// Answer is yes, no or unknown. Why is set unless it is a plain yes or no.
type Answer struct {
	Yes, No bool
	Why     string
}

// String returns yes, no or unknown, and why.
func (a Answer) String() string {
	s := "unknown"
	switch {
	case a.Yes:
		s = "yes"
	case a.No:
		s = "no"
	}
	if a.Why != "" {
		s += ": " + a.Why
	}
	return s
}

// Facts lists the rights as facts, most important first.
func (r Rights) Facts() []result.Fact {
	euid := "unknown: this system has none"
	if r.EUID >= 0 {
		euid = strconv.Itoa(r.EUID)
	}
	return []result.Fact{
		{Name: "euid", Value: euid},
		{Name: "cap_net_admin", Value: r.NetAdmin.String()},
		{Name: "cap_sys_admin", Value: r.SysAdmin.String()},
		{Name: "initial_user_namespace", Value: r.MachineWide.String()},
		{Name: "unprivileged_user_namespaces", Value: r.UserNamespaces.String()},
	}
}

// ReadRights reads the privileges of this process; settings are read below root, normally
// "/". It cannot fail; what cannot be read is an unknown Answer.
func ReadRights(root string) Rights {
	fsys := os.DirFS(root)
	r := Rights{EUID: os.Geteuid()}
	r.NetAdmin, r.SysAdmin = capabilities()
	if runtime.GOOS != "linux" {
		const why = "only Linux has user namespaces"
		r.MachineWide, r.UserNamespaces = Answer{Why: why}, no(why)
		return r
	}
	r.MachineWide = machineWide(fsys)
	r.UserNamespaces = userNamespaces(fsys)
	return r
}

func yes() Answer             { return Answer{Yes: true} }
func no(why string) Answer    { return Answer{No: true, Why: why} }
func maybe(err error) Answer  { return Answer{Why: err.Error()} }
func answer(held bool) Answer { return Answer{Yes: held, No: !held} }

// machineWide reports whether the user namespace is the machine's own, which maps every
// user id to itself.
func machineWide(fsys fs.FS) Answer {
	m, err := readFile(fsys, "proc/self/uid_map")
	if err != nil {
		return maybe(err)
	}
	if m == "0 0 4294967295" {
		return yes()
	}
	return no("user ids are mapped (" + m + ")")
}

// userNamespaces reads the settings by which kernels and distributions deny user namespaces
// to unprivileged processes.
func userNamespaces(fsys fs.FS) Answer {
	const kernel = "proc/sys/kernel/"
	limit, err := readFile(fsys, "proc/sys/user/max_user_namespaces")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Answer{Why: "no /proc/sys/user/max_user_namespaces: the kernel may be built without them"}
	case err != nil:
		return maybe(err)
	case limit == "0":
		return no("user.max_user_namespaces is 0")
	}
	// A Debian setting. Like AppArmor's it is absent on most kernels, which then deny
	// nothing.
	if v, err := readFile(fsys, kernel+"unprivileged_userns_clone"); err == nil && v == "0" {
		return no("kernel.unprivileged_userns_clone is 0")
	}
	if v, err := readFile(fsys, kernel+"apparmor_restrict_unprivileged_userns"); err == nil && v != "0" {
		return no("kernel.apparmor_restrict_unprivileged_userns is " + v + ": only programs with an AppArmor profile for it")
	}
	return yes()
}
