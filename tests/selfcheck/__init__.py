"""Tests of the self-check and of the catalogues that it runs."""
