"""Tests of waivers: their files, what they accept, and what they fail a run for."""
