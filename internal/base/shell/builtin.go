package shell

import (
	"slices"
	"strings"
)

// builtins are commands that a shell does itself: a program of the same name does not exist, or could not do it, because a
// process cannot change its parent (POSIX.1-2024, XCU 1.7 and 2.15). ofBash are commands that bash has, and sh need not have.
var (
	builtins = strings.Fields(". : alias bg break cd command continue eval exec exit export fc fg getopts hash jobs read readonly " +
		"return set shift times trap type ulimit umask unalias unset wait local")
	ofBash = strings.Fields("bind builtin caller compgen complete compopt coproc declare dirs disown enable function help history let " +
		"logout mapfile popd pushd readarray select shopt source suspend time typeset")
)

// Builtin returns what to do about a command that a shell does itself; "" for any other.
func Builtin(name string) string {
	switch {
	case slices.Contains(builtins, name):
		return name + " is a builtin of the shell, not a program: --shell has commands run by sh -c"
	case slices.Contains(ofBash, name):
		return name + " is a builtin of bash, not a program: --shell has commands run by sh -c, which may lack it; write bash -c '…'"
	}
	return ""
}
