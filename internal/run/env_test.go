package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommandLineKeepsNoPassword(t *testing.T) {
	assert.Equal(t, []string{
		"exec", "--out", "x", "curl", "https://me:xxxxx@gate/a:b", "--proxy=http://me:xxxxx@gate",
		"--out", "a@b:c@d", "http://gate/x:y@z",
	}, CommandLine([]string{
		"exec", "--out", "x", "curl", "https://me:s3cret@gate/a:b", "--proxy=http://me:s3:cret@gate",
		"--out", "a@b:c@d", "http://gate/x:y@z",
	}))
}
