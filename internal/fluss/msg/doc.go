// Package msg holds the messages of the Fluss protocol that this client speaks: one request and its answer in a file, encoding beside
// decoding, so that each file can be held against the message in FlussApi.proto.
//
// The messages are written by hand. They are some twenty of the two hundred of the protocol, change rarely and only by optional
// additions; written out they need no generator, no reflection and no dependency, decode without a copy of the record batches that they
// carry, and never trust a length. Field numbers are those of Apache Fluss 0.9.1, which 1.0 kept; fields added by 1.0 are skipped.
//
// Every type has Append, which appends the encoded message to b and returns it, and Decode, which replaces the message by what b says.
// Decode copies strings and aliases bytes: []byte fields are valid as long as b is unchanged. A []byte or pointer that is nil stands for
// an absent optional field.
package msg
