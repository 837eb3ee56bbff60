package selection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tare/internal/cli/command"
	"tare/internal/driver"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/timelimit"
)

// Reach prepares to build modes: it enters a user namespace where required, and connects to
// the hosts. [command.Done] says that another process did the work.
func (h Hosts) Reach(ctx context.Context) error {
	if h.Target.Namespaces {
		if err := h.Enter(ctx); err != nil {
			return err
		}
	}
	if h.Target.Open != nil {
		if err := h.Target.Open(ctx); err != nil {
			return command.Environment(err)
		}
	}
	return nil
}

// Lacks reports what modes of a study require and the hosts lack, as far as that can be known before anything is made.
// The hosts must have been reached.
func (h Hosts) Lacks(ctx context.Context, s study.Study) error {
	if h.Target.Check == nil {
		return nil
	}
	err := h.Target.Check(ctx, s)
	var asked *driver.AskedError
	switch {
	case errors.As(err, &asked):
		return command.Usage(err)
	case err != nil:
		return command.Environment(err)
	}
	return nil
}

// foreseeTimeout bounds what a plan waits for the hosts.
func foreseeTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// Foresee is [Hosts.Lacks] for a plan. It opens the hosts for it; one that cannot be reached is said, and no error of a plan.
func (h Hosts) Foresee(ctx context.Context, s study.Study) (failed error) {
	if h.Target.Check == nil {
		return nil
	}
	defer func() { failed = errors.Join(failed, h.Target.Close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, foreseeTimeout(), fmt.Errorf("no answer within %s", foreseeTimeout()))
	defer cancel()
	if err := h.Target.Open(ctx); err != nil {
		fmt.Fprintf(h.Stderr, "tare: not checked whether the hosts have what the modes require: %v\n", err)
		return nil
	}
	return h.Lacks(ctx, s)
}

// Enter makes sure that labs can be created: as root, or else by running this command again as
// root of a user namespace, which [command.Done] then tells.
func (h Hosts) Enter(ctx context.Context) error {
	linuxnet.EndWithParent()
	tried := linuxnet.Try()
	if tried == nil {
		return nil
	}
	if errors.Is(tried, linuxnet.ErrSystem) {
		return command.Environment(fmt.Errorf("the embedded lab cannot be created here: %w. Run tare on a Linux machine or in a "+
			"Linux virtual machine; tare report and tare ls also work here", tried))
	}
	if linuxnet.Inside() || h.Program == "" {
		return command.Environment(noRights(tried))
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", h.Args...)
	cmd.Args[0] = h.Program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = h.Stdin, uncleaned(h.Stdout), uncleaned(h.Stderr)
	code, err := linuxnet.RunInUserNamespace(cmd)
	if err != nil {
		return command.Environment(noRights(fmt.Errorf("%w; as this user: %w", err, tried)))
	}
	return command.Done(code)
}

// uncleaned returns the stream that another process of this program writes to, which cleans its own text.
func uncleaned(w io.Writer) io.Writer {
	if f, ok := command.File(w); ok {
		return f // it may be a terminal
	}
	return command.Raw(w)
}

func noRights(why error) error {
	return fmt.Errorf("no lab can be created here: %w. tare requires root (sudo tare ...), or unprivileged user namespaces: "+
		"sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 where it exists, and "+
		"kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu", why)
}

// The flags about the reader's own network.
const (
	RTTFlag  = "rtt"
	LikeFlag = "like"
)

// WithRTT returns hosts with a round trip that was measured among its arguments. As root of a user namespace this
// command is run again with them, where ssh reaches nothing.
func (h Hosts) WithRTT(rtt time.Duration) Hosts {
	i := slices.IndexFunc(h.Args, func(arg string) bool { return arg == "--"+LikeFlag || strings.HasPrefix(arg, "--"+LikeFlag+"=") })
	if i >= 0 {
		h.Args = slices.Insert(slices.Clone(h.Args), i, "--"+RTTFlag+"="+rtt.String())
	}
	return h
}
