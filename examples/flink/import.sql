-- Fills the projection by SQL up to offset 1000 of a log with one bucket. Take as bound
-- what a validation of the log returned: an insert checks nothing. With a 0.9.1
-- connector the job does not end by itself; stop it when the last row is there.
INSERT INTO events_by_id
SELECT job_id, event_id, attempt, step, event_type, action_id, payload_digest, emitted_at_ms, detail
FROM `job_events$changelog`
WHERE _log_offset < 1000 AND event_type <> 'BARRIER';
