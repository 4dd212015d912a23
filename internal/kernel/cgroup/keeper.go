package cgroup

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/lazy"
)

// Keeper is what has put processes into their control group, and can place them.
type Keeper struct {
	Unit      string // of systemd: the name of a service
	User      bool   // the unit is one of a user's manager
	Container string // of Docker: the beginning of its ID
}

// Keeps returns the keeper of a process; it is empty if its groups do not show it.
func Keeps(fsys fs.FS, pid int) Keeper {
	memberships, _ := readLines(fsys, membershipFile(strconv.Itoa(pid)), parseMembership) // without them nothing is known
	for _, m := range memberships {
		if k := KeeperOf(m.path); k != (Keeper{}) {
			return k
		}
	}
	return Keeper{}
}

// container matches the name of the group of a container, by Docker's two ways to make groups: through systemd, and in the group docker.
var container = lazy.Regexp(`(?:^|/)docker[-/]([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?(?:/|$)`)

// KeeperOf returns the keeper of a group, by the path of its directory. A user's session is no keeper: it has everything that the user starts.
func KeeperOf(path string) (k Keeper) {
	if id := container().FindStringSubmatch(path); id != nil {
		return Keeper{Container: id[1]}
	}
	names := strings.Split(path, "/")
	for i, name := range slices.Backward(names) {
		if strings.HasSuffix(name, ".service") {
			if manager().MatchString(name) {
				return Keeper{}
			}
			return Keeper{Unit: name, User: slices.ContainsFunc(names[:i], manager().MatchString)}
		}
	}
	return Keeper{}
}

// manager matches the service of a user's manager.
var manager = lazy.Regexp(`^user@\d+\.service$`)
