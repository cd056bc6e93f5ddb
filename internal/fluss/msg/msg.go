package msg

// Message is one protobuf message.
type Message interface {
	// Append appends the encoded message to b and returns the extended slice.
	Append(b []byte) []byte
	// Decode replaces the message by what b holds. []byte fields alias b.
	Decode(b []byte) error
}

// Request is a message that asks; its Key says which API answers.
type Request interface {
	Message
	// Key is the API that the request belongs to.
	Key() Key
}

// Key is the number of an API.
type Key int16

// The APIs that this client speaks. The numbers are fixed by the protocol.
const (
	KeyApiVersions            Key = 1000
	KeyCreateDatabase         Key = 1001
	KeyDropDatabase           Key = 1002
	KeyDatabaseExists         Key = 1004
	KeyCreateTable            Key = 1005
	KeyDropTable              Key = 1006
	KeyGetTableInfo           Key = 1007
	KeyTableExists            Key = 1010
	KeyGetTableSchema         Key = 1011
	KeyGetMetadata            Key = 1012
	KeyProduceLog             Key = 1014
	KeyFetchLog               Key = 1015
	KeyPutKv                  Key = 1016
	KeyLookup                 Key = 1017
	KeyListOffsets            Key = 1021
	KeyInitWriter             Key = 1026
	KeyLimitScan              Key = 1033
	KeyAuthenticate           Key = 1038
	KeyDescribeClusterConfigs Key = 1045
)

// api is what is known of one API.
type api struct {
	name     string
	max      int16 // highest version this client speaks; the lowest is 0
	request  func() Request
	response func() Message
}

var apis = map[Key]api{
	KeyApiVersions:            {"API_VERSIONS", 0, mk[ApiVersionsRequest], mm[ApiVersionsResponse]},
	KeyCreateDatabase:         {"CREATE_DATABASE", 0, mk[CreateDatabaseRequest], mm[Empty]},
	KeyDropDatabase:           {"DROP_DATABASE", 0, mk[DropDatabaseRequest], mm[Empty]},
	KeyDatabaseExists:         {"DATABASE_EXISTS", 0, mk[DatabaseExistsRequest], mm[ExistsResponse]},
	KeyCreateTable:            {"CREATE_TABLE", 0, mk[CreateTableRequest], mm[Empty]},
	KeyDropTable:              {"DROP_TABLE", 0, mk[DropTableRequest], mm[Empty]},
	KeyGetTableInfo:           {"GET_TABLE_INFO", 0, mk[GetTableInfoRequest], mm[GetTableInfoResponse]},
	KeyTableExists:            {"TABLE_EXISTS", 0, mk[TableExistsRequest], mm[ExistsResponse]},
	KeyGetTableSchema:         {"GET_TABLE_SCHEMA", 0, mk[GetTableSchemaRequest], mm[GetTableSchemaResponse]},
	KeyGetMetadata:            {"GET_METADATA", 0, mk[MetadataRequest], mm[MetadataResponse]},
	KeyProduceLog:             {"PRODUCE_LOG", 0, mk[ProduceLogRequest], mm[ProduceLogResponse]},
	KeyFetchLog:               {"FETCH_LOG", 0, mk[FetchLogRequest], mm[FetchLogResponse]},
	KeyPutKv:                  {"PUT_KV", 1, mk[PutKvRequest], mm[PutKvResponse]},
	KeyLookup:                 {"LOOKUP", 1, mk[LookupRequest], mm[LookupResponse]},
	KeyListOffsets:            {"LIST_OFFSETS", 0, mk[ListOffsetsRequest], mm[ListOffsetsResponse]},
	KeyInitWriter:             {"INIT_WRITER", 0, mk[InitWriterRequest], mm[InitWriterResponse]},
	KeyLimitScan:              {"LIMIT_SCAN", 0, mk[LimitScanRequest], mm[LimitScanResponse]},
	KeyAuthenticate:           {"AUTHENTICATE", 0, mk[AuthenticateRequest], mm[AuthenticateResponse]},
	KeyDescribeClusterConfigs: {"DESCRIBE_CLUSTER_CONFIGS", 0, mk[DescribeClusterConfigsRequest], mm[DescribeClusterConfigsResponse]},
}

// String is the name that Fluss gives the API, or its number when it is none of ours.
func (k Key) String() string {
	if a, ok := apis[k]; ok {
		return a.name
	}
	return "API " + itoa(int64(k))
}

// MaxVersion is the highest version of the API that this package encodes; false when it knows no such API.
func (k Key) MaxVersion() (int16, bool) {
	a, ok := apis[k]
	return a.max, ok
}

// NewRequest returns an empty request of the API and NewResponse an empty answer; both are nil when the package knows no such API.
func (k Key) NewRequest() Request {
	if a, ok := apis[k]; ok {
		return a.request()
	}
	return nil
}

// NewResponse returns an empty answer of the API, nil when the package knows no such API.
func (k Key) NewResponse() Message {
	if a, ok := apis[k]; ok {
		return a.response()
	}
	return nil
}

// Keys calls yield for each API of the package, in no order.
func Keys(yield func(Key) bool) {
	for k := range apis {
		if !yield(k) {
			return
		}
	}
}

func mk[T any, P interface {
	*T
	Request
}]() Request {
	return P(new(T))
}

func mm[T any, P interface {
	*T
	Message
}]() Message {
	return P(new(T))
}

// Empty is an answer without fields of interest.
type Empty struct{}

// Append implements Message.
func (*Empty) Append(b []byte) []byte { return b }

// Decode implements Message.
func (*Empty) Decode(b []byte) error {
	r := newReader(b)
	for r.Next() != 0 {
	}
	return r.Done()
}
