"""Pages of reports in a real Chromium, without a window: for their tests, benchmarks and pictures.

``python -m tools.browser FOLDER --output DIR`` takes pictures of them.
"""
