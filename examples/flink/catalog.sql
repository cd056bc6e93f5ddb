-- Begin a session with this. Put your cluster's address in; the database is that of the log.
CREATE CATALOG fluss WITH ('type' = 'fluss', 'bootstrap.servers' = 'localhost:9123');
USE CATALOG fluss;
USE intentlog;
SET 'execution.runtime-mode' = 'streaming';
SET 'table.local-time-zone' = 'UTC';
