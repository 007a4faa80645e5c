"""One robot a file; the file is called as the robot is."""
