// Measures the official client on the nine columns. It reads one work a line from standard input and answers each with one figure a line,
// so that another program can take turns with it: append, append64, bulk ROWS, read TABLE ROWS, read9. Times are medians in microseconds, rates
// are rows a second. It creates the tables bench_java_* in the database and drops them at the end. append64 wants ARROW: the client's
// INDEXED writer is not safe for many threads.
//   java --add-opens=java.base/java.nio=ALL-UNNAMED -cp 'DIR/*' Bench.java HOST:PORT DATABASE ARROW|INDEXED

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.LogFormat;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.types.DataTypes;

public class Bench {
  static final int LONE = 500;
  static final int WARM_UP = 3_000;
  static final int THREADS = 64;
  static final String DETAIL =
      "{\"ticket\":\"ticket-1042\",\"outcome\":\"needs-followup\",\"note\":\"" + "x".repeat(400) + "\"}";

  static String database;
  static String format;
  static Connection connection;
  static Admin admin;
  static Table table;
  static Table small;

  public static void main(String[] args) throws Exception {
    database = args[1];
    format = args[2];
    Configuration conf = new Configuration();
    conf.setString("bootstrap.servers", args[0]);
    conf.setString("client.writer.acks", "all");
    conf.setString("client.writer.buffer.memory-size", "64mb");
    try (Connection c = ConnectionFactory.createConnection(conf);
        Admin a = c.getAdmin()) {
      connection = c;
      admin = a;
      TablePath path = create("bench_java_" + format.toLowerCase());
      TablePath nine = create("bench_java_small_" + format.toLowerCase());
      table = connection.getTable(path);
      small = connection.getTable(nine);
      AppendWriter writer = table.newAppend().createWriter();
      appendOneByOne(writer, WARM_UP);
      appendOneByOne(small.newAppend().createWriter(), 9);
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String[] word = line.split(" ");
        System.out.printf("%.1f%n", measure(word, writer, nine));
      }
      drop(path);
      drop(nine);
    }
  }

  static double measure(String[] word, AppendWriter writer, TablePath nine) throws Exception {
    switch (word[0]) {
      case "append":
        return appendOneByOne(writer, LONE);
      case "append64":
        return appendFromThreads(writer);
      case "bulk":
        return appendBulk(writer, Integer.parseInt(word[1]));
      case "read":
        return readAll(word[1], Long.parseLong(word[2]));
      case "read9":
        return readNine(small, nine);
      default:
        throw new IllegalArgumentException(word[0]);
    }
  }

  static double appendOneByOne(AppendWriter writer, int n) throws Exception {
    double[] us = new double[n];
    for (int i = 0; i < n; i++) {
      long begin = System.nanoTime();
      append(writer, i);
      us[i] = (System.nanoTime() - begin) / 1e3;
    }
    return median(us);
  }

  static void append(AppendWriter writer, int i) throws Exception {
    Future<?> acknowledged = writer.append(row(i));
    writer.flush();
    acknowledged.get(30, TimeUnit.SECONDS);
  }

  static double appendFromThreads(AppendWriter writer) throws Exception {
    int each = 500;
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    List<Future<?>> done = new ArrayList<>();
    long begin = System.nanoTime();
    for (int t = 0; t < THREADS; t++) {
      done.add(pool.submit(() -> {
        for (int i = 0; i < each; i++) append(writer, i);
        return null;
      }));
    }
    for (Future<?> d : done) d.get();
    double rate = THREADS * each * 1e9 / (System.nanoTime() - begin);
    pool.shutdown();
    return rate;
  }

  static double appendBulk(AppendWriter writer, int n) {
    long begin = System.nanoTime();
    for (int i = 0; i < n; i++) writer.append(row(i));
    writer.flush();
    return n * 1e9 / (System.nanoTime() - begin);
  }

  static double readAll(String name, long end) throws Exception {
    try (Table other = connection.getTable(TablePath.of(database, name))) {
      long begin = System.nanoTime();
      read(other, end);
      return end * 1e9 / (System.nanoTime() - begin);
    }
  }

  static double readNine(Table table, TablePath path) throws Exception {
    double[] us = new double[50];
    for (int i = 0; i < us.length; i++) {
      long begin = System.nanoTime();
      read(table, latest(path));
      us[i] = (System.nanoTime() - begin) / 1e3;
    }
    return median(us);
  }

  static void read(Table table, long end) throws Exception {
    long next = 0;
    long bytes = 0;
    long deadline = System.nanoTime() + Duration.ofMinutes(2).toNanos();
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribe(0, 0L);
      while (next < end) {
        for (ScanRecord r : scanner.poll(Duration.ofSeconds(1))) {
          next = r.logOffset() + 1;
          bytes += r.getRow().getString(8).getSizeInBytes();
        }
        if (System.nanoTime() > deadline) throw new TimeoutException("offset " + next + " of " + end + ", " + bytes + " bytes");
      }
    }
  }

  static long latest(TablePath path) throws Exception {
    return admin.listOffsets(path, List.of(0), new OffsetSpec.LatestSpec()).all().get().get(0);
  }

  static TablePath create(String name) throws Exception {
    TablePath path = TablePath.of(database, name);
    drop(path);
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
    TableDescriptor.Builder table =
        TableDescriptor.builder()
            .schema(schema)
            .distributedBy(1)
            .logFormat(LogFormat.valueOf(format))
            .property("table.log.arrow.compression.type", "NONE")
            .property("table.log.ttl", "0ms");
    admin.createTable(path, table.build(), false).get(30, TimeUnit.SECONDS);
    return path;
  }

  static void drop(TablePath path) throws Exception {
    admin.dropTable(path, true).get(30, TimeUnit.SECONDS);
  }

  static GenericRow row(long i) {
    return GenericRow.of(
        text("job-" + i % 64), text("job-" + i + "/1/4"), 1, 4, text("ACTION_REQUESTED"), text("action-" + i),
        text("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"), System.currentTimeMillis(), text(DETAIL));
  }

  static BinaryString text(String s) {
    return BinaryString.fromString(s);
  }

  static double median(double[] v) {
    Arrays.sort(v);
    return v[v.length / 2];
  }
}
