// Prints golden batches, one "NAME HEX" a line, made by the official client's own classes and without a cluster.
//   java --add-opens=java.base/java.nio=ALL-UNNAMED -cp 'DIR/*' GoldenBatches.java >../testdata/golden.txt
// The rows are those of sampleRow in the Go tests; both must change together.

import java.util.ArrayList;
import java.util.List;
import org.apache.fluss.compression.ArrowCompressionInfo;
import org.apache.fluss.compression.ArrowCompressionType;
import org.apache.fluss.memory.UnmanagedPagedOutputView;
import org.apache.fluss.metadata.KvFormat;
import org.apache.fluss.record.ChangeType;
import org.apache.fluss.record.DefaultValueRecordBatch;
import org.apache.fluss.record.KvRecordBatchBuilder;
import org.apache.fluss.record.LogRecordBatchStatisticsCollector;
import org.apache.fluss.record.MemoryLogRecordsArrowBuilder;
import org.apache.fluss.record.MemoryLogRecordsIndexedBuilder;
import org.apache.fluss.record.bytesview.BytesView;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.row.arrow.ArrowWriter;
import org.apache.fluss.row.arrow.ArrowWriterPool;
import org.apache.fluss.row.compacted.CompactedRow;
import org.apache.fluss.row.encode.CompactedKeyEncoder;
import org.apache.fluss.row.encode.CompactedRowEncoder;
import org.apache.fluss.row.encode.IndexedRowEncoder;
import org.apache.fluss.row.encode.ValueEncoder;
import org.apache.fluss.row.indexed.IndexedRow;
import org.apache.fluss.shaded.arrow.org.apache.arrow.memory.RootAllocator;
import org.apache.fluss.types.DataType;
import org.apache.fluss.types.DataTypes;
import org.apache.fluss.types.RowType;

public class GoldenBatches {
  static final DataType[] TYPES = {
    DataTypes.STRING(), DataTypes.STRING(), DataTypes.INT(), DataTypes.INT(), DataTypes.STRING(),
    DataTypes.STRING(), DataTypes.STRING(), DataTypes.BIGINT(), DataTypes.STRING()
  };
  static final String[] NAMES = {
    "job_id", "event_id", "attempt", "step", "event_type",
    "action_id", "payload_digest", "emitted_at_ms", "detail"
  };
  static final RowType TYPE = RowType.of(TYPES, NAMES);
  static final int SCHEMA = 7;
  static final long WRITER = 4242;
  static final int SEQUENCE = 11;

  static BinaryString text(String s) {
    return BinaryString.fromString(s);
  }

  /** Row i; with nulls set, its column i mod 9 is null. */
  static GenericRow row(int i, boolean nulls) {
    Object[] v = {
      text("job-" + i % 4), text("job-" + i % 4 + ".owner/" + i), 1 + i, -i, text("ACTION_REQUESTED"),
      text(i % 2 == 0 ? "" : "action-" + i), text("9f86d081884c7d65".repeat(4)), 1700000000000L + i,
      text("é" + "x".repeat(i % 8 * 37))
    };
    if (nulls) v[i % 9] = null;
    return GenericRow.of(v);
  }

  static void print(String name, byte[] bytes) {
    StringBuilder hex = new StringBuilder();
    for (byte b : bytes) hex.append(String.format("%02x", b));
    System.out.println(name + " " + hex);
  }

  static byte[] bytes(BytesView view) {
    byte[] out = new byte[view.getBytesLength()];
    view.getByteBuf().getBytes(0, out);
    return out;
  }


  static void arrow(ArrowWriterPool pool, String name, ArrowCompressionInfo codec, int rows, boolean nulls, boolean appendOnly, boolean statistics)
      throws Exception {
    ArrowWriter writer = pool.getOrCreateWriter(1, SCHEMA, 1 << 20, TYPE, codec);
    LogRecordBatchStatisticsCollector collector =
        statistics ? new LogRecordBatchStatisticsCollector(TYPE, new int[] {0, 2, 7}) : null;
    MemoryLogRecordsArrowBuilder b =
        MemoryLogRecordsArrowBuilder.builder(SCHEMA, writer, new UnmanagedPagedOutputView(1 << 20), appendOnly, collector);
    for (int i = 0; i < rows; i++) b.append(appendOnly ? ChangeType.APPEND_ONLY : change(i), row(i, nulls));
    b.setWriterState(WRITER, SEQUENCE);
    b.close();
    print(name, bytes(b.build()));
    b.recycleArrowWriter();
  }

  static ChangeType change(int i) {
    ChangeType[] all = {ChangeType.INSERT, ChangeType.UPDATE_BEFORE, ChangeType.UPDATE_AFTER, ChangeType.DELETE};
    return all[i % 4];
  }

