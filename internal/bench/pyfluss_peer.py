"""Measures pyfluss on the nine columns.

It reads one work a line from standard input and answers each with one figure a
line: append, bulk ROWS, bulkarrow ROWS, read TABLE ROWS. Times are medians in
microseconds, rates are rows a second. Its table is left to whoever drops the
database.

    python pyfluss_peer.py HOST:PORT DATABASE
"""

import asyncio
import sys
import time

import fluss
import pyarrow as pa

DETAIL = '{"ticket":"ticket-1042","outcome":"needs-followup","note":"' + "x" * 400 + '"}'
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SCHEMA = pa.schema(
    [
        ("job_id", pa.string()),
        ("event_id", pa.string()),
        ("attempt", pa.int32()),
        ("step", pa.int32()),
        ("event_type", pa.string()),
        ("action_id", pa.string()),
        ("payload_digest", pa.string()),
        ("emitted_at_ms", pa.int64()),
        ("detail", pa.string()),
    ]
)


def row(i):
    now = int(time.time() * 1000)
    return [f"job-{i % 64}", f"job-{i}/1/4", 1, 4, "ACTION_REQUESTED", f"action-{i}", DIGEST, now, DETAIL]


async def append(writer, n):
    took = []
    for i in range(n):
        begin = time.perf_counter()
        writer.append(row(i))
        await writer.flush()
        took.append(time.perf_counter() - begin)
    return sorted(took)[n // 2] * 1e6


async def bulk(writer, n):
    begin = time.perf_counter()
    for i in range(n):
        writer.append(row(i))
    await writer.flush()
    return n / (time.perf_counter() - begin)


async def bulk_arrow(writer, n):
    columns = zip(*(row(i) for i in range(5000)))
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, SCHEMA)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
    begin = time.perf_counter()
    for _ in range(n // 5000):
        writer.write_arrow_batch(batch)
    await writer.flush()
    return n / (time.perf_counter() - begin)


async def read(connection, path, n):
    table = await connection.get_table(path)
    scanner = await table.new_scan().create_record_batch_log_scanner()
    begin, seen = time.perf_counter(), 0
    scanner.subscribe(0, 0)
    while seen < n:
        batch = await scanner.poll_arrow(1000)
        seen += batch.num_rows
    return seen / (time.perf_counter() - begin)


async def main(bootstrap, database):
    config = fluss.Config({"bootstrap.servers": bootstrap, "writer.acks": "all"})
    connection = await fluss.FlussConnection.create(config)
    admin = connection.get_admin()
    path = fluss.TablePath(database, "bench_py")
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(SCHEMA)), ignore_if_exists=True)
    writer = None
    for line in sys.stdin:
        work, *args = line.split()
        if writer is None and work != "read":
            table = await connection.get_table(path)
            writer = table.new_append().create_writer()
            await append(writer, 1000)
        if work == "append":
            figure = await append(writer, 500)
        elif work == "bulk":
            figure = await bulk(writer, int(args[0]))
        elif work == "bulkarrow":
            figure = await bulk_arrow(writer, int(args[0]))
        elif work == "read":
            figure = await read(connection, fluss.TablePath(database, args[0]), int(args[1]))
        else:
            raise ValueError(work)
        print(f"{figure:.1f}", flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2]))
