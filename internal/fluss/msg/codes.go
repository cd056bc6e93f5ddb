package msg

// Code is an error code of the protocol. A code that this table does not know keeps its number.
type Code int32

// The error codes of Fluss up to 1.0; 64 and above were added by 1.0.
const (
	UnknownServerError                  Code = -1
	None                                Code = 0
	NetworkException                    Code = 1
	UnsupportedVersion                  Code = 2
	CorruptMessage                      Code = 3
	DatabaseNotExist                    Code = 4
	DatabaseNotEmpty                    Code = 5
	DatabaseAlreadyExist                Code = 6
	TableNotExist                       Code = 7
	TableAlreadyExist                   Code = 8
	SchemaNotExist                      Code = 9
	LogStorage                          Code = 10
	KvStorage                           Code = 11
	NotLeaderOrFollower                 Code = 12
	RecordTooLarge                      Code = 13
	CorruptRecord                       Code = 14
	InvalidTable                        Code = 15
	InvalidDatabase                     Code = 16
	InvalidReplicationFactor            Code = 17
	InvalidRequiredAcks                 Code = 18
	LogOffsetOutOfRange                 Code = 19
	NonPrimaryKeyTable                  Code = 20
	UnknownTableOrBucket                Code = 21
	InvalidUpdateVersion                Code = 22
	InvalidCoordinator                  Code = 23
	FencedLeaderEpoch                   Code = 24
	RequestTimeOut                      Code = 25
	Storage                             Code = 26
	OperationNotAttempted               Code = 27
	NotEnoughReplicasAfterAppend        Code = 28
	NotEnoughReplicas                   Code = 29
	SecurityToken                       Code = 30
	OutOfOrderSequence                  Code = 31
	DuplicateSequence                   Code = 32
	UnknownWriterID                     Code = 33
	InvalidColumnProjection             Code = 34
	InvalidTargetColumn                 Code = 35
	PartitionNotExists                  Code = 36
	TableNotPartitioned                 Code = 37
	InvalidTimestamp                    Code = 38
	InvalidConfig                       Code = 39
	LakeStorageNotConfigured            Code = 40
	KvSnapshotNotExist                  Code = 41
	PartitionAlreadyExists              Code = 42
	PartitionSpecInvalid                Code = 43
	LeaderNotAvailable                  Code = 44
	PartitionMaxNum                     Code = 45
	Authenticate                        Code = 46
	SecurityDisabled                    Code = 47
	Authorization                       Code = 48
	BucketMaxNum                        Code = 49
	FencedTieringEpoch                  Code = 50
	RetriableAuthenticate               Code = 51
	InvalidServerRackInfo               Code = 52
	LakeSnapshotNotExist                Code = 53
	LakeTableAlreadyExist               Code = 54
	IneligibleReplica                   Code = 55
	InvalidAlterTable                   Code = 56
	DeletionDisabled                    Code = 57
	ServerNotExist                      Code = 58
	ServerTagAlreadyExist               Code = 59
	ServerTagNotExist                   Code = 60
	RebalanceFailure                    Code = 61
	NoRebalanceInProgress               Code = 62
	InvalidProducerID                   Code = 63
	Config                              Code = 64
	NotCoordinatorLeader                Code = 65
	ScannerExpired                      Code = 66
	UnknownScannerID                    Code = 67
	InvalidScanRequest                  Code = 68
	TooManyScanners                     Code = 69
	DiskWriteLocked                     Code = 70
	InsufficientKvLeaderReplicaCapacity Code = 71
	StorageBackpressure                 Code = 72
	HistoricalPartitionThrottled        Code = 73
	InvalidBucketRouting                Code = 74
)

// codeInfo is what a client may conclude from a code in general; what it says about one append is decided where appends are made.
type codeInfo struct {
	name    string
	retry   bool // the same request may succeed later
	refresh bool // the metadata that led to this server may be out of date
}

