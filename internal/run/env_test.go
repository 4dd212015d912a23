package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommandLineKeepsNoPassword(t *testing.T) {
	assert.Equal(t, []string{
		"primes", "--limit", "10", "--metrics-push", "https://me:xxxxx@gate/a:b", "--metrics-push=http://me:xxxxx@gate",
		"--out", "a@b:c@d", "http://gate/x:y@z",
	}, CommandLine([]string{
		"primes", "--limit", "10", "--metrics-push", "https://me:s3cret@gate/a:b", "--metrics-push=http://me:s3:cret@gate",
		"--out", "a@b:c@d", "http://gate/x:y@z",
	}))
}
