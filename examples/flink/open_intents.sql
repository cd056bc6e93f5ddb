-- Intents without an outcome, and how old they are in seconds by the clock of the
-- worker that wrote them. An intent that is held is open too.
SELECT r.job_id, r.action_id, r.attempt, UNIX_TIMESTAMP() - r.emitted_at_ms / 1000 AS age_s
FROM events_by_id AS r
WHERE r.event_type = 'ACTION_REQUESTED' AND NOT EXISTS (
  SELECT 1 FROM events_by_id AS o
  WHERE o.job_id = r.job_id AND o.action_id = r.action_id AND (
    o.event_type IN ('ACTION_CONFIRMED', 'RECONCILED', 'ACTION_REJECTED')
    OR o.event_type = 'HOLD_RESOLVED' AND JSON_VALUE(o.detail, '$.decision') <> 'retry'));
