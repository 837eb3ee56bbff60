package machine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/winetest"
)

// A Windows machine is recognized, gets the Windows build of this program, and runs agents. Here the
// shell behind a real ssh server is Wine's cmd, which is called as the ssh server of Windows does.
func TestWineMachine(t *testing.T) {
	wine := winetest.New(t, nil).Process("C:\\sh.exe")
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "sh.exe"), "./testdata/windowsshell")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script := "#!/bin/sh\nexport TARE_TEST_COMMAND=\"$2\"\n"
	prefix := ""
	for _, v := range wine.Cmd.Env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "WINE") {
			script += fmt.Sprintf("export %s='%s'\n", name, value)
			if name == "WINEPREFIX" {
				prefix = value
			}
		}
	}
	script += fmt.Sprintf("exec %s %s/sh.exe\n", wine.Cmd.Path, dir)
	shell := filepath.Join(dir, "shell")
	if err := os.WriteFile(shell, []byte(script), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	drive := must.Get(filepath.EvalSymlinks(filepath.Join(prefix, "drive_c")))(t)
	b := machinetest.New(t, machinetest.Spec{Name: "win", Shell: shell, Server: "Subsystem sftp internal-sftp", Share: []string{dir, prefix, drive}})
	far := b.Machine("win")
	refusal{"win", []string{"windows/amd64", "tare-windows-amd64.exe"}}.check(t, b.Options())
	gone(t, far)
	must.Do(t, os.Rename(winetest.Program(t), filepath.Join(dir, "tare-windows-amd64.exe")))
	t.Setenv("TARE_BINARIES", dir)
	run := newRun(t)
	m := connect(t, b, run, "win")
	if m.System.String() != "windows/amd64" || m.Root != nil || m.NoRoot == "" {
		t.Errorf("the machine is %s, root %v (%s)", m.System, m.Root, m.NoRoot)
	}
	a := must.Get(agent.Start(t.Context(), m.User, run, "win/client"))(t)
	if _, _, err := a.CPU(t.Context()); err != nil {
		t.Error(err)
	}
	must.ContainFor(t, "what is there", left(t, far), "/root/tare-"+run, "agent --run "+run)
	must.Do(t, a.Close())
	for _, bad := range []string{"", "a b", "%PATH%", "a&b", `a"b`, "a^b", "$x", "a|b"} {
		if conn, err := m.User.Launch(t.Context(), "agent", bad); err == nil {
			t.Errorf("%q was passed on", bad)
			_ = conn.Close(t.Context())
		}
	}
	closed(t, m)
	gone(t, far)
}
