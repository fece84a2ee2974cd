"""Tests of isolation: a hostile backend, killed runs, shards, remote workers, and what it all costs."""
