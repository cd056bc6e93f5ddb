-- Effects that are known to exist, by the hour in which their receipt was recorded.
SELECT DATE_FORMAT(TO_TIMESTAMP_LTZ(emitted_at_ms, 3), 'yyyy-MM-dd HH:00') AS hour_utc, COUNT(DISTINCT action_id) AS effects
FROM events_by_id
WHERE event_type = 'ACTION_CONFIRMED'
GROUP BY DATE_FORMAT(TO_TIMESTAMP_LTZ(emitted_at_ms, 3), 'yyyy-MM-dd HH:00');
