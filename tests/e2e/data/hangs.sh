# A subject that never ends.
exec sleep 1000
