"""Memory pools: tokens, sharing, isolation and the life of captured memory."""