var codes = map[Code]codeInfo{
	UnknownServerError:                  {"UNKNOWN_SERVER_ERROR", true, false},
	None:                                {"NONE", false, false},
	NetworkException:                    {"NETWORK_EXCEPTION", true, true},
	UnsupportedVersion:                  {"UNSUPPORTED_VERSION", false, false},
	CorruptMessage:                      {"CORRUPT_MESSAGE", true, false},
	DatabaseNotExist:                    {"DATABASE_NOT_EXIST", false, false},
	DatabaseNotEmpty:                    {"DATABASE_NOT_EMPTY", false, false},
	DatabaseAlreadyExist:                {"DATABASE_ALREADY_EXIST", false, false},
	TableNotExist:                       {"TABLE_NOT_EXIST", false, false},
	TableAlreadyExist:                   {"TABLE_ALREADY_EXIST", false, false},
	SchemaNotExist:                      {"SCHEMA_NOT_EXIST", true, false},
	LogStorage:                          {"LOG_STORAGE", true, true},
	KvStorage:                           {"KV_STORAGE", true, true},
	NotLeaderOrFollower:                 {"NOT_LEADER_OR_FOLLOWER", true, true},
	RecordTooLarge:                      {"RECORD_TOO_LARGE", false, false},
	CorruptRecord:                       {"CORRUPT_RECORD", false, false},
	InvalidTable:                        {"INVALID_TABLE", false, false},
	InvalidDatabase:                     {"INVALID_DATABASE", false, false},
	InvalidReplicationFactor:            {"INVALID_REPLICATION_FACTOR", false, false},
	InvalidRequiredAcks:                 {"INVALID_REQUIRED_ACKS", false, false},
	LogOffsetOutOfRange:                 {"LOG_OFFSET_OUT_OF_RANGE", false, false},
	NonPrimaryKeyTable:                  {"NON_PRIMARY_KEY_TABLE", false, false},
	UnknownTableOrBucket:                {"UNKNOWN_TABLE_OR_BUCKET", true, true},
	InvalidUpdateVersion:                {"INVALID_UPDATE_VERSION", false, false},
	InvalidCoordinator:                  {"INVALID_COORDINATOR", false, false},
	FencedLeaderEpoch:                   {"FENCED_LEADER_EPOCH", true, true},
	RequestTimeOut:                      {"REQUEST_TIME_OUT", true, false},
	Storage:                             {"STORAGE", true, true},
	OperationNotAttempted:               {"OPERATION_NOT_ATTEMPTED", false, false},
	NotEnoughReplicasAfterAppend:        {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", true, false},
	NotEnoughReplicas:                   {"NOT_ENOUGH_REPLICAS", true, false},
	SecurityToken:                       {"SECURITY_TOKEN", false, false},
	OutOfOrderSequence:                  {"OUT_OF_ORDER_SEQUENCE", false, false},
	DuplicateSequence:                   {"DUPLICATE_SEQUENCE", false, false},
	UnknownWriterID:                     {"UNKNOWN_WRITER_ID", false, false},
	InvalidColumnProjection:             {"INVALID_COLUMN_PROJECTION", false, false},
	InvalidTargetColumn:                 {"INVALID_TARGET_COLUMN", false, false},
	PartitionNotExists:                  {"PARTITION_NOT_EXISTS", false, false},
	TableNotPartitioned:                 {"TABLE_NOT_PARTITIONED", false, false},
	InvalidTimestamp:                    {"INVALID_TIMESTAMP", false, false},
	InvalidConfig:                       {"INVALID_CONFIG", false, false},
	LakeStorageNotConfigured:            {"LAKE_STORAGE_NOT_CONFIGURED", false, false},
	KvSnapshotNotExist:                  {"KV_SNAPSHOT_NOT_EXIST", false, false},
	PartitionAlreadyExists:              {"PARTITION_ALREADY_EXISTS", false, false},
	PartitionSpecInvalid:                {"PARTITION_SPEC_INVALID", false, false},
	LeaderNotAvailable:                  {"LEADER_NOT_AVAILABLE", true, true},
	PartitionMaxNum:                     {"PARTITION_MAX_NUM", false, false},
	Authenticate:                        {"AUTHENTICATE", false, false},
	SecurityDisabled:                    {"SECURITY_DISABLED", false, false},
	Authorization:                       {"AUTHORIZATION", false, false},
	BucketMaxNum:                        {"BUCKET_MAX_NUM", false, false},
	FencedTieringEpoch:                  {"FENCED_TIERING_EPOCH", false, false},
	RetriableAuthenticate:               {"RETRIABLE_AUTHENTICATE", true, false},
	InvalidServerRackInfo:               {"INVALID_SERVER_RACK_INFO", false, false},
	LakeSnapshotNotExist:                {"LAKE_SNAPSHOT_NOT_EXIST", false, false},
	LakeTableAlreadyExist:               {"LAKE_TABLE_ALREADY_EXIST", false, false},
	IneligibleReplica:                   {"INELIGIBLE_REPLICA", false, false},
	InvalidAlterTable:                   {"INVALID_ALTER_TABLE", false, false},
	DeletionDisabled:                    {"DELETION_DISABLED", false, false},
	ServerNotExist:                      {"SERVER_NOT_EXIST", false, false},
	ServerTagAlreadyExist:               {"SERVER_TAG_ALREADY_EXIST", false, false},
	ServerTagNotExist:                   {"SERVER_TAG_NOT_EXIST", false, false},
	RebalanceFailure:                    {"REBALANCE_FAILURE", false, false},
	NoRebalanceInProgress:               {"NO_REBALANCE_IN_PROGRESS", false, false},
	InvalidProducerID:                   {"INVALID_PRODUCER_ID", false, false},
	Config:                              {"CONFIG", false, false},
	NotCoordinatorLeader:                {"NOT_COORDINATOR_LEADER", true, false},
	ScannerExpired:                      {"SCANNER_EXPIRED", false, false},
	UnknownScannerID:                    {"UNKNOWN_SCANNER_ID", false, false},
	InvalidScanRequest:                  {"INVALID_SCAN_REQUEST", false, false},
	TooManyScanners:                     {"TOO_MANY_SCANNERS", false, false},
	DiskWriteLocked:                     {"DISK_WRITE_LOCKED", true, false},
	InsufficientKvLeaderReplicaCapacity: {"INSUFFICIENT_KV_LEADER_REPLICA_CAPACITY", false, false},
	StorageBackpressure:                 {"STORAGE_BACKPRESSURE", true, false},
	HistoricalPartitionThrottled:        {"HISTORICAL_PARTITION_THROTTLED", true, false},
	InvalidBucketRouting:                {"INVALID_BUCKET_ROUTING", false, false},
}

// String is the name that Fluss gives the code, or its number.
func (c Code) String() string {
	if i, ok := codes[c]; ok {
		return i.name
	}
	return "error code " + itoa(int64(c))
}

// Retriable reports whether the same request may succeed later. It says nothing about whether the failed one had an effect.
func (c Code) Retriable() bool { return codes[c].retry }

// StaleMetadata reports whether the code means that leaders should be looked up again.
func (c Code) StaleMetadata() bool { return codes[c].refresh }

// Known reports whether the code is one of this table.
func (c Code) Known() bool {
	_, ok := codes[c]
	return ok
}
