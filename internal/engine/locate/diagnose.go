package locate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/connhelper"

	"tare/internal/engine"
	"tare/internal/timelimit"
)

// diagnose returns an error that says why the connection to an engine failed and how to fix it.
func (s source) diagnose(ctx context.Context, err error) error {
	u := unavailable(s.name, s.host, "", "")
	scheme, rest, _ := strings.Cut(s.host, "://")
	switch {
	case strings.Contains(strings.ToLower(err.Error()), "minimum supported api version"): // as the client and the engine write it
		u.Reason = oneLine(err.Error())
		u.Fix = "tare requires API " + engine.MinAPI + " or newer: upgrade that engine to Docker 19.03 or newer, and unset DOCKER_API_VERSION"
	case scheme == "ssh":
		u.Reason, u.Fix = explainSSH(ctx, s.host, err)
	case scheme == "unix":
		u.Reason, u.Fix = explainSocket(ctx, rest, err)
		_, stat := os.Lstat(rest)
		u.NotFound = errors.Is(stat, fs.ErrNotExist)
	case scheme == "npipe":
		u.Reason, u.Fix = explainPipe(rest, err)
		u.NotFound = errors.Is(err, fs.ErrNotExist)
	case explainTLS(u, s, err):
	default:
		u.Reason, u.Fix = explainNetwork(ctx, s, err)
	}
	// The cause of the timeout is more useful than the error of the interrupted call.
	if ctx.Err() != nil && scheme != "unix" {
		u.Reason = context.Cause(ctx).Error()
	}
	return u
}

// explainSocket dials the socket again to find the error number, which the client does not return.
func explainSocket(ctx context.Context, path string, err error) (reason, fix string) {
	conn, dial := redial(ctx, "unix", path)
	if dial == nil {
		_ = conn.Close()
		return explainAnswer(err)
	}
	elsewhere := "use another engine: docker context ls lists them"
	start := "start it: sudo systemctl start docker, or "
	if runtime.GOOS != "linux" {
		start = "start Docker Desktop, or "
	}
	switch info, stat := os.Stat(path); {
	case errors.Is(dial, fs.ErrPermission):
		return "permission denied", "run tare as root, or join the socket's group: sudo usermod -aG docker $USER, and log in again"
	case errors.Is(dial, fs.ErrNotExist):
		return "there is no such socket: no engine runs here, or it listens elsewhere", start + elsewhere
	case stat == nil && info.Mode()&fs.ModeSocket == 0:
		return "it is not a socket", elsewhere
	case errors.Is(dial, syscall.ECONNREFUSED):
		return "no engine listens on that socket", start + elsewhere
	}
	return oneLine(dial.Error()), "run docker version to see whether the engine answers"
}

// explainPipe explains why a named pipe of Windows cannot be used. On other systems there are none.
func explainPipe(path string, err error) (reason, fix string) {
	elsewhere := "use another engine: docker context ls lists them"
	switch {
	case runtime.GOOS != "windows":
		return "named pipes exist on Windows only", elsewhere
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", "add your account to the group docker-users and log in again"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no pipe " + path + ": no engine runs here", "start Docker Desktop, or " + elsewhere
	}
	return explainAnswer(err)
}

// redial dials again, even if the context has ended.
func redial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: timelimit.Scaled(2 * time.Second)}).DialContext(context.WithoutCancel(ctx), network, address)
}

// explainAnswer explains an error of a server that listens.
func explainAnswer(err error) (reason, fix string) {
	if errdefs.IsNotFound(err) {
		return "the server is not a Docker Engine", "set the address of an engine: docker context ls lists them"
	}
	return oneLine(err.Error()), "run docker version to see whether the engine answers, and read its log: sudo journalctl -u docker"
}

// explainSSH explains an error by the last output of ssh, or of the docker command on the other
// machine.
func explainSSH(ctx context.Context, target string, err error) (reason, fix string) {
	_, host, _ := strings.Cut(target, "://")
	host, _, _ = strings.Cut(host, "/")
	if errors.Is(err, exec.ErrNotFound) {
		return "the ssh command was not found", "install an ssh client, such as Debian's openssh-client"
	}
	output := sshLastLine(err)
	if output == "" {
		// The connection ended before the request was written, and the output was lost.
		if output = sshLastLine(sshError(ctx, target)); output == "" {
			output = err.Error()
		}
	}
	if name, port, ok := strings.Cut(host, ":"); ok {
		host = "-p " + port + " " + name
	}
	fix = "make this work without a prompt: ssh " + host + " docker version"
	if strings.Contains(output, "permission denied while trying to connect") {
		fix = "allow that user to use the engine: run on that machine sudo usermod -aG docker USER"
	}
	return oneLine(output), fix
}

