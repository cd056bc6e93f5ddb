-- How many intents are held, by reason. Of several holds of one intent the last counts,
-- and none that was resolved, or followed by an outcome.
SELECT JSON_VALUE(h.detail, '$.reason') AS reason, COUNT(h.action_id) AS held
FROM events_by_id AS h LEFT JOIN events_by_id AS o
  ON o.job_id = h.job_id AND o.action_id = h.action_id AND (
    o.event_type IN ('ACTION_CONFIRMED', 'RECONCILED', 'ACTION_REJECTED')
    OR o.event_type = 'HOLD_RESOLVED' AND JSON_VALUE(o.detail, '$.hold') = h.event_id
    OR o.event_type = 'HOLD_UNKNOWN' AND (o.attempt > h.attempt OR o.attempt = h.attempt AND o.step > h.step))
WHERE h.event_type = 'HOLD_UNKNOWN' AND o.event_id IS NULL
GROUP BY JSON_VALUE(h.detail, '$.reason');
