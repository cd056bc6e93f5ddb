-- Jobs that are not completed and have written nothing for ten minutes. In a streaming
-- query the age is that at the job's last event, so there it lists all that are not completed;
-- filter by last_ms, or run it anew.
SELECT job_id, MAX(attempt) AS attempt, MAX(emitted_at_ms) AS last_ms
FROM events_by_id
GROUP BY job_id
HAVING COUNT(CASE WHEN event_type = 'COMPLETED' THEN 1 END) = 0
  AND MAX(emitted_at_ms) / 1000 < UNIX_TIMESTAMP() - 600;
