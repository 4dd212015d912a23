package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/work/fleet"
)

// The loop over hosts visits two at once by a real sshd, and says which it could not visit: one that is down, one whose disk is full,
// one whose name is none.
func TestLiveFleetSSH(t *testing.T) {
	tests.Live(t)
	tests.Tools(t, "ssh", "ssh-keygen")
	const sshd = "/usr/sbin/sshd" // it runs only by its full path
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("needs the program sshd (Debian: openssh-server)")
	}
	if os.Geteuid() == 0 && os.Mkdir("/run/sshd", 0o755) == nil { // Debian's sshd wants it
		t.Cleanup(func() { assert.NoError(t, os.Remove("/run/sshd")) })
	}
	dir, tmp := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600)) }
	for _, key := range []string{"host", "user", "full"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(key)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	keys := ""
	for key, limit := range map[string]string{"user": "unlimited", "full": "8"} { // 8 KiB, or 4
		public := tests.Read(t, at(key+".pub"))
		keys += fmt.Sprintf(`command="export TMPDIR=%s; ulimit -f %s; eval \"$SSH_ORIGINAL_COMMAND\"" %s`, tmp, limit, public)
	}
	write("authorized_keys", keys)
	ports := freePorts(t, 2)
	write("sshd_config", fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s\nPidFile none\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\n",
		ports[0], at("host"), at("authorized_keys")))
	write("config", fmt.Sprintf("Host down\n  Port %d\nHost full\n  IdentityFile %s\nHost *\n  HostName 127.0.0.1\n  Port %d\n  IdentityFile %s\n"+
		"  IdentitiesOnly yes\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  BatchMode yes\n", ports[1], at("full"), ports[0], at("user")))
	start(t, exec.Command(sshd, "-D", "-e", "-f", at("sshd_config")))
	tests.Await(t, "sshd", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0]))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})

	text, err := fleet.FindTemplate("ssh")
	require.NoError(t, err)
	write("visit.sh", text)
	self, err := os.Executable()
	require.NoError(t, err)
	me, err := user.Current()
	require.NoError(t, err)
	hosts := []string{"localhost", me.Username + "@127.0.0.1", "down", "full", "a b", "-v", "../x", "x'y", ".x", "user@"}
	cmd := exec.Command("sh", append([]string{at("visit.sh")}, hosts...)...)
	cmd.Env = append(os.Environ(), "GORUN="+self, "GORUN_SSH=ssh -F "+at("config"), "GORUN_VISITS="+at("visits"), "GORUN_BUDGET=2s")
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended, "%s", out)
	assert.Equal(t, 1, ended.ExitCode())
	said := strings.Split(strings.TrimSpace(string(out)), "\n")
	assert.ElementsMatch(t, []string{
		"down: not visited, see " + at("visits/down.log"), "full: not visited, see " + at("visits/full.log"), "a b: it is no name of a host",
		"-v: it is no name of a host", "../x: it is no name of a host", "x'y: it is no name of a host", ".x: it is no name of a host",
		"user@: it is no name of a host",
	}, said)
	for node, want := range map[string]struct {
		visits int
		log    string
	}{
		"localhost": {1, ""}, "127.0.0.1": {1, ""}, "down": {0, "Connection refused"}, "full": {0, "(?i)file (size limit exceeded|too large)"},
	} {
		log := tests.Read(t, at("visits/"+node+".log"))
		assert.Regexp(t, want.log, string(log))
		files := tests.Glob(t, at("visits/"+node+"/*/*.jsonl"))
		assert.Len(t, files, want.visits, "%s: %s", node, log)
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left on a host")
	judged := gorunCommand("fleet", "judge", at("visits"), "--slot", "1s")
	shown, err := judged.CombinedOutput()
	require.NoError(t, err, "%s", shown)
	assert.Contains(t, string(shown), "127.0.0.1, localhost report the same boot of one machine") // which it is
}
