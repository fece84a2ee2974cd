"""get_graph_data: keys and types, what it says of each node, and when it can be asked."""