  static IndexedRow indexed(InternalRow row) {
    IndexedRowEncoder e = new IndexedRowEncoder(TYPES);
    e.startNewRow();
    for (int i = 0; i < TYPES.length; i++) e.encodeField(i, InternalRow.createFieldGetter(TYPES[i], i).getFieldOrNull(row));
    return e.finishRow();
  }

  static void indexed(String name, int rows, boolean nulls) throws Exception {
    MemoryLogRecordsIndexedBuilder b =
        MemoryLogRecordsIndexedBuilder.builder(SCHEMA, Integer.MAX_VALUE, new UnmanagedPagedOutputView(1 << 20), true);
    for (int i = 0; i < rows; i++) b.append(ChangeType.APPEND_ONLY, indexed(row(i, nulls)));
    b.setWriterState(WRITER, SEQUENCE);
    b.close();
    print(name, bytes(b.build()));
  }

  static CompactedRow compacted(InternalRow row) {
    CompactedRowEncoder e = new CompactedRowEncoder(TYPES);
    e.startNewRow();
    for (int i = 0; i < TYPES.length; i++) e.encodeField(i, InternalRow.createFieldGetter(TYPES[i], i).getFieldOrNull(row));
    return e.finishRow();
  }

  static byte[] key(int i) {
    return CompactedKeyEncoder.createKeyEncoder(TYPE, List.of("job_id", "attempt")).encodeKey(row(i, false));
  }

  public static void main(String[] args) throws Exception {
    System.out.println("# made by javawitness/GoldenBatches.java with fluss-client 1.0.0: a name and the bytes in hex");
    ArrowCompressionInfo lz4 = new ArrowCompressionInfo(ArrowCompressionType.LZ4_FRAME, -1);
    ArrowCompressionInfo zstd = new ArrowCompressionInfo(ArrowCompressionType.ZSTD, 3);
    ArrowCompressionInfo none = ArrowCompressionInfo.NO_COMPRESSION;
    try (RootAllocator allocator = new RootAllocator(Long.MAX_VALUE);
        ArrowWriterPool pool = new CloseablePool(allocator)) {
      for (int rows : new int[] {1, 3, 64}) {
        arrow(pool, "arrow-none-" + rows, none, rows, false, true, false);
        arrow(pool, "arrow-none-nulls-" + rows, none, rows, true, true, false);
      }
      arrow(pool, "arrow-none-changes-5", none, 5, false, false, false);
      arrow(pool, "arrow-none-statistics-5", none, 5, true, true, true);
      arrow(pool, "arrow-none-statistics-changes-5", none, 5, true, false, true);
      arrow(pool, "arrow-lz4-1", lz4, 1, false, true, false);
      arrow(pool, "arrow-lz4-nulls-64", lz4, 64, true, true, false);
      arrow(pool, "arrow-zstd-1", zstd, 1, false, true, false);
      arrow(pool, "arrow-zstd-nulls-64", zstd, 64, true, true, false);
    }
    for (int rows : new int[] {1, 3, 64}) {
      indexed("indexed-" + rows, rows, false);
      indexed("indexed-nulls-" + rows, rows, true);
    }
    for (int i = 0; i < 9; i++) {
      CompactedRow r = compacted(row(i, true));
      byte[] b = new byte[r.getSizeInBytes()];
      r.getSegments()[0].get(r.getOffset(), b, 0, b.length);
      print("compacted-row-" + i, b);
    }
    print("key-3", key(3));
    KvRecordBatchBuilder kv = KvRecordBatchBuilder.builder(SCHEMA, Integer.MAX_VALUE, new UnmanagedPagedOutputView(1 << 20), KvFormat.COMPACTED);
    kv.append(key(1), compacted(row(1, false)));
    kv.append(key(2), null);
    kv.append(key(3), compacted(row(3, false)));
    kv.setWriterState(WRITER, SEQUENCE);
    kv.close();
    print("kv-put-delete-put", bytes(kv.build()));
    print("value-1", ValueEncoder.encodeValue((short) SCHEMA, compacted(row(1, false))));
    DefaultValueRecordBatch.Builder values = DefaultValueRecordBatch.builder();
    List<byte[]> encoded = new ArrayList<>();
    for (int i = 0; i < 3; i++) encoded.add(ValueEncoder.encodeValue((short) SCHEMA, compacted(row(i, true))));
    for (byte[] v : encoded) values.append(v);
    DefaultValueRecordBatch batch = values.build();
    byte[] out = new byte[batch.sizeInBytes()];
    batch.getSegment().get(batch.getPosition(), out, 0, out.length);
    print("values-3", out);
  }

  /** ArrowWriterPool closes but does not say so by its type. */
  static class CloseablePool extends ArrowWriterPool implements AutoCloseable {
    CloseablePool(RootAllocator allocator) {
      super(allocator);
    }
  }
}
