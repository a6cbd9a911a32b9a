# A subject that crashes before it recorded anything.
kill -SEGV $$
