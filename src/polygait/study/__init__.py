"""Studies: many trainings and measurements from one file, and how sure their numbers are."""
