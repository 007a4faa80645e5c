"""What the robot is."""
