package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryPlantStillFits: a plant whose lines have moved on would be tried no more.
func TestEveryPlantStillFits(t *testing.T) {
	plants, err := load("../..")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(plants), 15)
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			_, err := p.apply("../..")
			require.NoError(t, err, "%s", p.what)
		})
	}
}

func TestAPlantThatIsIncompleteIsRefused(t *testing.T) {
	for _, text := range []string{"", "what: x\n", "what: x\nfile: y\ntest: ./z T\n--- old\na\n", "when: x\n"} {
		_, err := parse(text)
		require.Error(t, err)
	}
}
