package cni

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// subnetFiles returns the files that the plugins of each host find below /run: the one with the
// host's subnet, if a plugin reads one. Without a backend the file is static, and the hosts' routes
// are added as flannel's backend host-gw does; otherwise flanneld writes the file.
func (p *path) subnetFiles(ctx context.Context, backend string) (map[*lab.Host]map[string]string, error) {
	all := map[*lab.Host]map[string]string{}
	for _, s := range p.withPlugins() {
		file := s.conflist.flannel()
		if file == "" && backend != "" {
			return nil, fmt.Errorf("the CNI configuration %s has no plugin flannel, so the option %s has nothing to do; leave it out", s.conflist.source, optionFlannel)
		}
		if below(file, "/run", "/var/run") {
			all[s.host] = map[string]string{file: p.staticSubnet(s)}
		}
	}
	if backend == "" {
		return all, nil
	}
	text, err := p.startFlannel(ctx, backend)
	if err != nil {
		return nil, err
	}
	for _, s := range p.withPlugins() {
		all[s.host] = map[string]string{s.conflist.flannel(): text[s.host]}
	}
	return all, nil
}

// staticSubnet is the file of a host without flanneld. Masquerading is said to be left to
// flanneld, which exempts traffic within the network: then the plugin adds no rules.
func (p *path) staticSubnet(s *side) string {
	return strings.Join([]string{
		"FLANNEL_NETWORK=" + p.flannelNetwork().String(),
		fmt.Sprintf("FLANNEL_SUBNET=%s/%d", s.subnets[0].Addr().Next(), s.subnets[0].Bits()),
		fmt.Sprintf("FLANNEL_MTU=%d", p.OnLab.Spec.MTU),
		"FLANNEL_IPMASQ=true", "",
	}, "\n")
}

// flannelNetwork contains the subnets of both hosts.
func (p *path) flannelNetwork() netip.Prefix {
	return netip.PrefixFrom(p.OnLab.Addresses(lab.NetA, 0)[0].Addr(), 20).Masked()
}

// daemonTimeout limits how long etcd and flanneld may take to be ready, on a real CPU. They
// take a second.
const daemonTimeout = 20 * time.Second

// startFlannel starts etcd on host a and flanneld on both hosts, and returns what these write
// about their subnets.
func (p *path) startFlannel(ctx context.Context, backend string) (map[*lab.Host]string, error) {
	paths := map[string]string{}
	for _, name := range []string{"etcd", "flanneld"} {
		found, err := daemon.Find(name)
		if err != nil {
			return nil, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the option %s=%s needs %s: %v; put it into PATH, or leave the option out for static subnets", optionFlannel, backend, name, err)}
		}
		paths[name] = found
	}
	at := "http://" + netip.AddrPortFrom(p.OnLab.A.Addr[0], 2379).String()
	const local = "http://127.0.0.1:2380"
	etcd, err := daemon.Program{Name: "etcd of host a", Run: p.OnLab.Spec.Claim.ID, Path: paths["etcd"], Start: p.OnLab.A.NS.Start,
		Args: []string{"--data-dir=/run/etcd", "--unsafe-no-fsync", "--listen-client-urls=" + at, "--advertise-client-urls=" + at,
			"--listen-peer-urls=" + local, "--initial-advertise-peer-urls=" + local, "--initial-cluster=default=" + local}}.Launch()
	if err != nil {
		return nil, err
	}
	p.AddProcess(etcd)
	config, err := json.Marshal(map[string]any{
		"Network": p.flannelNetwork(), "SubnetLen": 24, "Backend": map[string]string{"Type": backend},
		"SubnetMin": p.OnLab.Addresses(lab.NetA, 0)[0].Addr(), "SubnetMax": p.OnLab.Addresses(lab.NetB, 0)[0].Addr(),
	})
	if err != nil {
		return nil, err
	}
	err = etcd.WaitFor(ctx, timelimit.Scaled(daemonTimeout), "take the configuration of flannel", func() error {
		return put(ctx, p.OnLab.A.NS, at, "/coreos.com/network/config", config)
	})
	if err != nil {
		return nil, err
	}
	// One after the other, because two that start at once may choose the same subnet, of which
	// one then ends.
	hosts := []*lab.Host{p.OnLab.A, p.OnLab.B}
	started, text := map[*lab.Host]*daemon.Process{}, map[*lab.Host]string{}
	for _, h := range hosts {
		if started[h], text[h], err = p.flanneld(ctx, paths["flanneld"], at, h); err != nil {
			return nil, errors.Join(err, started[p.OnLab.A].Close())
		}
	}
	for i, h := range hosts {
		to, err := subnetIn(text[hosts[1-i]])
		for wait := routeTimeout; err == nil; wait *= 2 {
			err = started[h].WaitFor(ctx, timelimit.Scaled(wait), "add a route to "+to.String(), func() error {
				_, err := h.NS.Routes().Toward(to.Addr())
				return err
			})
			if err == nil || ctx.Err() != nil || wait > lastRouteTimeout {
				break
			}
			// One of ten hangs while it reads the subnets for the first time (seen with 0.28). Its
			// successor finds the subnet that it had.
			if err = started[h].Close(); err == nil {
				started[h], text[h], err = p.flanneld(ctx, paths["flanneld"], at, h)
			}
		}
		if err != nil {
			return nil, errors.Join(err, started[p.OnLab.A].Close(), started[p.OnLab.B].Close())
		}
	}
	for _, h := range hosts {
		p.AddProcess(started[h])
	}
	p.AddDeciding("flannel", backend+" by "+paths["flanneld"])
	return text, nil
}

