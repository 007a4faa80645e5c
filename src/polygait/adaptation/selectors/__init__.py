"""One selector a file; the file is called as the selector is."""