// sshLastLine returns the output in an error of an ssh connection.
func sshLastLine(err error) string {
	if err == nil {
		return ""
	}
	_, output, _ := strings.Cut(err.Error(), "stderr=")
	return strings.TrimSpace(output)
}

// sshError opens an ssh connection, sends nothing and returns how it ends. A working one does not
// end.
func sshError(ctx context.Context, target string) error {
	helper, err := connhelper.GetConnectionHelper(target)
	if err != nil || helper == nil {
		return err
	}
	conn, err := helper.Dialer(ctx, "", "")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(dialTimeout()):
	case <-ctx.Done():
	}
	_ = conn.Close() // only its error is needed
	return err
}

// explainTLS recognises TLS problems on either side.
func explainTLS(u *engine.Unavailable, s source, err error) bool {
	text := err.Error()
	where := "DOCKER_CERT_PATH (now " + certDir() + ")"
	if s.context != "" {
		where = "the context: docker context update " + s.context + " --docker host=" + s.host + ",ca=FILE,cert=FILE,key=FILE"
	}
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case strings.Contains(text, "HTTP request to an HTTPS server"), strings.Contains(text, "TLS-enabled daemon without TLS"):
		u.Reason, u.Fix = "TLS refused: the engine requires TLS and the client did not use it", "set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH=DIR (ca.pem, cert.pem, key.pem), or create a context with them"
	case errors.As(err, &record), strings.Contains(text, "HTTP response to HTTPS client"):
		u.Reason, u.Fix = "TLS refused: the engine does not use TLS on that port", "unset DOCKER_TLS_VERIFY and DOCKER_TLS, or use the port with TLS, usually 2376"
	case errors.As(err, &authority):
		u.Reason, u.Fix = "TLS refused: the engine's certificate is not signed by the configured CA", "put the engine's CA into ca.pem of "+where
	case errors.As(err, &name):
		u.Reason, u.Fix = "TLS refused: "+oneLine(name.Error()), "use a name that is in the engine's certificate"
	case errors.As(err, &invalid):
		u.Reason, u.Fix = "TLS refused: "+oneLine(invalid.Error()), "renew that certificate, or correct the clock of either machine"
	case errors.As(err, &alert), strings.Contains(text, "remote error: tls:"):
		u.Reason, u.Fix = "TLS refused: the engine does not accept the client's certificate", "put a certificate signed by the engine's CA into cert.pem and key.pem of "+where
		if errors.As(err, &alert) {
			u.Reason += " (" + alert.Error() + ")"
		}
	default:
		return false
	}
	return true
}

func certDir() string {
	if dir := os.Getenv(envCerts); dir != "" {
		return dir
	}
	return configDir()
}

// explainNetwork explains why a remote engine cannot be reached. The client does not return the
// error number, so it dials again.
func explainNetwork(ctx context.Context, s source, err error) (reason, fix string) {
	_, address, _ := strings.Cut(s.host, "://")
	address, _, _ = strings.Cut(address, "/")
	conn, dial := redial(ctx, "tcp", address)
	if dial == nil {
		_ = conn.Close()
		return explainAnswer(err)
	}
	reason, fix = oneLine(dial.Error()), "use an address and port that dockerd listens on (-H tcp://...), and allow it in the firewall"
	var unknown *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(dial, &unknown):
		return "the name " + unknown.Name + " cannot be resolved", "use the address, or check /etc/hosts and DNS"
	case errors.Is(dial, syscall.ECONNREFUSED):
		return "connection refused: nothing listens on that port", fix
	case errors.As(dial, &timeout) && timeout.Timeout():
		return "no answer: the connection timed out", fix
	}
	return reason, fix
}

// unavailable returns the error for an engine that cannot be used, on one line.
func unavailable(name, tried, reason, fix string) *engine.Unavailable {
	return &engine.Unavailable{Engine: oneLine(name), Tried: oneLine(tried), Reason: oneLine(reason), Fix: oneLine(fix)}
}

// oneLine joins the lines of a text and truncates it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 300 {
		text = string(r[:300]) + "..."
	}
	return text
}
