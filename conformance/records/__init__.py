"""Records of runs: written line by line, read, judged, resumed, joined and counted."""
