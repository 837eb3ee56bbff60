// Package mesh builds modes in which an overlay mesh network carries the sandboxes' subnets
// between two hosts: Slack's Nebula, a process on each host.
package mesh

import (
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/study"
)

// settingCipher is the setting that chooses the cipher.
const settingCipher = "cipher"

// cipherAES is the default value of settingCipher.
const cipherAES = "aes"

// ciphers lists the values of settingCipher, as Nebula's configuration has them.
func ciphers() []string { return []string{cipherAES, "chachapoly"} }

// maxMTU is the maximum packet that Nebula can send: its buffers have 9001 bytes.
const maxMTU = 9001 - 16 - 16

// headers are what Nebula adds to a packet: IPv4 20, UDP 8, its own header 16 and the tag 16.
const headers = 60

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// rows are the modes of this package.
func rows() labdriver.Rows[struct{}] {
	return labdriver.Rows[struct{}]{{Mode: driver.Mode{
		ID: "mesh/nebula", Title: "both endpoints behind hosts joined by Nebula, an overlay in userspace", Baseline: "host",
		MTU: true, Headers: headers, MaxMTU: maxMTU, Detour: "a/eth0.tx_bytes",
		Own: []driver.OwnSetting{{
			SettingSpec: study.SettingSpec{Name: settingCipher, Values: strings.Join(ciphers(), ", "), Valid: func(v string) bool { return slices.Contains(ciphers(), v) }},
			Title:       "the cipher of the overlay: AES-256-GCM, or ChaCha20-Poly1305",
		}},
	}}}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }
