"""The pages of a report, read as a browser without scripts would."""
