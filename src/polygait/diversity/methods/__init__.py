"""One method a file; the file is called as the method is."""
