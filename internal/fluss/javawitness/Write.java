// Appends COUNT rows to a table of the nine columns with the official client, acknowledged by all replicas. With FORMAT,
// which is ARROW:NONE, ARROW:LZ4_FRAME, ARROW:ZSTD or INDEXED:NONE, it creates the table first, with one bucket.
// Row i: job-(i mod 4), job-(i mod 4).owner/i, 1+i, -i, ACTION_REQUESTED, "" or for odd i action-i, 64 hex digits,
// 1700000000000+i, "é" and (i mod 8)*37 times "x".
//   java --add-opens=java.base/java.nio=ALL-UNNAMED -cp 'DIR/*' Write.java HOST:PORT DB.TABLE COUNT [FORMAT]

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.LogFormat;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.types.DataTypes;

public class Write {
  public static void main(String[] args) throws Exception {
    String[] name = args[1].split("\\.", 2);
    int count = Integer.parseInt(args[2]);
    Configuration conf = new Configuration();
    conf.setString("bootstrap.servers", args[0]);
    conf.setString("client.writer.acks", "all");
    TablePath path = TablePath.of(name[0], name[1]);
    try (Connection connection = ConnectionFactory.createConnection(conf);
        Admin admin = connection.getAdmin()) {
      if (args.length > 3) create(admin, path, args[3].split(":"));
      try (Table table = connection.getTable(path)) {
        AppendWriter writer = table.newAppend().createWriter();
        List<CompletableFuture<?>> acknowledged = new ArrayList<>();
        for (int i = 0; i < count; i++) acknowledged.add(writer.append(row(i)));
        writer.flush();
        for (CompletableFuture<?> a : acknowledged) a.get(30, TimeUnit.SECONDS);
      }
    }
  }

  static void create(Admin admin, TablePath path, String[] format) throws Exception {
    Schema schema =
        Schema.newBuilder()
            .column("job_id", DataTypes.STRING())
            .column("event_id", DataTypes.STRING())
            .column("attempt", DataTypes.INT())
            .column("step", DataTypes.INT())
            .column("event_type", DataTypes.STRING())
            .column("action_id", DataTypes.STRING())
            .column("payload_digest", DataTypes.STRING())
            .column("emitted_at_ms", DataTypes.BIGINT())
            .column("detail", DataTypes.STRING())
            .build();
    TableDescriptor descriptor =
        TableDescriptor.builder()
            .schema(schema)
            .distributedBy(1, "job_id")
            .logFormat(LogFormat.valueOf(format[0]))
            .property("table.log.arrow.compression.type", format[1])
            .property("table.log.ttl", "0ms")
            .build();
    admin.createTable(path, descriptor, false).get(30, TimeUnit.SECONDS);
  }

  static GenericRow row(int i) {
    return GenericRow.of(
        text("job-" + i % 4), text("job-" + i % 4 + ".owner/" + i), 1 + i, -i, text("ACTION_REQUESTED"),
        text(i % 2 == 0 ? "" : "action-" + i), text("9f86d081884c7d65".repeat(4)), 1700000000000L + i,
        text("é" + "x".repeat(i % 8 * 37)));
  }

  static BinaryString text(String s) {
    return BinaryString.fromString(s);
  }
}
