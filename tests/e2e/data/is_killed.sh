# A subject that somebody kills.
echo "working" >&2
kill -KILL $$
