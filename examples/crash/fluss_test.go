package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/flusstest"
)

func TestEveryCaseIsRightOnFluss(t *testing.T) {
	c := flusstest.SharedCluster(t)
	var out bytes.Buffer
	err := run(t.Context(), []string{"-store", "fluss", "-bootstrap", c.Bootstrap()}, &out)
	require.NoError(t, err, out.String())
}

func TestABootstrapAddressNeedsFluss(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), []string{"-bootstrap", "127.0.0.1:1"}, &bytes.Buffer{}), "-store fluss")
}
