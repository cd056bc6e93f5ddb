package flussstore_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/store/flussstore"
)

func TestTheDocumentedStatementsAreThoseOfDDL(t *testing.T) {
	page, err := os.ReadFile("../../docs/fluss.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "```sql\n"+flussstore.DDL(nil)+"```\n")
}
