// Package wire holds the two lowest layers of the Fluss protocol: frames, and the fields of protobuf messages.
//
// It knows neither connections nor messages. [ReadHeader] and [ReadBody] take frames apart, [AppendRequest] and [AppendResponse]
// build them; [Reader] and the Append functions read and write proto2 fields. Everything that decodes foreign bytes is bounded: a
// length is compared with a limit, or with the bytes that remain, before anything is allocated, and [Reader] keeps its first error,
// so that a decoder needs one check at its end.
//
// Frames are big-endian; the record batches that some messages carry as bytes are little-endian and belong to package record.
package wire
