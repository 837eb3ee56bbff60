package proxy

import (
	"cmp"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/study"
)

// The settings of proxy/l4 and proxy/tls.
const (
	settingProgram   = "program"
	settingPlacement = "placement"
)

// The values of settingProgram.
const (
	programHAProxy = "haproxy"
	programOwn     = "tare"
)

// The values of settingPlacement.
const (
	atBoth   = "both"
	atClient = "client"
	atServer = "server"
	atHop    = "hop"
)

func programs() []string { return []string{programHAProxy, programOwn} }

func placements() []string { return []string{atBoth, atClient, atServer, atHop} }

// settings are the settings of a mode whose proxies can be in these places.
func settings(places []string) []driver.OwnSetting {
	one := func(name, title string, values []string) driver.OwnSetting {
		return driver.OwnSetting{
			SettingSpec: study.SettingSpec{Name: name, Values: strings.Join(values, ", "), Valid: func(v string) bool { return slices.Contains(values, v) }},
			Title:       title,
		}
	}
	return []driver.OwnSetting{
		one(settingProgram, "the proxy: HAProxy, or tare's own", programs()),
		one(settingPlacement, "where proxies are: beside both endpoints, beside one, or on a host between", places),
	}
}

// isPlaced reports whether a variant of a mode is built with placed proxies, not with those that
// all endpoints of a host share. proxy/tls is so only if it has one of the settings.
func (k kind) isPlaced(o driver.Order) bool {
	return k.placed || o.With[settingProgram] != "" || o.With[settingPlacement] != ""
}

// program and placement of a variant; the first of each list is the default.
func chosen(o driver.Order) (program, placement string) {
	return cmp.Or(o.With[settingProgram], programHAProxy), cmp.Or(o.With[settingPlacement], atBoth)
}
