"""Programs, helpers and checks that the suites of several areas share: no area imports from another."""
