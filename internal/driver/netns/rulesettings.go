package netns

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/study"
)

// The settings of modes with a published port.
const (
	settingRules     = "rules"
	settingRulesKind = "rules_kind"
	settingNoopRules = "noop_rules"
)

// The values of settingRulesKind.
const (
	kindLegacy   = "iptables-legacy"
	kindNft      = "iptables-nft"
	kindNftChain = "nft-chain"
	kindNftMap   = "nft-map"
	kindIPSet    = "ipset"
)

func ruleKinds() []string {
	return []string{kindLegacy, kindNft, kindNftChain, kindNftMap, kindIPSet}
}

// maxRules is the maximum number of rules: more take longer to install than the set-up of a
// mode may take.
const maxRules = 50000

// ruleSettings are the settings of modes with a published port.
func ruleSettings() []driver.OwnSetting {
	number := func(name, title string) driver.OwnSetting {
		return driver.OwnSetting{
			SettingSpec: study.SettingSpec{Name: name, Values: "a whole number from 1 to " + strconv.Itoa(maxRules), Valid: validRules},
			Title:       title,
		}
	}
	return []driver.OwnSetting{
		number(settingRules, "rules of other services on the server's host, before the rule of the published port"),
		{
			SettingSpec: study.SettingSpec{
				Name: settingRulesKind, Values: strings.Join(ruleKinds(), ", "), Needs: settingRules,
				Valid: func(v string) bool { return slices.Contains(ruleKinds(), v) },
			},
			Title: "how these rules are written; without it " + kindNftChain,
		},
		number(settingNoopRules, "rules that match nothing, compared with each packet that the server's host forwards"),
	}
}

func validRules(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && n >= 1 && n <= maxRules
}
