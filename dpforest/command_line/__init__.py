"""``dpforest`` from a shell: a module a command, and nothing heavy loaded before one runs."""
