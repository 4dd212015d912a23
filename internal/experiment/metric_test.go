package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDirections(t *testing.T) {
	for text, want := range map[string][]string{
		"": {"", ""}, "higher": {"higher", "higher"}, "higher,lower": {"higher", "lower"}, "lower\nhigher": {"lower", "higher"},
		"lower, lower": {"lower", "lower"},
	} {
		got, err := directions(text, 2)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, says := range map[string]string{
		"up": "--better up: a direction is higher or lower", "lower,lower,lower": "--better has 3 directions, and --metric 2 figures",
		",": "--better has 0 directions",
	} {
		_, err := directions(text, 2)
		require.ErrorContains(t, err, says)
	}
}
