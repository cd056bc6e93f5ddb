package fluss

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// FuzzTableJSON gives the parser what a server, or somebody in its place, may say
// about a table.
func FuzzTableJSON(f *testing.F) {
	f.Add([]byte(`{"version":1,"schema":{"version":1,"columns":[{"name":"job_id","data_type":{"type":"STRING","nullable":false}},` +
		`{"name":"n","data_type":{"type":"BIGINT"}}],"primary_key":["job_id"]},"partition_key":[],"bucket_key":["job_id"],` +
		`"bucket_count":3,"properties":{"table.log.format":"ARROW","table.replication.factor":"1"},"custom_properties":{}}`))
	f.Add([]byte(`{"schema":null,"bucket_count":1048577}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		info, err := parseTable(Path{Database: "d", Table: "t"}, &msg.GetTableInfoResponse{JSON: doc})
		if err != nil {
			return
		}
		require.NoError(t, info.Schema.Validate())
		require.True(t, info.Buckets >= 1 && info.Buckets <= 1<<20)
		_, _ = info.Format()
		_ = info.Replicas()
	})
}
