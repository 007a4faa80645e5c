"""One learner a file; the file is called as the learner is."""
