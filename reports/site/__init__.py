"""The pages of a report: from what `reports.model` says to a site of files, or to one page."""
