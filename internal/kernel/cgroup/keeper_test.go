package cgroup

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

func TestKeepers(t *testing.T) {
	id := "0123456789ab" + strings.Repeat("f", 52)
	for path, want := range map[string]Keeper{
		"/system.slice/redis-server.service":                                  {Unit: "redis-server.service"},
		"/sys/fs/cgroup/system.slice/nginx.service":                           {Unit: "nginx.service"},
		"/system.slice/system-postgresql.slice/postgresql@15-main.service":    {Unit: "postgresql@15-main.service"},
		"/system.slice/app.service/worker":                                    {Unit: "app.service"},
		"/user.slice/user-1000.slice/user@1000.service/app.slice/db.service":  {Unit: "db.service", User: true},
		"/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope":     {},
		"/user.slice/user-1000.slice/session-3.scope":                         {},
		"/system.slice/docker-" + id + ".scope":                               {Container: "0123456789ab"},
		"/docker/" + id:                                                       {Container: "0123456789ab"},
		"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope": {},
		"/": {},
	} {
		assert.Equal(t, want, KeeperOf(path), path)
	}
	root := fstest.MapFS{"proc/7/cgroup": {Data: []byte("4:memory:/\n1:name=systemd:/system.slice/x.service\n0::/\n")}}
	assert.Equal(t, Keeper{Unit: "x.service"}, Keeps(root, 7))
	assert.Equal(t, Keeper{}, Keeps(root, 8))
}
