"""Running targets: a child process that holds the target, a parent that keeps deadlines and the report."""
