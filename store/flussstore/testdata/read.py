# Reads bucket 0 of a table from offset 0 with the official Python client and prints one JSON object a record:
# "offset", then every column under its name. Arguments: HOST:PORT DATABASE TABLE COUNT, with PYTHONPATH leading to pyfluss.
import asyncio
import json
import sys
import time

import fluss


async def main(bootstrap, database, table, count):
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": bootstrap}))
    log = await connection.get_table(fluss.TablePath(database, table))
    scanner = await log.new_scan().create_log_scanner()
    scanner.subscribe(bucket_id=0, start_offset=fluss.EARLIEST_OFFSET)
    deadline = time.monotonic() + 30
    seen = 0
    while seen < count:
        for record in await scanner.poll(500):
            print(json.dumps({"offset": record.offset, **record.row}))
            seen += 1
        if time.monotonic() > deadline:
            sys.exit(f"{seen} of {count} records after 30 seconds")


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
