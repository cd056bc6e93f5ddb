-- Events that stand in the log more than once: a writer did not learn that an append had
-- succeeded, and repeated it. They are harmless, and the projection has one row of each.
SELECT event_id, COUNT(event_id) AS copies, MIN(_log_offset) AS first_offset, MAX(_log_offset) AS last_offset
FROM `job_events$changelog`
GROUP BY event_id
HAVING COUNT(event_id) > 1;
