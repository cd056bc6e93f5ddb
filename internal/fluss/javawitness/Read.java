// Reads one bucket of a table from offset 0 up to its latest offset with the official client and prints one JSON object
// a record: "offset", then every column under its name. Exit status 1 when there is no progress for 30 seconds.
//   java --add-opens=java.base/java.nio=ALL-UNNAMED -cp 'DIR/*' Read.java HOST:PORT DB.TABLE [BUCKET]

import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.RowType;

public class Read {
  public static void main(String[] args) throws Exception {
    String[] name = args[1].split("\\.", 2);
    int bucket = args.length > 2 ? Integer.parseInt(args[2]) : 0;
    Configuration conf = new Configuration();
    conf.setString("bootstrap.servers", args[0]);
    TablePath path = TablePath.of(name[0], name[1]);
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.UTF_8);
    try (Connection connection = ConnectionFactory.createConnection(conf);
        Admin admin = connection.getAdmin();
        Table table = connection.getTable(path);
        LogScanner scanner = table.newScan().createLogScanner()) {
      long end = admin.listOffsets(path, List.of(bucket), new OffsetSpec.LatestSpec()).all().get().get(bucket);
      RowType type = table.getTableInfo().getRowType();
      scanner.subscribe(bucket, 0L);
      long next = 0;
      long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
      while (next < end) {
        for (ScanRecord r : scanner.poll(Duration.ofMillis(200))) {
          out.println(json(type, r.logOffset(), r.getRow()));
          next = r.logOffset() + 1;
          deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        }
        if (System.nanoTime() > deadline) {
          out.flush();
          System.err.println("no progress at offset " + next + " of " + end);
          System.exit(1);
        }
      }
    }
    out.flush();
  }

  static String json(RowType type, long offset, InternalRow row) {
    StringBuilder b = new StringBuilder("{\"offset\":").append(offset);
    for (int i = 0; i < type.getFieldCount(); i++) {
      b.append(',');
      quote(b, type.getFieldNames().get(i));
      b.append(':');
      if (row.isNullAt(i)) {
        b.append("null");
        continue;
      }
      switch (type.getTypeAt(i).getTypeRoot()) {
        case STRING -> quote(b, row.getString(i).toString());
        case INTEGER -> b.append(row.getInt(i));
        case BIGINT -> b.append(row.getLong(i));
        default -> throw new IllegalArgumentException("column type " + type.getTypeAt(i));
      }
    }
    return b.append('}').toString();
  }

  static void quote(StringBuilder b, String s) {
    b.append('"');
    for (char c : s.toCharArray()) {
      if (c == '"' || c == '\\') b.append('\\').append(c);
      else if (c < 0x20) b.append(String.format("\\u%04x", (int) c));
      else b.append(c);
    }
    b.append('"');
  }
}
