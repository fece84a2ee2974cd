"""What a vendor begins with: an adapter, a waiver file, a workflow and a line for the README."""
