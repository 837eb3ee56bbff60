package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"tare/internal/linuxnet"
)

// enter makes sure that labs can be created: as root, or else by running this command again as
// root of a user namespace. done means that the other process did the work, with exit code
// code.
func (a App) enter(ctx context.Context) (done bool, code int, err error) {
	linuxnet.EndWithParent()
	tried := linuxnet.Try()
	if tried == nil {
		return false, 0, nil
	}
	if errors.Is(tried, linuxnet.ErrSystem) {
		return false, 0, environment(fmt.Errorf("the embedded lab cannot be created here: %w. Run tare on a Linux machine or in a "+
			"Linux virtual machine; tare report and tare ls also work here", tried))
	}
	if linuxnet.Inside() || a.Program == "" {
		return false, 0, environment(noRights(tried))
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", a.args...)
	cmd.Args[0] = a.Program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, uncleaned(a.Stdout), uncleaned(a.Stderr)
	code, err = linuxnet.RunInUserNamespace(cmd)
	if err != nil {
		return false, 0, environment(noRights(fmt.Errorf("%w; as this user: %w", err, tried)))
	}
	return true, code, nil
}

// uncleaned returns the stream that another process of this program writes to, which cleans its own text.
func uncleaned(w io.Writer) io.Writer {
	if f, ok := file(w); ok {
		return f // it may be a terminal
	}
	return raw(w)
}

func noRights(why error) error {
	return fmt.Errorf("no lab can be created here: %w. tare requires root (sudo tare ...), or unprivileged user namespaces: "+
		"sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 where it exists, and "+
		"kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu", why)
}

// exitWith ends a command with the exit code of the process that did its work.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &codeError{code, errSilent}
}
