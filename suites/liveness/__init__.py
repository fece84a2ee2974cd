"""check_input_liveness: replay refuses a graph whose inputs are gone."""
