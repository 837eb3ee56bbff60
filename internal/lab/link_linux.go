package lab

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
)

// hosts returns the host that is real on this machine, and the phantom.
func (l *Lab) hosts() (here, phantom *Host) {
	if l.Spec.Link.Side == SideA {
		return l.A, l.B
	}
	return l.B, l.A
}

// connectHalf gives the host that is real here a macvlan device of the machine's network
// card as its underlay. The device is created in the host's namespace, so that the machine's
// own namespace never has it. The phantom's underlay is a veth that ends in a namespace with
// nothing else, so that it has a carrier.
func (l *Lab) connectHalf() error {
	here, phantom := l.hosts()
	phantom.Phantom = true
	nowhere, err := l.Namespace("nowhere")
	if err != nil {
		return err
	}
	dev := l.Device(Underlay, l.Spec.MTU)
	if err := phantom.NS.Links().Veth(dev, nowhere, dev); err != nil {
		return err
	}
	if err := nowhere.Links().Up(Underlay); err != nil {
		return err
	}
	machine, err := linuxnet.OpenNS("of the machine", "/proc/self/ns/net")
	if err != nil {
		return err
	}
	defer machine.Close()
	card, err := machine.Links().Stats(l.Spec.Link.Parent)
	if err != nil {
		return err
	}
	if l.Spec.MTU > card.MTU {
		return &LinkError{fmt.Sprintf("the hosts need an MTU of %d, and that of %s is %d; set a larger MTU on the links of both machines", l.Spec.MTU, l.Spec.Link.Parent, card.MTU)}
	}
	err = machine.Links().Child("macvlan", dev, l.Spec.Link.Parent, here.NS)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return &LinkError{fmt.Sprintf("the kernel lacks macvlan (CONFIG_MACVLAN, or its module): %v", err)}
	case errors.Is(err, unix.EPERM):
		return &LinkError{fmt.Sprintf("a macvlan device on %s may not be created: %v; tare needs CAP_NET_ADMIN in the machine's own network namespace, which root of a container lacks", l.Spec.Link.Parent, err)}
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EINVAL):
		return &LinkError{fmt.Sprintf("%s cannot carry a macvlan device, for instance because it is a port of a bridge: %v", l.Spec.Link.Parent, err)}
	}
	l.attached = err == nil
	return err
}

// introduce tells the host that is real here the MAC address of the other machine's, so that
// a host of another run with the same address cannot be taken for it.
func (l *Lab) introduce() error {
	if !l.Split() {
		return nil
	}
	here, phantom := l.hosts()
	for _, a := range phantom.Addr {
		if err := here.NS.Routes().Neighbour(Underlay, a, l.Spec.Link.mac(phantom.Name, Underlay)); err != nil {
			return err
		}
	}
	return nil
}

// detach removes, in a split lab, the device on the machine's network card. The kernel
// would remove it with its namespace, but later.
func (l *Lab) detach() error {
	if !l.attached {
		return nil
	}
	l.attached = false
	here, _ := l.hosts()
	return here.NS.Links().Remove(Underlay)
}
