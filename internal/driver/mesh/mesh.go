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

// nebula is the mode.
const nebula = "mesh/nebula"

// settingCipher is the setting that chooses the cipher.
const settingCipher = "cipher"

// cipherAES is the default value of settingCipher.
const cipherAES = "aes"

// ciphers lists the values of settingCipher, as Nebula's configuration has them.
func ciphers() []string { return []string{cipherAES, "chachapoly"} }

// maxMTU is the maximum packet that Nebula can send: its buffers have 9001 bytes.
const maxMTU = 9001 - 16 - 16

// Driver builds the modes of this package.
type Driver struct{ labdriver.LinuxOnly }

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: nebula, Title: "both endpoints behind hosts joined by Nebula, an overlay in userspace", Baseline: "host", MTU: true, Headers: driver.NebulaHeaders, MaxMTU: maxMTU, Own: []driver.OwnSetting{{
			SettingSpec: study.SettingSpec{Name: settingCipher, Values: strings.Join(ciphers(), ", "), Valid: func(v string) bool { return slices.Contains(ciphers(), v) }},
			Title:       "the cipher of the overlay: AES-256-GCM, or ChaCha20-Poly1305",
		}}},
	}
}
