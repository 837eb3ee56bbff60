package facts

import (
	"testing"
	"testing/fstest"

	"tare/internal/testkit/must"
)

func tree(files map[string]string) fstest.MapFS {
	fsys := make(fstest.MapFS)
	for path, text := range files {
		fsys[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestUserNamespaces(t *testing.T) {
	const (
		limit    = "proc/sys/user/max_user_namespaces"
		debian   = "proc/sys/kernel/unprivileged_userns_clone"
		apparmor = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	)
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no switch against it", map[string]string{limit: "96365\n"}, "yes"},
		{"switches that allow", map[string]string{limit: "9", debian: "1", apparmor: "0"}, "yes"},
		{"none left", map[string]string{limit: "0\n"}, "no: user.max_user_namespaces is 0"},
		{"Debian", map[string]string{limit: "9", debian: "0\n"}, "no: kernel.unprivileged_userns_clone is 0"},
		{
			"Ubuntu", map[string]string{limit: "9", debian: "1", apparmor: "1\n"},
			"no: kernel.apparmor_restrict_unprivileged_userns is 1: only programs with an AppArmor profile for it",
		},
		{
			"not in the kernel", nil,
			"unknown: no /proc/sys/user/max_user_namespaces: the kernel may be built without them",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			must.Equal(t, tt.want, userNamespaces(tree(tt.files)).String())
		})
	}
}

func TestMachineWide(t *testing.T) {
	tests := []struct{ name, uidMap, want string }{
		{"the machine's own", "         0          0 4294967295\n", "yes"},
		{"rootless", "         0       1000          1\n         1     100000      65536\n", "no: user ids are mapped (0 1000 1 1 100000 65536)"},
		{"nothing mapped yet", "", "unknown: /proc/self/uid_map is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := machineWide(tree(map[string]string{"proc/self/uid_map": tt.uidMap}))
			must.Equal(t, tt.want, got.String())
		})
	}
}

func TestRightsLive(t *testing.T) {
	r := ReadRights("/")
	checkForm(t, Report{Facts: r.Facts()[1:]}) // an euid of 0 is not unknown
	for name, a := range map[string]Answer{
		"CAP_NET_ADMIN": r.NetAdmin, "CAP_SYS_ADMIN": r.SysAdmin,
		"initial user namespace": r.MachineWide, "user namespaces": r.UserNamespaces,
	} {
		must.True(t, !a.Yes || !a.No, "%s is both yes and no", name)
		must.True(t, a.Yes || a.No || a.Why != "", "%s is unknown and does not say why", name)
	}
}
