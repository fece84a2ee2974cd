"""Drawn programs: run eagerly and replayed, they give the same bits."""
