package tare_test

import (
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"tare/internal/guest"
	"tare/internal/must"
)

// adapter is what differs between the pages of two modes of virtual machines.
type adapter struct {
	Name, Article string
	What          string   // the paragraph under the drawing
	Biases        []string // beside those of vm/virtio
	Module        bool     // needs an adapter of QEMU and a module that the others do not need
}

func adapters() []adapter {
	e1000 := []string{
		"**Cloud kernels have no driver for it.** The mode is then unsupported; name a distribution's full kernel.",
		"**Register accesses.** Each one leaves the guest for QEMU, and each packet takes several.",
	}
	intel := func(chip, users string) string {
		return "QEMU emulates the Intel " + chip + " register by register. Any old operating system has a driver for it.\n" + users + "."
	}
	return []adapter{
		{Name: "virtio", Article: "a"},
		{Name: "vmxnet3", Article: "a", Module: true,
			What: "VMware's own adapter, as QEMU implements it. Like virtio it was designed for virtual machines: it has queues in shared memory and\n" +
				"leaves segmentation to the host.",
			Biases: []string{"**QEMU's implementation** is not VMware's. Only a measurement on VMware shows the cost there."}},
		{Name: "e1000", Article: "an", Module: true, What: intel("82540EM of 2002", "It was VirtualBox's default adapter for a long time"), Biases: e1000},
		{Name: "e1000e", Article: "an", Module: true, What: intel("82574L of 2008", "It is VMware's default adapter for recent guests"), Biases: e1000},
	}
}

// The pages of virtual machines that differ in the adapter alone are written from two
// templates in docs/modes/templates; vm/virtio, which they refer to, has a page of its own.
// `make drawings` writes them.
func TestModePages(t *testing.T) {
	pages := template.Must(template.ParseGlob("docs/modes/templates/*.tmpl"))
	known := map[string]bool{}
	for _, a := range adapters() {
		known[a.Name] = true
		if a.Name != "virtio" {
			modePage(t, pages, "vm-adapter.md.tmpl", "vm-"+a.Name+".md", a)
		}
		modePage(t, pages, "vm-adapter-user.md.tmpl", "vm-"+a.Name+"-user.md", a)
	}
	for _, m := range guest.Models() {
		if !known[m.Name] {
			t.Errorf("the adapter %s has no row in adapters", m.Name)
		}
	}
}

func modePage(t *testing.T, pages *template.Template, name, page string, a adapter) {
	t.Helper()
	var text strings.Builder
	must.Do(t, pages.ExecuteTemplate(&text, name, a))
	generated(t, filepath.Join("docs/modes", page), text.String())
}
