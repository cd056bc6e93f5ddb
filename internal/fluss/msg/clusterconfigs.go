package msg

import "github.com/intentlog/intentlog/internal/fluss/wire"

// DescribeClusterConfigsRequest asks a server for its own view of the cluster's options.
type DescribeClusterConfigsRequest struct{ Empty }

// Key implements Request.
func (*DescribeClusterConfigsRequest) Key() Key { return KeyDescribeClusterConfigs }

// DescribeClusterConfigsResponse lists the options that are set; the others have their defaults.
type DescribeClusterConfigsResponse struct {
	Configs []ClusterConfig
}

// Append implements Message.
func (m *DescribeClusterConfigsResponse) Append(b []byte) []byte {
	for i := range m.Configs {
		b = nested(b, 1, &m.Configs[i])
	}
	return b
}

// Decode implements Message.
func (m *DescribeClusterConfigsResponse) Decode(b []byte) error {
	*m = DescribeClusterConfigsResponse{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		if f == 1 {
			var c ClusterConfig
			r.Check(c.Decode(r.Message()))
			m.Configs = append(m.Configs, c)
		}
	}
	return r.Done()
}

// ClusterConfig is one option and where its value comes from.
type ClusterConfig struct {
	Key, Value, Source string
}

// Append implements Message.
func (m *ClusterConfig) Append(b []byte) []byte {
	b = wire.AppendString(b, 1, m.Key)
	b = wire.AppendString(b, 2, m.Value)
	return wire.AppendString(b, 3, m.Source)
}

// Decode implements Message.
func (m *ClusterConfig) Decode(b []byte) error {
	*m = ClusterConfig{}
	r := newReader(b)
	for f := r.Next(); f != 0; f = r.Next() {
		switch f {
		case 1:
			m.Key = r.String()
		case 2:
			m.Value = r.String()
		case 3:
			m.Source = r.String()
		}
	}
	return r.Done(1, 3)
}