// How long a flanneld that has its subnet may take to add a route to the other's, on a real CPU:
// the first time, and at most before it is started again. It takes milliseconds.
const (
	routeTimeout     = 2 * time.Second
	lastRouteTimeout = 16 * time.Second
)

// flanneld starts flanneld on a host and returns what it writes about its subnet.
func (p *path) flanneld(ctx context.Context, program, etcd string, h *lab.Host) (d *daemon.Process, text string, err error) {
	d, err = daemon.Program{Name: "flanneld of host " + h.Name, Run: p.OnLab.Spec.Claim.ID, Path: program, Start: h.NS.Start,
		Env:  []string{"PATH=" + strings.Join(process.SearchPath(), ":")}, // it starts iptables
		Args: []string{"-etcd-endpoints=" + etcd, "-iface=" + lab.Underlay, "-ip-masq", "-healthz-port=0", "-subnet-file=" + subnetFile}}.Launch()
	if err != nil {
		return nil, "", err
	}
	err = d.WaitFor(ctx, timelimit.Scaled(daemonTimeout), "write "+subnetFile, func() error {
		file, err := os.ReadFile(filepath.Join(d.RunDir(), strings.TrimPrefix(subnetFile, "/run/")))
		text = string(file)
		return err
	})
	if err != nil {
		return nil, "", errors.Join(err, d.Close())
	}
	return d, text, nil
}

// subnetIn returns the subnet in a file of flanneld.
func subnetIn(text string) (netip.Prefix, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "FLANNEL_SUBNET="); ok {
			return netip.ParsePrefix(value)
		}
	}
	return netip.Prefix{}, fmt.Errorf("flanneld wrote %q, without FLANNEL_SUBNET", oneLine(text))
}

// put stores a value in etcd, by its JSON interface.
func put(ctx context.Context, ns *linuxnet.NS, at, key string, value []byte) error {
	body, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": value})
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/v3/kv/put", bytes.NewReader(body))
	if err != nil {
		return err
	}
	via := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		err = ns.Do(func() error {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
			return err
		})
		return conn, err
	}}
	answer, err := (&http.Client{Transport: via, Timeout: timelimit.Scaled(5 * time.Second)}).Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answered %s", answer.Status)
	}
	return nil
}
