"""Parts that tests of the audit share: all roles, cases that have them, and a watched fit."""
