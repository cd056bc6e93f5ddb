-- The trace of one job, from the log itself. This text runs in batch mode with a 1.0
-- connector, and in any SQLite shell on the embedded log. A 0.9.1 connector refuses it:
-- see docs/flink.md.
SELECT attempt, step, event_type, action_id FROM job_events WHERE job_id = 'ticket-1042' ORDER BY attempt, step;
