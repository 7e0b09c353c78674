"""What people type or upload, read and checked: names, numbers, tables, files, seeds."""
